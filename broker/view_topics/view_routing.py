"""The route of a view: the expression that it compares in every record.

A view's route is the first equality with a constant that its condition requires.  The views of one partition
whose routes have the same expression share an index of its values (route_index.py), which they read through a
`RoutedReader` (routed_reader.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from views.expressions import Expression
    from views.plan import Plan


ROUTE_SIZE_MAX: Final = 50
ROUTE_TEXT_MAX: Final = 1_000
"""The size of a route's expression, and the characters of its constants: they are in memory as long as the
route's views are open."""


@dataclass(frozen=True, slots=True)
class Route:
    """The expression that a view evaluates for every record, and the value it wants."""

    expression: Expression
    number: int
    """The number of the expression."""
    value: int | str


def route_of(plan: Plan, number_of: Callable[[Expression], int]) -> Route | None:
    """Return the first `expression = constant` that all records of a view must meet, or None."""
    # What patterns take is not bounded for records that are evaluated in one go.
    cannot = plan.predicate is None or "tags" in plan.needs or plan.program_size
    pending = [] if cannot or plan.predicate is None else [plan.predicate]
    while pending:
        condition = pending.pop()
        if condition.op == "and":
            pending += reversed(condition.args)
        elif condition.op == "eq":
            for wanted, asked in (condition.args, condition.args[::-1]):
                if _is_routable(wanted, asked):
                    return Route(asked, number_of(asked), wanted.value)
    return None


def _is_routable(wanted: Expression, asked: Expression) -> bool:
    """Whether both are whole numbers, or both texts, so that equal values are the same dictionary key."""
    kinds = wanted.type.kind.value, asked.type.kind.value
    return (
        wanted.op == "literal"
        and asked.op != "literal"
        and kinds in (("int", "int"), ("string", "string"))
        and type(wanted.value) in (int, str)
        and asked.size <= ROUTE_SIZE_MAX
        and sum(len(node.value) for node in asked.walk() if isinstance(node.value, str)) <= ROUTE_TEXT_MAX
    )
