"""All statements of `kawal sql`, and running one of them."""

from __future__ import annotations

from typing import Final

from console.sql import databases, grants, groups, tables, topics
from console.sql.grammar import Form, Parts, find, form
from console.sql.results import Result
from console.sql.session import Session


def _insert(session: Session, parts: Parts) -> Result:
    from console.sql.insert import insert  # it loads the SQL parser

    return insert(session, parts["text"] or "", session.now_ms())


def _select(session: Session, parts: Parts) -> Result:
    from console.sql.select import select  # it loads the SQL parser

    return select(session, parts["text"] or "")


FORMS: Final[tuple[Form, ...]] = (
    *topics.FORMS[:-1],
    *databases.FORMS,
    *groups.FORMS,
    *tables.FORMS,
    *grants.FORMS,
    form(
        "INSERT INTO",
        r"(?P<text>INSERT INTO .*)",
        _insert,
        "INSERT INTO d1001 USING meters TAGS ('California.SanFrancisco', 2) VALUES (NOW, 10.3, 219, 0.31)",
    ),
    form("SELECT", r"(?P<text>SELECT .* FROM .*)", _select, "SELECT * FROM information_schema.ins_topics"),
    # DESCRIBE name: after DESCRIBE DATABASE name.
    topics.FORMS[-1],
)

KEYWORDS: Final = tuple(
    sorted({word for known in FORMS for word in known.verb.split()} | {
        "AS", "EXISTS", "FORCE", "FROM", "IF", "LIMIT", "META", "NOT", "ON", "ONLY", "ORDER BY", "TAGS",
        "UNFIT", "USING", "VALUES", "WHERE", "WITH",
    })
)  # fmt: skip
"""The words that statements are made of, for completion."""


def run(session: Session, text: str) -> Result:
    """Run one statement.  Raises: CommandError, UsageError."""
    known, parts = find(FORMS, text)
    return known.run(session, parts)
