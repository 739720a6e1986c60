"""Functions of numbers, as evaluators call them: arguments are never None; what has no answer is None."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from views.column_types import INT64_MAX, INT64_MIN

DIGITS_MAX: Final = 18


def whole(number: int) -> int | None:
    """Return `number` if int64 can hold it."""
    return number if INT64_MIN <= number <= INT64_MAX else None


def real(number: float) -> float | None:
    """Return `number` unless it is infinite or not a number."""
    return number if math.isfinite(number) else None


def divide_integers(left: int, right: int) -> int | None:
    """Return the quotient, cut towards zero."""
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return whole(quotient if (left < 0) == (right < 0) else -quotient)


def remainder_of_integers(left: int, right: int) -> int | None:
    """Return the remainder, with the sign of `left`."""
    if right == 0:
        return None
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest


def remainder(left: float, right: float) -> float | None:
    """Return the remainder, with the sign of `left`."""
    return None if right == 0 else math.fmod(left, right)


def absolute(number: int) -> int | None:
    """Return the magnitude of an integer; that of the least one does not fit."""
    return whole(abs(number))


def sign(number: float) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)


def truncated(number: float, digits: int = 0) -> float | None:
    """Cut a double towards zero after `digits` places; negative digits cut before the point."""
    return _to_places(number, digits, math.trunc)


def rounded(number: float, digits: int = 0) -> float | None:
    """Round a double to `digits` places, halves away from zero."""
    return _to_places(number, digits, _half_away)


def _half_away(number: float) -> int:
    # Adding 0.5 would itself round: 0.49999999999999994 + 0.5 is 1.0.
    below = math.floor(abs(number))
    nearest = below + (abs(number) - below >= 0.5)
    return nearest if number >= 0 else -nearest


def _to_places(number: float, digits: int, cut: Callable[[float], int]) -> float | None:
    if abs(number) >= 2.0**52 and digits >= 0:
        return number
    digits = max(-308, min(DIGITS_MAX, digits))
    scaled = number * 10.0**digits if digits >= 0 else number / 10.0**-digits
    if not math.isfinite(scaled) or abs(scaled) >= 2.0**52:
        return number
    places = cut(scaled)
    return real(places / 10.0**digits if digits >= 0 else places * 10.0**-digits)


def rounded_integer(number: int, digits: int = 0) -> int | None:
    """Round an integer to tens (-1), hundreds (-2) and so on, halves away from zero."""
    if digits >= 0:
        return number
    unit = int(10 ** min(-digits, 20))
    units = (abs(number) + unit // 2) // unit * unit
    return whole(units if number >= 0 else -units)


def truncated_integer(number: int, digits: int = 0) -> int | None:
    """Cut an integer to tens (-1), hundreds (-2) and so on."""
    if digits >= 0:
        return number
    unit = int(10 ** min(-digits, 20))
    units = abs(number) // unit * unit
    return units if number >= 0 else -units


def _checked(function: Callable[..., float]) -> Callable[..., float | None]:
    def call(*numbers: float) -> float | None:
        try:
            return real(function(*numbers))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    return call


def _logarithm(number: float, base: float = math.e) -> float:
    return math.log(number) / math.log(base)


square_root = _checked(math.sqrt)
power = _checked(math.pow)
exponential = _checked(math.exp)
natural_logarithm = _checked(math.log)
decimal_logarithm = _checked(math.log10)
binary_logarithm = _checked(math.log2)
logarithm = _checked(_logarithm)
sine = _checked(math.sin)
cosine = _checked(math.cos)
tangent = _checked(math.tan)
arc_sine = _checked(math.asin)
arc_cosine = _checked(math.acos)
arc_tangent = _checked(math.atan)
arc_tangent_of_two = _checked(math.atan2)
degrees = _checked(math.degrees)
radians = _checked(math.radians)


def floor(number: float) -> float:
    """Return the next whole number below, as a double."""
    return float(math.floor(number))


def ceiling(number: float) -> float:
    """Return the next whole number above, as a double."""
    return float(math.ceil(number))
