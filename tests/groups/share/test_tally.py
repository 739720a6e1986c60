"""Figures that are kept while ranges change are those that a walk over all ranges finds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from groups.share.ranges import Ranges
from groups.share.record_range import Change, Facts, Range
from groups.share.states import FINISHED, Event, RecordState
from groups.share.tally import Tally

ACQUIRED = RecordState.ACQUIRED
MEMBERS = ("m1", "m2", "m3")


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    state = draw(st.sampled_from(RecordState))
    until_ms = draw(st.sampled_from([0, 10, 20, 30])) if state in (ACQUIRED, RecordState.AVAILABLE) else 0
    if state is ACQUIRED:
        return Facts(state, 1, draw(st.sampled_from(MEMBERS)), until_ms, "", draw(st.integers(0, 3)))
    return Facts(state, 0, lock_until_ms=until_ms)


class Walked(RuleBasedStateMachine):
    """Anything that happens to ranges."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges = Ranges(0)
        self.changes: list[Change] = []
        self.taken: set[int] = set()

    @rule(count=st.integers(1, 5), known=facts())
    def append(self, count: int, known: Facts) -> None:
        self.ranges.append(self.ranges.end + count - 1, known)

    @rule(ends=st.tuples(st.integers(0, 40), st.integers(0, 40)), known=facts())
    def put(self, ends: tuple[int, int], known: Facts) -> None:
        first, last = sorted(self.ranges.start + end for end in ends)
        for part in self.ranges.cut(first, last):
            if part.is_settled:
                self.ranges.put(part, known)
        self.ranges.join(first, last)

    @rule(at=st.integers(0, 40), count=st.integers(1, 4), known=facts())
    def begin(self, at: int, count: int, known: Facts) -> None:
        change = Change()
        runs = [
            (part.first, min(part.last, part.first + count), Event.ACCEPT)
            for part in self.ranges.within(self.ranges.start + at, self.ranges.end)
            if part.is_settled
        ][::2]
        known = known._replace(state=RecordState.ACKNOWLEDGED) if known.state is ACQUIRED else known
        for part, event in self.ranges.divide(runs) if runs else ():
            self.ranges.begin(part, known, change, event)
        if change.ranges:
            self.changes.append(change)

    @rule(at=st.integers(0, 9), is_lost=st.booleans())
    def end(self, at: int, is_lost: bool) -> None:
        if self.changes:
            change = self.changes.pop(at % len(self.changes))
            (self.ranges.undo if is_lost else self.ranges.settle)(change)

    @rule(now_ms=st.sampled_from([5, 15, 25]), count_max=st.integers(1, 3))
    def take_due(self, now_ms: int, count_max: int) -> None:
        due = [
            part.first for part in self.ranges if part.is_settled and 0 < part.facts.lock_until_ms <= now_ms
        ]
        taken = self.ranges.take_due(now_ms, count_max)
        assert [part.first for part in taken] == sorted(part.first for part in taken)
        assert {part.first for part in taken} <= set(due)
        assert len(taken) == min(len(due), count_max)
        for part in taken:
            self.ranges.put(part, part.facts._replace(lock_until_ms=0))

    @rule(count=st.integers(0, 12))
    def move_start(self, count: int) -> None:
        self.ranges.move_start(min(self.ranges.start + count, self.ranges.end))
        self.ranges.skip_finished()

    @invariant()
    def figures_are_those_of_a_walk(self) -> None:
        parts = list(self.ranges)
        finished = sum(len(part) for part in parts if part.facts.state in FINISHED)
        assert self.ranges.finished_count() == finished
        acquired = [part for part in parts if part.facts.state is ACQUIRED]
        in_flight_bytes = sum(len(part) * part.facts.record_bytes for part in acquired)
        assert self.ranges.in_flight_bytes() == in_flight_bytes
        counts: Counter[str] = Counter()
        for part in acquired:
            counts[part.facts.member_id] += len(part)
        assert {name: self.ranges.held_count(name) for name in MEMBERS} == {
            name: counts[name] for name in MEMBERS
        }
        held = [part for part in acquired if part.facts.member_id != "m3"]
        assert list(self.ranges.held_by(["m1", "m2", "m4"])) == held
        moments = [part.facts.lock_until_ms for part in parts if part.is_settled and part.facts.lock_until_ms]
        assert self.ranges.next_due() == min(moments, default=None)
        assert all(left.last + 1 == right.first for left, right in pairwise(parts))


TestWalked = Walked.TestCase
TestWalked.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


@given(st.lists(facts(), min_size=1, max_size=20))
def test_what_is_removed_leaves_nothing_behind(known: list[Facts]) -> None:
    tally, parts = Tally(), [Range(10 * number, 10 * number + 3, part) for number, part in enumerate(known)]
    for part in parts:
        tally.add(part)
    for part in parts:
        tally.remove(part)
    assert (tally.finished, tally.in_flight_bytes, tally.next_due()) == (0, 0, None)
    assert tally.firsts_of(MEMBERS) == []
    assert tally.take_due(100, 5) == []


def test_some_ranges_of_a_member_are_told_without_the_rest() -> None:
    tally = Tally()
    for first in range(0, 100, 10):
        tally.add(Range(first, first, Facts(ACQUIRED, 1, "m1", 500)))
    assert tally.firsts_of(["m1", "m2"], 3) == [0, 10, 20]
    assert tally.count_of("m1") == 10
    assert tally.take_due(499, 3) == []
    assert [tally.take_due(500, 8), tally.take_due(500, 8)] == [[*range(0, 80, 10)], [80, 90]]
