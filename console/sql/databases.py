"""Statements about databases, in TDengine's syntax.

    CREATE DATABASE [IF NOT EXISTS] name [OPTION value …]        options: VGROUPS, WAL_…, or our settings
    ALTER DATABASE name OPTION value …
    DROP DATABASE [IF EXISTS] name
    USE name
    SHOW DATABASES      SHOW CREATE DATABASE name      DESCRIBE DATABASE name      SHOW [name.]VGROUPS
    SPLIT VGROUP [name.]number

An option may also be written OPTION=value, and a value in quotes.
"""

from __future__ import annotations

import re
from typing import Final

from broker.config.database_keys import LISTED
from console.database_admin import (
    DATABASE_EXISTS,
    NO_SUCH_DATABASE,
    as_statement,
    as_text,
    as_tree,
    do,
    found,
    told,
)
from console.errors import CommandError, UsageError
from console.sql.grammar import Form, Parts, form, name, plain_name
from console.sql.results import Result
from console.sql.session import Session
from console.sql.sub_tables import drop_declarations
from console.sql.system_tables import DATABASES, VGROUPS, rows_of
from protocol.messages.kawal_databases import DatabaseAction, DatabaseResult

_OPTION: Final = re.compile(
    r"""\s+(?P<key>[\w.]+)(?:\s*=\s*|\s+)"""
    r"""(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^\s'"=]+))"""
)


def _options(text: str) -> dict[str, str | None]:
    """Return the settings that a statement names.  Raises: UsageError."""
    options: dict[str, str | None] = {}
    position = 0
    while text[position:].strip():
        match = _OPTION.match(text, position)
        if match is None:
            at = text[position:].strip()[:40]
            raise UsageError(f"an option and its value are expected at {at!r}; options are {LISTED}")
        key = match["key"]
        if key.upper() in (option.upper() for option in options):
            raise UsageError(f"{key} is given twice")
        options[key] = next(part for part in match.groups()[1:] if part is not None)
        position = match.end()
    return options


def _create(session: Session, parts: Parts) -> Result:
    database, settings = plain_name(parts["name"]), _options(parts["options"] or "")
    results = do(session.bootstrap, DatabaseAction.CREATE, [database], settings)
    return Result(told(results, "created", {DATABASE_EXISTS: "exists already"} if parts["lenient"] else {}))


def _alter(session: Session, parts: Parts) -> Result:
    database, settings = plain_name(parts["name"]), _options(parts["options"] or "")
    return Result(told(do(session.bootstrap, DatabaseAction.ALTER, [database], settings), "altered", {}))


def _drop(session: Session, parts: Parts) -> Result:
    more = (parts["more"] or "").strip()
    if more:
        raise UsageError(
            f"DROP DATABASE takes no {more[:40]!r}: a database with topics or views is not dropped; drop"
            " those first"
        )
    database = plain_name(parts["name"])
    drop_declarations(session, database)
    results = do(session.bootstrap, DatabaseAction.DROP, [database])
    return Result(told(results, "dropped", {NO_SUCH_DATABASE: "does not exist"} if parts["lenient"] else {}))


def _one(session: Session, parts: Parts) -> DatabaseResult:
    return found(do(session.bootstrap, DatabaseAction.DESCRIBE, [plain_name(parts["name"])]))[0]


def _use(session: Session, parts: Parts) -> Result:
    session.database = _one(session, parts).name
    return Result(f"using {session.database}")


def _show(session: Session, _: Parts) -> Result:
    return rows_of(DATABASES, session)


def _show_create(session: Session, parts: Parts) -> Result:
    text = as_statement(_one(session, parts))
    return Result(columns=("statement",), rows=[(text,)], text=text)


def _describe(session: Session, parts: Parts) -> Result:
    database = _one(session, parts)
    rows = [(entry.name, entry.value, entry.is_default) for entry in database.settings]
    return Result(
        columns=("setting", "value", "default"), rows=rows, text=as_text(database), tree=as_tree(database)
    )


def _vgroups(session: Session, parts: Parts) -> Result:
    database = plain_name(parts["name"]) or session.database
    if database:
        found(do(session.bootstrap, DatabaseAction.DESCRIBE, [database]))
    result = rows_of(VGROUPS, session)
    place = result.columns.index("db_name")
    rows = [row for row in result.rows if not database or row[place] == database]
    return Result(columns=result.columns, rows=rows)


def _split(session: Session, parts: Parts) -> Result:
    database, vnode = plain_name(parts["name"]) or session.database, int(parts["number"] or "")
    if not database:
        raise UsageError("name the database, as in SPLIT VGROUP telemetry.0, or begin with USE telemetry")
    (before,) = found(do(session.bootstrap, DatabaseAction.DESCRIBE, [database]))
    if vnode >= before.vnodes:
        raise CommandError(f"{database!r} has no vnode {vnode}: they are 0 to {before.vnodes - 1}")
    (after,) = found(do(session.bootstrap, DatabaseAction.SPLIT, [database]))
    return Result(
        f"added {database}/vnode-{after.vnodes - 1}: new topics and partitions are placed on it, too; what is"
        f" on {database}/vnode-{vnode} stays there"
    )


FORMS: Final[tuple[Form, ...]] = (
    form(
        "CREATE DATABASE",
        rf"CREATE DATABASE (?P<lenient>IF NOT EXISTS )?{name()}(?P<options>(?:\s.*)?)",
        _create,
        "CREATE DATABASE telemetry VGROUPS 4 WAL_RETENTION_PERIOD 3600",
    ),
    form(
        "ALTER DATABASE",
        rf"ALTER DATABASE {name()}(?P<options>\s.*)",
        _alter,
        "ALTER DATABASE telemetry WAL_RETENTION_PERIOD 86400",
    ),
    form(
        "DROP DATABASE",
        rf"DROP DATABASE (?P<lenient>IF EXISTS )?{name()}(?P<more>(?:\s.*)?)",
        _drop,
        "DROP DATABASE telemetry",
    ),
    form("USE", rf"USE {name()}", _use, "USE telemetry"),
    form("SHOW DATABASES", "SHOW DATABASES", _show, "SHOW DATABASES"),
    form("SHOW CREATE DATABASE", rf"SHOW CREATE DATABASE {name()}", _show_create, "SHOW CREATE DATABASE d"),
    form("DESCRIBE DATABASE", rf"DESC(?:RIBE)? DATABASE {name()}", _describe, "DESCRIBE DATABASE telemetry"),
    form("DESC DATABASE", rf"DESC DATABASE {name()}", _describe, "DESC DATABASE telemetry"),
    form(
        "SPLIT VGROUP",
        rf"SPLIT VGROUP (?:{name()}\s*\.\s*)?(?P<number>\d{{1,4}})",
        _split,
        "SPLIT VGROUP telemetry.0",
    ),
    form("SHOW VGROUPS", rf"SHOW (?:{name()}\s*\.\s*)?VGROUPS", _vgroups, "SHOW telemetry.VGROUPS"),
)
