"""The statements of `kawal sql` about databases, in TDengine's syntax.

    CREATE DATABASE [IF NOT EXISTS] name [OPTION value …]        options: VGROUPS, WAL_…, or our settings
    ALTER DATABASE name OPTION value …
    DROP DATABASE [IF EXISTS] name
    SHOW DATABASES          SHOW CREATE DATABASE name          DESCRIBE DATABASE name

An option may also be written OPTION=value, and a value in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from console.database_admin import (
    DATABASE_EXISTS,
    NO_SUCH_DATABASE,
    as_json,
    as_statement,
    as_table,
    as_text,
    do,
    found,
    told,
)
from console.errors import UsageError
from console.sql_statement import without_comments
from protocol.messages.kawal_databases import DatabaseAction, DatabaseResult

NAME: Final = r"(?:`(?P<quoted>[^`]+)`|(?P<word>[\w.-]+))"

_FORMS: Final = {
    "create": rf"CREATE\s+DATABASE\s+(?P<lenient>IF\s+NOT\s+EXISTS\s+)?{NAME}(?P<options>(?:\s.*)?)$",
    "alter": rf"ALTER\s+DATABASE\s+{NAME}(?P<options>\s.*)$",
    "drop": rf"DROP\s+DATABASE\s+(?P<lenient>IF\s+EXISTS\s+)?{NAME}(?P<options>(?:\s.*)?)$",
    "show": r"SHOW\s+DATABASES\s*$",
    "show create": rf"SHOW\s+CREATE\s+DATABASE\s+{NAME}\s*$",
    "describe": rf"DESC(?:RIBE)?\s+DATABASE\s+{NAME}\s*$",
}
FORMS: Final = {verb: re.compile(form, re.IGNORECASE | re.DOTALL) for verb, form in _FORMS.items()}
_ABOUT: Final = re.compile(
    r"\s*(?:CREATE|ALTER|DROP|SHOW\s+CREATE|DESC|DESCRIBE)\s+DATABASE\b|\s*SHOW\s+DATABASES\b", re.IGNORECASE
)
_OPTION: Final = re.compile(
    r"""\s+(?P<key>[\w.]+)(?:\s*=\s*|\s+)"""
    r"""(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s'"=]+))"""
)
_EXAMPLES: Final = {
    "create": "CREATE DATABASE telemetry VGROUPS 4 WAL_RETENTION_PERIOD 3600",
    "alter": "ALTER DATABASE telemetry WAL_RETENTION_PERIOD 86400",
    "drop": "DROP DATABASE telemetry",
    "show": "SHOW DATABASES",
    "desc": "DESCRIBE DATABASE telemetry",
    "describe": "DESCRIBE DATABASE telemetry",
}


class DatabaseStatement(NamedTuple):
    """A statement by its parts; `name` is "" where there is none."""

    verb: str
    name: str
    options: dict[str, str | None]
    lenient: bool


def is_about_databases(text: str) -> bool:
    """Return whether the statement is about databases, well-formed or not."""
    return _ABOUT.match(without_comments(text)) is not None


def parse_database_statement(text: str) -> DatabaseStatement:
    """Read a statement.  Raises: UsageError with an example of what was probably meant."""
    whole = without_comments(text).strip().rstrip(";").rstrip()
    for verb, form in FORMS.items():
        match = form.match(whole)
        if match is None:
            continue
        parts = match.groupdict()
        name = parts.get("quoted") or parts.get("word") or ""
        options = _options(parts.get("options") or "", verb)
        return DatabaseStatement(verb, name, options, bool(parts.get("lenient")))
    example = _EXAMPLES[whole.split(maxsplit=1)[0].lower()]
    raise UsageError(f"{whole[:80]!r} is not a statement; write it like {example!r}")


def _options(text: str, verb: str) -> dict[str, str | None]:
    if verb == "drop" and text.strip():
        raise UsageError(
            f"DROP DATABASE takes no {text.strip()[:40]!r}: a database with topics or views is not dropped;"
            " drop those first"
        )
    options: dict[str, str | None] = {}
    position = 0
    while text[position:].strip():
        match = _OPTION.match(text, position)
        if match is None:
            raise UsageError(f"an option and its value are expected at {text[position:].strip()[:40]!r}")
        key = match["key"]
        if key.upper() in (option.upper() for option in options):
            raise UsageError(f"{key} is given twice")
        options[key] = next(part for part in match.groups()[1:] if part is not None)
        position = match.end()
    return options


def run_database_statement(bootstrap: str, text: str, *, json: bool) -> str:
    """Run a statement and return what is to be printed.  Raises: CommandError."""
    statement = parse_database_statement(text)
    return _RUN[statement.verb](bootstrap, statement, json)


def _create(bootstrap: str, statement: DatabaseStatement, _: bool) -> str:
    results = do(bootstrap, DatabaseAction.CREATE, [statement.name], statement.options)
    return told(results, "created", {DATABASE_EXISTS: "exists already"} if statement.lenient else {})


def _alter(bootstrap: str, statement: DatabaseStatement, _: bool) -> str:
    return told(do(bootstrap, DatabaseAction.ALTER, [statement.name], statement.options), "altered", {})


def _drop(bootstrap: str, statement: DatabaseStatement, _: bool) -> str:
    results = do(bootstrap, DatabaseAction.DROP, [statement.name])
    return told(results, "dropped", {NO_SUCH_DATABASE: "does not exist"} if statement.lenient else {})


def _show(bootstrap: str, _: DatabaseStatement, json: bool) -> str:
    results = do(bootstrap, DatabaseAction.DESCRIBE, None)
    return as_json(results) if json else as_table(results)


def _one(bootstrap: str, statement: DatabaseStatement) -> DatabaseResult:
    return found(do(bootstrap, DatabaseAction.DESCRIBE, [statement.name]))[0]


def _show_create(bootstrap: str, statement: DatabaseStatement, _: bool) -> str:
    return as_statement(_one(bootstrap, statement))


def _describe(bootstrap: str, statement: DatabaseStatement, json: bool) -> str:
    one = _one(bootstrap, statement)
    return as_json([one]) if json else as_text(one)


_RUN: Final[dict[str, Callable[[str, DatabaseStatement, bool], str]]] = {
    "create": _create,
    "alter": _alter,
    "drop": _drop,
    "show": _show,
    "show create": _show_create,
    "describe": _describe,
}
