"""Durations in TDengine's letters."""

from __future__ import annotations

import pytest

from views.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1b", 1),
        ("5u", 5_000),
        ("250a", 250_000_000),
        ("1s", 10**9),
        ("15M", 900 * 10**9),
        ("1h", 3_600 * 10**9),
        ("7d", 604_800 * 10**9),
        ("1w", 604_800 * 10**9),
        ("0s", 0),
    ],
)
def test_a_number_and_a_letter_are_a_duration(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text", ["1n", "1y", "h", "1", "1.5h", "-1h", "1hh", "", "999999999999999999w", "9" * 19 + "b"]
)
def test_anything_else_is_none(text: str) -> None:
    assert parse_duration(text) is None
