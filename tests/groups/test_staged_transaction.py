"""The ends of transactions with many offsets: carried out in slices, they leave what one step would leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groups import staged_offsets
from groups.effects import Stamp
from groups.record_keys import OffsetKey
from groups.staged_offsets import StagedOffsets
from groups.staged_transaction import Closed

KEYS = [OffsetKey("g", "t", index) for index in range(4)]


@pytest.fixture
def large_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_offsets, "LARGE", 1)


def with_offsets(*keys: OffsetKey, producer_id: int = 1) -> StagedOffsets:
    staged = StagedOffsets()
    for key in keys:
        staged.stage(0, Stamp(producer_id, 0), key, b"staged")
    return staged


def taken(staged: StagedOffsets, closed: Closed, at_most: int = 1) -> tuple[bool, list[OffsetKey]]:
    """Take some; return whether that was all, and the offsets that count."""
    found: list[OffsetKey] = []
    return staged.count_some(closed, at_most, lambda key, _value: found.append(key)), found


@pytest.mark.usefixtures("large_from_one")
def test_offsets_stay_staged_until_they_are_taken_some_at_a_time() -> None:
    staged = with_offsets(*KEYS[:3])
    closed = staged.close(0, 1, commit=True)
    assert (closed.counting, staged.is_closing(0), staged.is_closing(1)) == ([], True, False)
    staged.ended(closed)
    assert taken(staged, closed) == (False, []), "the keys are listed first"
    assert taken(staged, closed, 2) == (False, KEYS[:2])
    assert [staged.is_staged(key) for key in KEYS[:3]] == [False, False, True]
    assert taken(staged, closed, 2) == (True, KEYS[2:3])
    assert not staged
    assert not staged.is_closing(0)
    assert staged.size_bytes == 0


@pytest.mark.usefixtures("large_from_one")
def test_an_aborted_one_leaves_nothing_and_counts_nothing() -> None:
    staged = with_offsets(*KEYS)
    closed = staged.close(0, 1, commit=False)
    while not (result := taken(staged, closed, 3))[0]:
        assert result[1] == []
    assert not staged


@pytest.mark.usefixtures("large_from_one")
def test_a_marker_that_is_not_stored_opens_the_transaction_again() -> None:
    staged = with_offsets(KEYS[0])
    staged.close(0, 1, commit=True).undo()
    assert not staged.is_closing(0)
    assert list(staged.of_partition(0, 9)) == [(Stamp(1, 0), [(KEYS[0], b"staged")])]


@pytest.mark.usefixtures("large_from_one")
def test_a_commit_after_the_marker_supersedes_and_gives_the_offset_back_if_it_is_not_stored() -> None:
    staged = with_offsets(*KEYS[:2])
    closed = staged.close(0, 1, commit=True)
    [undo] = staged.supersede(KEYS[0])
    taken(staged, closed)
    assert taken(staged, closed, 9) == (True, [KEYS[1]])
    counted: list[OffsetKey] = []
    again = with_offsets(*KEYS[:2])
    closed = again.close(0, 1, commit=True)
    [undo] = again.supersede(KEYS[0])
    while not again.count_some(closed, 9, lambda key, _value: counted.append(key)):
        pass
    undo()
    assert counted == [KEYS[1], KEYS[0]], "it comes back when all others count"


@pytest.mark.usefixtures("large_from_one")
def test_the_first_to_end_in_a_partition_is_done_first() -> None:
    staged = with_offsets(KEYS[0])
    staged.stage(0, Stamp(2, 0), KEYS[1], b"")
    first, second = (staged.close(0, producer_id, commit=True) for producer_id in (1, 2))
    assert [taken(staged, second, 9) for _ in range(3)] == [(False, [])] * 3
    taken(staged, first)
    assert taken(staged, first) == (True, [KEYS[0]])
    taken(staged, second)
    assert taken(staged, second) == (True, [KEYS[1]])


def test_what_was_staged_before_does_not_count_whenever_its_transaction_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for ends_before_the_slice in (True, False):
        staged = with_offsets(KEYS[0], producer_id=2)
        for key in KEYS:
            staged.stage(0, Stamp(1, 0), key, b"later")
        monkeypatch.setattr(staged_offsets, "LARGE", len(KEYS))
        large = staged.close(0, 1, commit=True)
        if ends_before_the_slice:
            small = staged.close(0, 2, commit=True)
            assert small.counting == []
            staged.ended(small)
        taken(staged, large)
        assert taken(staged, large, 9) == (True, KEYS)
        assert staged.close(0, 2, commit=True).counting == []


@pytest.mark.usefixtures("large_from_one")
def test_what_was_overtaken_does_not_come_back_when_a_later_offset_is_not_stored() -> None:
    staged = with_offsets(KEYS[0])
    staged.stage(0, Stamp(2, 0), KEYS[0], b"later")
    closed = staged.close(0, 2, commit=True)
    undo = staged.stage(0, Stamp(1, 0), KEYS[0], b"latest")
    taken(staged, closed)
    assert taken(staged, closed) == (True, [KEYS[0]])
    undo()
    assert not staged


@pytest.mark.usefixtures("large_from_one")
def test_of_two_offsets_that_come_back_when_a_commit_is_not_stored_the_later_one_counts() -> None:
    staged = with_offsets(*KEYS[:2])
    for key in KEYS[:2]:
        staged.stage(0, Stamp(2, 0), key, b"later")
    ended = [staged.close(0, producer_id, commit=True) for producer_id in (1, 2)]
    undone = staged.supersede(KEYS[0])
    table: dict[OffsetKey, bytes] = {}
    for closed in ended:
        while not staged.count_some(closed, 9, table.__setitem__):
            pass
    _undo(undone)
    assert table == dict.fromkeys(KEYS[:2], b"later")


@pytest.mark.usefixtures("large_from_one")
def test_a_partition_that_is_unloaded_ends_what_is_left() -> None:
    staged = with_offsets(*KEYS)
    closed = staged.close(0, 1, commit=True)
    taken(staged, closed)
    staged.drop_partition(0)
    assert taken(staged, closed) == (True, [])
    assert not staged


class _Written(NamedTuple):
    """A record on its way to the disk."""

    durable: Callable[[], None]
    undo: Callable[[], None]


class _Log:
    """A partition as the coordinator has it: written changes the state at once, durable counts."""

    def __init__(self, large: int) -> None:
        self.large = large
        self.staged = StagedOffsets()
        self.table: dict[OffsetKey, bytes] = {}
        self.flying: deque[_Written] = deque()
        self.closing: list[Closed] = []

    def count(self, key: OffsetKey, value: bytes) -> None:
        self.table[key] = value

    def write(self, step: tuple[Any, ...], number: int) -> None:
        kind, producer_id, key, commit = step
        value = b"%d" % number
        if kind == "stage":
            undo = self.staged.stage(0, Stamp(producer_id, 0), key, value)
            self.flying.append(_Written(lambda: None, undo))
        elif kind == "plain":
            undone = self.staged.supersede(key)
            self.flying.append(_Written(lambda: self.count(key, value), lambda: _undo(undone)))
        else:
            self.close(producer_id, commit=commit)

    def close(self, producer_id: int, *, commit: bool) -> None:
        staged_offsets.LARGE, before = self.large, staged_offsets.LARGE  # type: ignore[misc]
        closed = self.staged.close(0, producer_id, commit=commit)
        staged_offsets.LARGE = before  # type: ignore[misc]

        def durable() -> None:
            self.staged.ended(closed)
            for key, value in closed.counting:
                self.count(key, value)
            if closed.large is not None:
                self.closing.append(closed)

        def undo() -> None:
            closed.undo()
            self.staged.ended(closed)

        self.flying.append(_Written(durable, undo))

    def settle(self, count: int) -> None:
        for _ in range(min(count, len(self.flying))):
            self.flying.popleft().durable()

    def take(self, chosen: int) -> None:
        if self.closing:
            closed = self.closing[chosen % len(self.closing)]
            if self.staged.count_some(closed, 1, self.count):
                self.closing.remove(closed)

    def fail(self) -> None:
        while self.flying:
            self.flying.pop().undo()

    def finish(self) -> None:
        self.settle(len(self.flying))
        while self.closing:
            self.take(0)


def _undo(undone: list[Callable[[], None]]) -> None:
    for undo in reversed(undone):
        undo()


STEP = st.tuples(
    st.sampled_from(["stage", "stage", "stage", "plain", "close"]),
    st.integers(1, 2),
    st.sampled_from(KEYS[:3]),
    st.sampled_from([True, True, False]),
)


@settings(max_examples=400)
@given(
    steps=st.lists(
        st.tuples(STEP, st.integers(0, 2), st.integers(0, 3), st.booleans()), min_size=10, max_size=30
    ),
    fails=st.booleans(),
    large=st.integers(1, 3),
)
def test_slices_leave_what_one_step_leaves_whatever_comes_between_them(
    steps: list[tuple[tuple[Any, ...], int, int, bool]], fails: bool, large: int
) -> None:
    sliced, whole = _Log(large), _Log(1_000)
    for number, (step, durable, chosen, takes) in enumerate(steps):
        for log in (sliced, whole):
            log.write(step, number)
            log.settle(durable)
        if takes:
            sliced.take(chosen)
    for log in (sliced, whole):
        if fails:
            log.fail()
        log.finish()
    assert sliced.table == whole.table
    assert sliced.staged.keys() == whole.staged.keys()
    assert list(sliced.staged.of_partition(0, 100)) == list(whole.staged.of_partition(0, 100))
    assert sliced.staged.size_bytes == whole.staged.size_bytes
    assert not sliced.staged.is_closing(0)
