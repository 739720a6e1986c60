"""Bounds and speeds as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.view_bounds import Bound, parse_bound, parse_speed

NOON_MS = 1_795_262_400_000


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("2026-11-21T12:00:00Z", Bound(is_offset=False, value=NOON_MS)),
        ("2026-11-21T13:00:00+01:00", Bound(is_offset=False, value=NOON_MS)),
        ("2026-11-21T12:00:00", Bound(is_offset=False, value=NOON_MS)),
        (" 2026-11-21 12:00:00.250 ", Bound(is_offset=False, value=NOON_MS + 250)),
        ("2026-11-21", Bound(is_offset=False, value=NOON_MS - 12 * 3_600_000)),
        ("1795262400000", Bound(is_offset=False, value=NOON_MS)),
        ("0", Bound(is_offset=False, value=0)),
        ("offset 42", Bound(is_offset=True, value=42)),
        ("Offset:42", Bound(is_offset=True, value=42)),
        ("offset=0", Bound(is_offset=True, value=0)),
    ],
)
def test_times_and_offsets_are_read(text: str, bound: Bound) -> None:
    assert parse_bound(text) == bound
    assert parse_bound(bound.text) == bound


@given(st.booleans(), st.integers(0, 10**18 - 1))
def test_what_is_kept_of_a_bound_is_the_bound(is_offset: bool, value: int) -> None:
    bound = Bound(is_offset=is_offset, value=value)
    assert parse_bound(bound.text) == bound


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "-5", "offset", "offset -1", "1969-12-31T00:00:00Z", "1.5", "2026-13-01", "9" * 30],
)
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an ISO 8601 time|lies before 1970"):
        parse_bound(text)


@pytest.mark.parametrize(("text", "speed"), [("1", 1.0), (" 0.5 ", 0.5), ("1e3", 1000.0), ("0.001", 0.001)])
def test_speeds_are_read(text: str, speed: float) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "inf", "1e9", "0.0001"])
def test_speeds_that_would_stand_still_or_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number between"):
        parse_speed(text)
