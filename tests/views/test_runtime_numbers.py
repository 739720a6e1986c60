"""Functions of numbers, called as evaluators call them: what has no answer is None, never an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views import runtime_numbers as numbers

INT64 = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
OF_ONE: list[Callable[[float], Any]] = [
    numbers.square_root,
    numbers.exponential,
    numbers.natural_logarithm,
    numbers.decimal_logarithm,
    numbers.binary_logarithm,
    numbers.logarithm,
    numbers.sine,
    numbers.cosine,
    numbers.tangent,
    numbers.arc_sine,
    numbers.arc_cosine,
    numbers.arc_tangent,
    numbers.degrees,
    numbers.radians,
    numbers.floor,
    numbers.ceiling,
    numbers.rounded,
    numbers.truncated,
]


@pytest.mark.parametrize("function", OF_ONE, ids=range(len(OF_ONE)))
@UNHURRIED
@given(DOUBLES)
def test_functions_of_a_double_give_a_finite_one_or_none(
    function: Callable[[float], Any], number: float
) -> None:
    found = function(number)
    assert found is None or (isinstance(found, float) and math.isfinite(found))


@UNHURRIED
@given(DOUBLES, DOUBLES)
def test_functions_of_two_doubles_give_a_finite_one_or_none(left: float, right: float) -> None:
    for function in (numbers.power, numbers.remainder, numbers.logarithm, numbers.arc_tangent_of_two):
        found = function(left, right)
        assert found is None or math.isfinite(found)


@UNHURRIED
@given(INT64, INT64)
def test_integers_divide_as_in_c(left: int, right: int) -> None:
    quotient, rest = numbers.divide_integers(left, right), numbers.remainder_of_integers(left, right)
    if right == 0:
        assert (quotient, rest) == (None, None)
        return
    assert rest is not None
    assert abs(rest) < abs(right)
    assert rest == 0 or (rest < 0) == (left < 0)
    exact = (left - rest) // right
    assert quotient == (exact if exact < 2**63 else None)


@UNHURRIED
@given(INT64, st.integers(-25, 3))
def test_integers_round_to_tens_halves_away_from_zero(number: int, digits: int) -> None:
    exact = (
        int(Decimal(number).quantize(Decimal(1).scaleb(-min(0, digits)), ROUND_HALF_UP, None))
        if digits > -20
        else 0
    )
    assert numbers.rounded_integer(number, digits) == (exact if -(2**63) <= exact < 2**63 else None)
    cut = numbers.truncated_integer(number, digits)
    assert cut is not None
    assert abs(cut) <= abs(number)


@UNHURRIED
@given(st.integers(-(10**9), 10**9), st.integers(0, 3))
def test_doubles_round_to_places_halves_away_from_zero(thousandths: int, digits: int) -> None:
    number = thousandths / 8
    exact = Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    assert numbers.rounded(number, digits) == float(exact)


def test_what_int64_cannot_hold_is_none() -> None:
    assert numbers.whole(2**63) is None
    assert numbers.absolute(-(2**63)) is None
    assert numbers.real(math.inf) is None
    assert numbers.sign(-0.0) == 0


@UNHURRIED
@given(st.floats(0, 2.0**52) | st.sampled_from([0.49999999999999994, 4503599627370495.5, 2.5, 1e-300]))
def test_halves_are_judged_by_the_double_itself(number: float) -> None:
    expected = int(Decimal(number).quantize(Decimal(1), ROUND_HALF_UP))
    assert (numbers.rounded(number), numbers.rounded(-number)) == (expected, -expected)
