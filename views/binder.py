"""The binding of parsed expressions: it looks up names, settles types, and refuses all that is not listed.

The list is the table in bindings.py: a node of sqlglot that is not in it is refused by name, and so is a
known node with an unexpected part.  Conversions are few and explicit:

- an int beside a double becomes a double; nothing else is converted silently, except strings written in the
  statement where a timestamp is expected, which are read as ISO 8601 at once;
- a timestamp plus or minus a number moves by that many of its units, or by a duration like `1h`;
- timestamps of different units are converted to the finer one;
- NULL fits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from views import operators
from views.bindings import BINDINGS
from views.column_types import (
    DURATION,
    Kind,
)
from views.columns import Columns
from views.durations import parse_duration
from views.errors import NotAllowed, TooComplex, TypeProblem, UnknownColumn
from views.expressions import META_COLUMNS, Expression, literal
from views.refusals import CLOCK, clock_refusal, not_source, refusal, shown, unknown_column

EXPRESSIONS_MAX: Final = 1_000
# Operands count wherever they are evaluated: x BETWEEN a AND b evaluates x twice, and nested twenty times it
# would do so a million times.
EXPANDED_MAX: Final = 3_000
DEPTH_MAX: Final = 60
# LIKE and MATCH; one compiled pattern may take half a megabyte.
PATTERNS_MAX: Final = 32


class Binder:
    """A binder of the expressions of one statement, which counts them."""

    def __init__(
        self,
        columns: Columns | None,
        qualifiers: frozenset[str],
        *,
        tags_only: bool = False,
        heads_only: bool = False,
    ) -> None:
        """Make a binder; `tags_only`: of the columns only tags may be named; `heads_only`: none at all."""
        self.columns = columns
        self.qualifiers = qualifiers
        self.tags_only = tags_only
        self.heads_only = heads_only
        self.count = 0
        self.depth = 0
        self.patterns = 0

    def predicate(self, node: exp.Expr) -> Expression:
        """Bind the condition of WHERE."""
        bound = self.bind(node)
        if bound.type.kind not in (Kind.BOOL, Kind.NULL):
            raise TypeProblem(f"WHERE needs a condition, but {shown(node)} is a {bound.type}")
        return bound

    def bind(self, node: exp.Expr) -> Expression:
        """Bind `node` and everything inside it."""
        binding = BINDINGS.get(type(node))
        if binding is None:
            raise NotAllowed(refusal(node))
        bind, parts = binding
        for name, value in node.args.items():
            if value and name not in parts:
                if name == "query":
                    raise NotAllowed(refusal(value))
                raise NotAllowed(f"{name.strip('_').upper()} in {shown(node)} is not possible in a view")
        self.count += 1
        self.depth += 1
        if self.count > EXPRESSIONS_MAX:
            raise TooComplex(f"the statement has more than {EXPRESSIONS_MAX} expressions")
        if self.depth > DEPTH_MAX:
            raise TooComplex(
                f"more than {DEPTH_MAX} operators or functions stand inside each other (in a + b + c there"
                " are two); split the expression over several columns"
            )
        try:
            bound = bind(self, node)
        finally:
            self.depth -= 1
        check_size(bound.size)
        return bound

    def column(self, node: exp.Column) -> Expression:
        """Bind a name: one that every record has, or a declared column."""
        name, quoted = node.name, bool(node.this.args.get("quoted"))
        qualifier = ".".join(part.name for part in node.parts[:-1])
        if qualifier and qualifier not in self.qualifiers:
            raise UnknownColumn(f"{shown(node)}: {not_source(self.columns, qualifier, name)}")
        if not quoted and not qualifier:
            if (duration := parse_duration(name)) is not None:
                return literal(duration, DURATION)
            is_declared = self.columns is not None and self.columns.find(name) is not None
            if name.lower() in CLOCK and not is_declared:
                raise NotAllowed(clock_refusal(name))
        if (meta := META_COLUMNS.get(name.lower())) is not None and not quoted:
            return Expression("meta", meta, value=name.lower(), nullable=name.lower() in ("_key", "tbname"))
        return self.declared(name)

    def declared(self, name: str) -> Expression:
        """Bind the name of a declared column."""
        if self.heads_only:
            raise NotAllowed(
                f"column {name!r}: after UNFIT, WHERE takes {', '.join(META_COLUMNS)} and header('name');"
                " the columns of a record that does not fit have no values"
            )
        if self.columns is None:
            raise UnknownColumn(
                f"column {name!r} is unknown: the source declares no columns; set kawal.columns on it, or "
                f"use {', '.join(META_COLUMNS)} or header('name')"
            )
        found = self.columns.find(name)
        if found is None:
            raise UnknownColumn(unknown_column(self.columns, name))
        if found.is_tag:
            return Expression("tag", found.type, value=found.name)
        if self.tags_only:
            raise NotAllowed(
                f"column {name!r} is not a tag: after STABLE, WHERE takes tags, tbname, _key and headers; "
                "to choose by other columns, write SELECT with * and WHERE"
            )
        return Expression("column", found.type, value=found.name)

    def many(self, nodes: list[exp.Expr]) -> list[Expression]:
        """Bind several nodes."""
        return [self.bind(node) for node in nodes]

    def pattern(self, like: Callable[..., Expression], *args: Any) -> Expression:
        """Return LIKE or MATCH, and count it."""
        self.patterns += 1
        if self.patterns > PATTERNS_MAX:
            raise TooComplex(f"the statement has more than {PATTERNS_MAX} patterns of LIKE and MATCH")
        return like(*args)

    def condition(self, node: exp.Expr, where: str) -> Expression:
        """Bind a node that must be true or false."""
        return operators.as_condition(self.bind(node), where)


def check_size(size: int) -> None:
    """Refuse expressions that would be too much code.

    Raises: TooComplex.
    """
    if size > EXPANDED_MAX:
        raise TooComplex(
            f"the statement comes to more than {EXPANDED_MAX} expressions; those that BETWEEN, CASE, NULLIF "
            "and others evaluate several times count as often"
        )
