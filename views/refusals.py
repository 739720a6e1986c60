"""The sentences of the binder about what a view cannot have."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from views.column_types import JSON
from views.columns import Columns


def shown(node: exp.Expr) -> str:
    """Return the text of `node`, cut for messages."""
    text = " ".join(node.sql().split())
    return text if len(text) <= 60 else text[:57] + "..."


def listed(names: list[str]) -> str:
    """Return names, not too many of them."""
    return ", ".join(names[:20]) + (" and more" if len(names) > 20 else "")


_CLOCK_WORDS = """
now today timezone current_timestamp current_date current_time localtime localtimestamp sysdate
rand random uuid unix_timestamp utc_timestamp
"""
CLOCK: Final = frozenset(_CLOCK_WORDS.split())


def clock_refusal(name: str) -> str:
    """Return a sentence about a function or word whose value changes."""
    return f"{name.upper()} is not possible in a view: reading a record again must give the same result"


def refusal(node: exp.Expr) -> str:
    """Return a sentence about a node of the tree that is not listed."""
    if isinstance(node, exp.Query) or node.find(exp.Query) is not None:
        return "a sub-query is not possible in a view: it reads one topic, record by record"
    if isinstance(node, exp.Window):
        return f"the window function {shown(node)} is not possible in a view: it sees one record at a time"
    if isinstance(node, exp.Star):
        return "* is possible only as a column of its own"
    return f"{shown(node)} ({type(node).__name__}) is not possible in a view"


def not_source(columns: Columns | None, qualifier: str, name: str) -> str:
    """Return a sentence about `qualifier.name`, where `qualifier` is not the source's name."""
    column = columns.find(qualifier) if columns is not None else None
    if column is None:
        return f"{qualifier!r} is not the source of this view"
    if column.type is JSON:
        return f"{qualifier!r} is a column; the member of its object is {column.name}->'{name}'"
    return f"{qualifier!r} is a column of type {column.type}, which has no members"


def unknown_column(columns: Columns, name: str) -> str:
    """Return a sentence about a name that is none of the declared columns."""
    if name[:1].isdigit():
        return (
            f"{name!r} is neither a number nor a column, and no duration: those are whole numbers of b, u, a"
            " (ns, µs, ms), s, m, h, d and w"
        )
    return f"column {name!r} is unknown; the source declares {listed(columns.names)}"
