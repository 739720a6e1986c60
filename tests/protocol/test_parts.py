"""Long lists, a part at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol.parts import PART, joined_parts, parts_of, sorted_names_of


@given(st.integers(0, 4 * PART))
def test_parts_have_every_item_once_in_order_and_none_is_longer_than_a_part(count: int) -> None:
    parts = list(parts_of(iter(range(count))))
    assert [item for part in parts for item in part] == list(range(count))
    assert all(0 < len(part) <= PART for part in parts)


@given(st.lists(st.text(max_size=3)), st.integers(1, 500))
def test_names_are_sorted_as_by_one_call(names: list[str], times: int) -> None:
    many = [f"{name}{number % 7}" for number in range(times) for name in names[:9]]
    assert sorted_names_of(iter(many)) == sorted(many)


@given(st.lists(st.binary(max_size=3), max_size=20), st.integers(0, 300))
def test_pieces_are_joined_as_by_one_call(pieces: list[bytes], times: int) -> None:
    assert joined_parts(iter(pieces * times)) == b"".join(pieces * times)
