"""Clauses of SQL and TDengine that a view does not have: each is refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from views.errors import NotAllowed, SyntaxProblem
from views.token_text import depth_zero

_WINDOWS = frozenset(
    {"INTERVAL", "SESSION", "STATE_WINDOW", "EVENT_WINDOW", "COUNT_WINDOW", "ANOMALY_WINDOW"}
)
_CLAUSES_OF_ROWS = frozenset({"SLIMIT", "SOFFSET"})
_CLAUSES = {
    "distinct": "DISTINCT",
    "joins": "JOIN (or several topics in FROM)",
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "with_": "WITH",
    "laterals": "LATERAL",
    "into": "INTO",
    "locks": "FOR UPDATE",
}


def refuse_windows(read: Sequence[Token], start: int) -> None:
    """Refuse TDengine's windows and partitions by name; sqlglot would report them as stray words.

    Raises: NotAllowed.
    """
    for position in depth_zero(read, start):
        token = read[position]
        word = token.text.upper() if token.token_type is not TokenType.IDENTIFIER else ""
        following = read[position + 1].token_type if position + 1 < len(read) else None
        if word in _WINDOWS and following is TokenType.L_PAREN:
            raise NotAllowed(
                f"the window {word} is not possible in a view: it has one record for each record"
            )
        if word in _CLAUSES_OF_ROWS or (word.startswith("PARTITION") and word.endswith("BY")):
            raise NotAllowed(f"{word} is not possible in a view: it has one record for each record")


def check_clauses(select: exp.Select) -> None:
    """Refuse every clause but SELECT, FROM one topic and WHERE.  Raises: NotAllowed."""
    for name, value in select.args.items():
        if value and name not in ("expressions", "from_", "where"):
            clause = _CLAUSES.get(name, name.upper().strip("_"))
            raise NotAllowed(
                f"{clause} is not possible in a view: it has one record for each record, or none"
            )
    table = select.args["from_"].this
    if not isinstance(table, exp.Table):
        raise NotAllowed("FROM must name one topic in a view")
    for name, value in table.args.items():
        if value and name not in ("this", "alias"):
            clause = _CLAUSES.get(name, name.upper().strip("_"))
            raise NotAllowed(f"{clause} after the topic in FROM is not possible in a view")


def alias_of(select: exp.Select) -> str:
    """Return the alias that FROM gives its topic, "" for none.  Raises: NotAllowed, SyntaxProblem."""
    alias = select.args["from_"].this.args.get("alias")
    if alias is None:
        return ""
    if not isinstance(alias.this, exp.Identifier):
        raise SyntaxProblem(
            f"{alias.sql()[:40]!r} after the name in FROM is no alias; a name with characters other than"
            " letters, digits, _, . and - must be in back-quotes"
        )
    if alias.args.get("columns"):
        raise NotAllowed("an alias with columns in FROM is not possible in a view")
    return str(alias.name)
