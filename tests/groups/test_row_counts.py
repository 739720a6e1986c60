"""Tests of groups/row_counts.py."""

from __future__ import annotations

from groups.record_keys import OffsetKey
from groups.row_counts import NO_ROWS, RowCounts, Rows


def test_rows_are_counted_from_the_first_commit_on() -> None:
    counts = RowCounts()
    assert counts.get("g", "t", 0) == NO_ROWS
    counts.count(OffsetKey("g", "t", 0), 0, 100)
    counts.count(OffsetKey("g", "t", 0), 7, 200)
    assert counts.get("g", "t", 0) == Rows(7, 100)


def test_partitions_that_begin_at_one_time_share_an_object_until_they_have_rows() -> None:
    counts = RowCounts()
    for index in range(3):
        counts.count(OffsetKey("g", "t", index), 0, 100)
    assert counts.get("g", "t", 0) is counts.get("g", "t", 2)


def test_a_count_ends_where_an_answer_has_no_more_room() -> None:
    counts = RowCounts()
    for _ in range(3):
        counts.count(OffsetKey("g", "t", 0), 2**62, 100)
    assert counts.get("g", "t", 0).records == 2**63 - 1


def test_nothing_is_left_of_what_is_forgotten() -> None:
    counts = RowCounts()
    counts.count(OffsetKey("g", "t", 0), 1, 100)
    counts.forget(OffsetKey("g", "t", 1))
    counts.forget(OffsetKey("h", "t", 0))
    counts.forget(OffsetKey("g", "t", 0))
    assert counts.table() == {}
