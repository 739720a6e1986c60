"""The cost of statements that make long texts out of short ones: no record may hold up others.

A record that is too large for a statement is unfit (`Plan.record_bytes_max`).  But REPEAT, LPAD, RPAD,
REPLACE and CONCAT make texts of 65,536 characters out of any record, and every function around them goes
through the whole text, at 1 to 10 ns for a character.  So when a view is made, the number of such passes for
a record is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from views import runtime_text
from views.column_types import Kind
from views.errors import TooComplex
from views.expressions import Expression

PASSES_MAX: Final = 32
"""Passes of 65,536 characters each, 20 ms for all."""

LONG_FACTOR: Final = 64
"""The factor by which a text may grow before it counts as long."""

SHORT_CHARACTERS: Final = 256
"""The length up to which a constant counts like a record's own text."""

# These pass their arguments on, or only check whether they are NULL.
_WITHOUT_PASSES: Final = ("case", "coalesce", "is_null")


def long_passes(roots: Iterable[Expression]) -> int:
    """Return the number of passes through a record's texts that may follow after they were made long."""
    looked = [_look(root) for root in roots]
    return sum(inside + (factor > LONG_FACTOR) for factor, inside in looked)


def check_growth(roots: Iterable[Expression]) -> None:
    """Raise TooComplex where there may be too many passes."""
    passes = long_passes(roots)
    if passes > PASSES_MAX:
        raise TooComplex(
            f"the statement goes {passes} times through texts that REPEAT, LPAD, RPAD, REPLACE or CONCAT make"
            f" long; at most {PASSES_MAX} are allowed: use fewer of them, or smaller constants in them"
        )


def _look(one: Expression) -> tuple[float, int]:
    """Return the factor by which the result may be longer, and the number of passes through long texts."""
    if one.op == "literal":
        return _constant(one), 0
    looked = [_look(arg) for arg in one.args]
    factors = [factor for factor, _ in looked]
    passes = sum(inside for _, inside in looked)
    if one.op not in _WITHOUT_PASSES:
        passes += any(factor > LONG_FACTOR for factor in factors)
    if one.type.kind is not Kind.STRING:
        return 1.0, passes
    return _factor(one, factors), passes


def _constant(one: Expression) -> float:
    return max(1.0, len(one.value) / SHORT_CHARACTERS) if isinstance(one.value, str) else 1.0


def _factor(one: Expression, factors: list[float]) -> float:
    """Return how many times as long a text is as those it is made of."""
    longest = max(factors, default=1.0)
    values = [arg.value if arg.op == "literal" else None for arg in one.args]
    if one.value is runtime_text.repeat:
        return longest * max(1, values[1]) if isinstance(values[1], int) else math.inf
    if one.value in (runtime_text.pad_left, runtime_text.pad_right):
        return max(longest, values[1] / SHORT_CHARACTERS) if isinstance(values[1], int) else math.inf
    if one.value is runtime_text.replace:
        _, old, new = values
        if not (isinstance(old, str) and isinstance(new, str)):
            return math.inf
        return factors[0] * max(1.0, len(new) / max(1, len(old)))
    if one.value in (runtime_text.concat, runtime_text.concat_with):
        return sum(factors)
    return longest
