"""Typed expressions: what a statement means once names and types are settled; no part of sqlglot is left.

Every expression has a type and, for a record, a value or NULL.  `op` says how the value is made:

    column, tag            `value` is the declared name
    meta                   `value` is one of META_COLUMNS
    header                 `value` is the header's name: its last value, as text
    literal                `value` itself
    and, or, not           three-valued logic
    eq ne lt le gt ge      comparisons of values of one kind
    same                   equality that takes NULL as equal to NULL
    add sub mul div idiv mod neg, bit_and bit_or bit_xor
    in                     the first argument among the others
    is_null, is_true, is_false
    case                   condition, result, condition, result, …, and the result otherwise
    coalesce
    call                   `value` is the runtime's function; NULL when an argument is NULL
    call_nulls             the same, for functions that take NULL
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from views.column_types import BIGINT, INT, STRING, TIMESTAMP_MS, Type

META_COLUMNS: Final[dict[str, Type]] = {
    "_rowts": TIMESTAMP_MS,
    "_offset": BIGINT,
    "_key": STRING,
    "tbname": STRING,
    "_partition": INT,
}
"""The columns of every record: its timestamp, offset, partition, and its key as text, also called tbname."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One node of the tree.

    An operand may stand in several places, as that of BETWEEN does; `size` counts it in each of them.
    """

    op: str
    type: Type
    args: tuple[Expression, ...] = ()
    value: Any = None
    nullable: bool = True
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(arg.size for arg in self.args))

    def walk(self) -> Iterator[Expression]:
        """Yield this expression and all inside it, outermost first."""
        stack = [self]
        while stack:
            expression = stack.pop()
            yield expression
            stack.extend(reversed(expression.args))


def literal(value: Any, kind: Type) -> Expression:
    """Return the expression that always has this value."""
    return Expression("literal", kind, value=value, nullable=value is None)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of the result, with its name there."""

    name: str
    expression: Expression
