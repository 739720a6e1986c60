"""Functions of text, called as evaluators call them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views import runtime_text as text


def test_no_function_makes_a_text_longer_than_the_bound() -> None:
    half = "x" * (text.TEXT_LENGTH_MAX // 2)
    assert text.concat(half, half) is not None
    assert text.concat(half, half, "x") is None
    assert text.concat_with(",", half, half) is None
    assert text.repeat(half, 2) is not None
    assert text.repeat(half, 3) is None
    assert text.repeat("", 2**62) is None
    assert text.replace("a" * 10, "a", half) is None
    assert text.pad_left("a", text.TEXT_LENGTH_MAX + 1, "b") is None
    assert text.pad_right("a", 2**62, "b") is None


def test_a_text_that_is_longer_already_may_get_shorter() -> None:
    long = "ab" * text.TEXT_LENGTH_MAX
    assert text.replace(long, "ab", "a") == "a" * text.TEXT_LENGTH_MAX
    assert text.left(long, 3) == "aba"


@UNHURRIED
@given(st.text(max_size=6), st.integers(-8, 8), st.integers(-2, 8))
def test_a_substring_is_a_slice_counted_from_one(value: str, start: int, length: int) -> None:
    places = {position + 1: character for position, character in enumerate(value)}
    first = start if start > 0 else len(value) + start + 1
    wanted = (
        "" if start == 0 or first < 1 else "".join(places.get(at, "") for at in range(first, first + length))
    )
    assert text.substring(value, start, length) == wanted


@UNHURRIED
@given(st.text(alphabet="a,é", max_size=8), st.integers(-4, 4))
def test_parts_are_counted_from_both_ends(value: str, number: int) -> None:
    parts = value.split(",")
    wanted = "" if number == 0 or abs(number) > len(parts) else parts[number - 1 if number > 0 else number]
    assert text.split_part(value, ",", number) == wanted
    joined = {True: ",".join(parts[: max(0, number)]), False: ",".join(parts[number:] if number else [])}
    assert text.part_before(value, ",", number) == joined[number > 0]


def test_parts_are_not_listed_without_end() -> None:
    assert text.split_part("a" * 100_000, "a", 10_001) is None
    assert text.split_part("ab" * 100_000, "a", -10_000) == "b"
    assert text.part_before("a" * 100_000, "a", -(2**63)) is None


@UNHURRIED
@given(st.text(max_size=5), st.integers(0, 9), st.text(max_size=3))
def test_padding_gives_exactly_the_length_or_none(value: str, length: int, padding: str) -> None:
    for padded in (text.pad_left(value, length, padding), text.pad_right(value, length, padding)):
        assert (padded is None) == (length > len(value) and not padding)
        assert padded is None or len(padded) == length


@pytest.mark.parametrize("value", ["", "a", "é", "😀", "a\0b"])
def test_length_counts_bytes_of_utf_8(value: str) -> None:
    assert text.length_bytes(value) == len(value.encode())
