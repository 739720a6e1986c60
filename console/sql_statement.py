"""The statements of `kawal sql`: a verb and a name; the server reads the definition of a view.

    CREATE TOPIC [IF NOT EXISTS] name [WITH META | ONLY META] AS …       a view, see docs/views.md
    DROP TOPIC [IF EXISTS] name
    SHOW TOPICS
    DESCRIBE [TOPIC] name        DESC [TOPIC] name        SHOW CREATE TOPIC name

Keywords may be written in small letters; a name that is not a word is put in back-quotes.  A semicolon may
end the statement.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from console.errors import UsageError

NAME: Final = r"(?:`(?P<quoted>[^`]+)`|(?P<word>[\w.-]+))"
META: Final = r"(?:WITH|ONLY)\s+META"


class Statement(NamedTuple):
    """A statement by its parts; `name` is "" where there is none, `text` the whole of it."""

    verb: str
    name: str
    text: str
    lenient: bool
    """IF EXISTS, IF NOT EXISTS: having nothing to do is not an error."""


_FORMS: Final = {
    "create topic": rf"CREATE\s+TOPIC\s+(?P<lenient>IF\s+NOT\s+EXISTS\s+)?{NAME}\s+(?:{META}\s+)?AS\b",
    "drop topic": rf"DROP\s+TOPIC\s+(?P<lenient>IF\s+EXISTS\s+)?{NAME}\s*$",
    "show topics": r"SHOW\s+TOPICS\s*$",
    "show create": rf"SHOW\s+CREATE\s+TOPIC\s+{NAME}\s*$",
    "describe": rf"DESC(?:RIBE)?\s+(?:TOPIC\s+)?{NAME}\s*$",
}
FORMS: Final = {verb: re.compile(form, re.IGNORECASE) for verb, form in _FORMS.items()}

_EXAMPLES: Final = {
    "create": "CREATE TOPIC late AS SELECT carrier, delay FROM flights WHERE delay > 15",
    "drop": "DROP TOPIC late",
    "show": "SHOW TOPICS",
    "describe": "DESCRIBE late",
    "desc": "DESC late",
}


def parse(text: str) -> Statement:
    """Read a statement.  Raises: UsageError with an example of what was probably meant."""
    whole = without_comments(text).strip().rstrip(";").rstrip()
    for verb, form in FORMS.items():
        found = form.match(whole)
        if found is not None:
            parts = found.groupdict()
            name = parts.get("quoted") or parts.get("word") or ""
            return Statement(verb, name, whole, lenient=bool(parts.get("lenient")))
    raise UsageError(_explained(whole))


def without_comments(text: str) -> str:
    """Return the text with a blank for each comment, `-- …` or `/* … */`, that is not inside quotes."""
    return _QUOTED_OR_COMMENT.sub(lambda found: found[0] if found["quoted"] else " ", text)


_QUOTED_OR_COMMENT: Final = re.compile(
    r"""(?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)|--[^\n]*|/\*.*?\*/""", re.DOTALL
)

_COMMANDS: Final = {
    "consumers": "kawal consumers",
    "subscriptions": "kawal subscriptions",
    "groups": "kawal groups list",
    "vgroups": "kawal databases describe",
    "vnodes": "kawal databases describe",
}
"""What other SHOW statements of TDengine are here."""


def _explained(text: str) -> str:
    words = text.lower().split()
    first = words[0] if words else ""
    if not first:
        return 'the statement is empty; try "SHOW TOPICS"'
    if first == "show" and (command := _COMMANDS.get(words[-1].rpartition(".")[2])) is not None:
        return f"{text[:80]!r} is not a statement here; the command '{command}' shows that"
    example = _EXAMPLES.get(first)
    if example is not None:
        return f"{text[:80]!r} is not a statement; write it like {example!r}"
    if first == "select":
        return "a SELECT defines what a topic shows: write 'CREATE TOPIC name AS SELECT …'"
    return f"statements begin with CREATE, DROP, SHOW or DESCRIBE, not with {text.split(maxsplit=1)[0]!r}"
