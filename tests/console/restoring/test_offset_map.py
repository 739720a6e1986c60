"""Offsets in a copy, against a list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.restoring.offset_map import OffsetMap


@given(st.sets(st.integers(0, 60), max_size=30))
def test_as_many_records_lie_before_an_offset_as_had_smaller_ones(offsets: set[int]) -> None:
    kept = OffsetMap()
    for offset in sorted(offsets):
        kept.add(offset)
    assert kept.end == len(offsets)
    assert kept.next_source == max(offsets, default=-1) + 1
    for asked in range(65):
        assert kept.before(asked) == sum(offset < asked for offset in offsets)
