"""Ranges of records without holes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groups.share.ranges import Ranges
from groups.share.record_range import Facts, Run
from groups.share.states import Event, RecordState

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


@st.composite
def runs_of_ten_to_forty(draw: st.DrawFn) -> list[Run]:
    bounds = sorted(draw(st.lists(st.integers(10, 39), min_size=2, max_size=12, unique=True)))
    events = st.sampled_from([Event.ACCEPT, Event.RELEASE])
    return [(low, high, draw(events)) for low, high in zip(bounds[::2], bounds[1::2], strict=False)]


@given(st.lists(st.integers(10, 38), unique=True), runs_of_ten_to_forty())
def test_dividing_is_cutting_run_by_run_and_meeting_finds_the_same(lasts: list[int], runs: list[Run]) -> None:
    sizes = [(last, AVAILABLE if number % 2 else ARCHIVED) for number, last in enumerate(sorted(lasts))]
    one, other = made(*sizes, (39, AVAILABLE)), made(*sizes, (39, AVAILABLE))
    met = [(run, part.first) for run, part in one.met(runs)]
    assert met == [(run, part.first) for run in runs for part in one.within(run[0], run[1])]
    divided = [(part.first, part.last, event) for part, event in one.divide(runs)]
    cut = [(part.first, part.last, run[2]) for run in runs for part in other.cut(run[0], run[1])]
    assert divided == cut
    assert shown(one) == shown(other)
