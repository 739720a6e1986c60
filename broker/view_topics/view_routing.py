"""The route of a view: what it asks of every record.

A view's route is the first equality with a constant that its condition demands.  The views of one partition
whose routes have the same expression share an index of its values (route_index.py), which they read through a
`RoutedReader` (routed_reader.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from views.expressions import Expression
    from views.plan import Plan


@dataclass(frozen=True, slots=True)
class Route:
    """What a view asks of every record, and the answer it wants."""

    expression: Expression
    number: int
    """Stands for the expression."""
    value: int | str


def route_of(plan: Plan, number_of: Callable[[Expression], int]) -> Route | None:
    """The first `expression = constant` that every record of a view must fulfil; None when there is none."""
    pending = [] if plan.predicate is None or "tags" in plan.needs else [plan.predicate]
    while pending:
        one = pending.pop()
        if one.op == "and":
            pending += reversed(one.args)
        elif one.op == "eq":
            for wanted, asked in (one.args, one.args[::-1]):
                if _is_routable(wanted, asked):
                    return Route(asked, number_of(asked), wanted.value)
    return None


def _is_routable(wanted: Expression, asked: Expression) -> bool:
    """Whether both are whole numbers, or both texts: what is equal then is the same key of a dictionary."""
    kinds = wanted.type.kind.value, asked.type.kind.value
    return (
        wanted.op == "literal"
        and asked.op != "literal"
        and kinds in (("int", "int"), ("string", "string"))
        and type(wanted.value) in (int, str)
    )
