"""Ranges of records without holes."""

from __future__ import annotations

from groups.share.ranges import Facts, Ranges
from groups.share.states import RecordState

AVAILABLE = Facts(RecordState.AVAILABLE, 0)
ARCHIVED = Facts(RecordState.ARCHIVED, 0)


def made(*lasts: tuple[int, Facts]) -> Ranges:
    ranges = Ranges(10)
    for last, facts in lasts:
        ranges.append(last, facts)
    return ranges


def shown(ranges: Ranges) -> list[tuple[int, int]]:
    return [(part.first, part.last) for part in ranges]


def test_a_range_begins_at_the_end_of_the_one_before() -> None:
    assert shown(made((14, AVAILABLE), (19, ARCHIVED), (12, AVAILABLE))) == [(10, 14), (15, 19)]


def test_ranges_within_two_offsets_include_those_that_reach_beyond() -> None:
    ranges = made((14, AVAILABLE), (19, ARCHIVED), (24, AVAILABLE))
    assert [part.first for part in ranges.within(14, 20)] == [10, 15, 20]
    assert [part.first for part in ranges.within(0, 9)] == []
    assert [part.first for part in ranges.within(25, 99)] == []
    assert [part.first for part in ranges.within(16, 15)] == []


def test_a_cut_keeps_every_offset() -> None:
    ranges = made((14, AVAILABLE), (19, ARCHIVED))
    assert [(part.first, part.last) for part in ranges.cut(12, 16)] == [(12, 14), (15, 16)]
    assert shown(ranges) == [(10, 11), (12, 14), (15, 16), (17, 19)]


def test_like_neighbours_are_joined() -> None:
    ranges = made((14, AVAILABLE), (19, ARCHIVED))
    ranges.cut(12, 16)
    ranges.join(12, 16)
    assert shown(ranges) == [(10, 14), (15, 19)]


def test_the_start_moves_through_a_range() -> None:
    ranges = made((14, AVAILABLE), (19, ARCHIVED))
    ranges.move_start(12)
    assert (ranges.start, shown(ranges)) == (12, [(12, 14), (15, 19)])
    ranges.move_start(5)
    assert ranges.start == 12
    ranges.move_start(99)
    assert (ranges.start, ranges.end, len(ranges)) == (99, 99, 0)


def test_the_start_moves_over_finished_records() -> None:
    ranges = made((14, ARCHIVED), (19, AVAILABLE))
    ranges.skip_finished()
    assert (ranges.start, ranges.end) == (15, 20)


def test_some_ranges_from_an_offset_on() -> None:
    ranges = made((14, AVAILABLE), (19, ARCHIVED), (24, AVAILABLE))
    assert [part.first for part in ranges.some_from(0, 2)] == [10, 15]
    assert [part.first for part in ranges.some_from(14, 1)] == [10]
    assert [part.first for part in ranges.some_from(15, 9)] == [15, 20]
    assert ranges.some_from(25, 9) == []
    assert Ranges(10).some_from(0, 9) == []
