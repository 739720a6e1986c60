"""Bounds that a predicate sets on timestamps, offsets and keys, to skip records without reading them.

Only conditions that every record of the view must fulfil are used: comparisons of `_rowts`, `_offset`, `_key`
and `tbname` with constants, joined by AND.  The column `ts` of a JSON value is not a record's timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from views.column_types import INT64_MAX, INT64_MIN
from views.expressions import Expression

if TYPE_CHECKING:
    from views.plan import Plan

_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Inclusive ranges of `_rowts` (milliseconds) and `_offset`, and the only possible keys (None: any)."""

    min_timestamp_ms: int = INT64_MIN
    max_timestamp_ms: int = INT64_MAX
    min_offset: int = INT64_MIN
    max_offset: int = INT64_MAX
    keys: frozenset[str] | None = None

    @property
    def is_empty(self) -> bool:
        """True when no record can belong to the view."""
        return (
            self.min_timestamp_ms > self.max_timestamp_ms
            or self.min_offset > self.max_offset
            or (self.keys is not None and not self.keys)
        )

    def both(self, other: Bounds) -> Bounds:
        """Return the bounds that fulfil both."""
        keys = (
            other.keys if self.keys is None else self.keys if other.keys is None else self.keys & other.keys
        )
        return Bounds(
            max(self.min_timestamp_ms, other.min_timestamp_ms),
            min(self.max_timestamp_ms, other.max_timestamp_ms),
            max(self.min_offset, other.min_offset),
            min(self.max_offset, other.max_offset),
            keys,
        )


EVERYTHING: Final = Bounds()
_NOTHING: Final = Bounds(keys=frozenset())


def extent_may_match(
    plan: Plan,
    min_timestamp_ms: int,
    max_timestamp_ms: int,
    *,
    min_offset: int = INT64_MIN,
    max_offset: int = INT64_MAX,
    keys: Iterable[bytes] | None = None,
) -> bool:
    """Return whether records within these ranges, with no other keys than `keys`, can belong to the view.

    False is certain, True is not.  `min_timestamp_ms` and `max_timestamp_ms` must be bounds of every record:
    a batch's own header promises only the greatest.
    """
    bounds = plan.bounds
    if bounds is EVERYTHING:
        return True
    if (
        bounds.is_empty
        or bounds.min_timestamp_ms > max_timestamp_ms
        or bounds.max_timestamp_ms < min_timestamp_ms
    ):
        return False
    if bounds.min_offset > max_offset or bounds.max_offset < min_offset:
        return False
    if bounds.keys is None or keys is None:
        return True
    wanted = {key.encode() for key in bounds.keys}
    return any(key in wanted for key in keys)


def find_bounds(predicate: Expression) -> Bounds:
    """Return the bounds that follow from a predicate; EVERYTHING itself when none do."""
    found, pending = EVERYTHING, [predicate]
    while pending:
        condition = pending.pop()
        if condition.op == "and":
            pending += condition.args
        elif (bounds := _of(condition)) is not None:
            found = found.both(bounds)
    return found


def _of(condition: Expression) -> Bounds | None:
    if condition.op == "literal":
        return None if condition.value is True else _NOTHING
    if condition.op == "in" and condition.args[0].op == "meta":
        if all(candidate.op == "literal" for candidate in condition.args[1:]):
            return _of_values(condition.args[0].value, [candidate.value for candidate in condition.args[1:]])
        return None
    if condition.op not in _MIRRORED:
        return None
    left, right = condition.args
    if left.op == "meta" and right.op == "literal":
        return _of_comparison(left.value, condition.op, right.value)
    if right.op == "meta" and left.op == "literal":
        return _of_comparison(right.value, _MIRRORED[condition.op], left.value)
    return None


def _of_values(column: str, values: list[Any]) -> Bounds | None:
    present = [value for value in values if value is not None]
    if not present:
        return _NOTHING
    if column in ("_key", "tbname"):
        return Bounds(keys=frozenset(present))
    low = _of_comparison(column, "ge", min(present))
    high = _of_comparison(column, "le", max(present))
    return None if low is None or high is None else low.both(high)


def _of_comparison(column: str, op: str, value: Any) -> Bounds | None:
    if value is None:
        return _NOTHING
    if column in ("_key", "tbname"):
        return Bounds(keys=frozenset({value})) if op == "eq" else None
    if column == "_partition":
        return None
    # Fractions are rounded into the range: > 1.5 begins at 2 and < 1.5 ends at 1.
    floor = int(value // 1)
    is_whole = floor == value
    low, high = INT64_MIN, INT64_MAX
    if op in ("gt", "ge", "eq"):
        low = floor if is_whole and op != "gt" else floor + 1
    if op in ("lt", "le", "eq"):
        high = floor - 1 if is_whole and op == "lt" else floor
    if column == "_rowts":
        return Bounds(min_timestamp_ms=low, max_timestamp_ms=high)
    return Bounds(min_offset=low, max_offset=high)
