"""A share-partition against a model of it, over random steps: losses and crashes included."""

from __future__ import annotations

import os
from random import Random

import pytest

from groups.errors import InvalidRecordState, InvalidRequest
from groups.share.acknowledgements import Acknowledgement, acknowledgement
from groups.share.delivery import Limits
from groups.share.found import Found, Later
from groups.share.record_range import Change
from groups.share.share_partition import SharePartition
from groups.share.states import ACKNOWLEDGEMENTS, FINISHED, AtLimit, Event, RecordState
from tests.groups.share.model import Entry, Model
from tests.groups.share.requests import wish

STEPS = int(os.environ.get("KAWAL_SHARE_STEPS", "5_000"))
"""Random steps, of all seeds together."""


class Walk:
    """Random steps of the machine and of the model; every difference ends it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.limits = Limits(
            lock_ms=20,
            delivery_count_max=self.random.choice([2, 3, 5]),
            in_flight_max=24,
            at_limit=self.random.choice([AtLimit.DROP, AtLimit.TAIL, AtLimit.TAIL, AtLimit.KEEP]),
            avoid_last_ms=self.random.choice([0, 0, 7]),
            in_flight_bytes_max=self.random.choice([0, 0, 60]),
        )
        self.has_classes, self.has_delays, self.has_filter = (self.random.random() < 0.5 for _ in "123")
        self.machine = SharePartition(0)
        self.model = Model(self.limits)
        self.log_end = 0
        self.log: list[tuple[int, int]] = []
        self.pending: list[tuple[Change, dict[int, Entry], int]] = []
        self.stored: list[tuple[int, Change]] = []
        self.now = 0

    def step(self) -> None:
        self.now += self.random.randrange(4)
        chosen = self.random.choices(
            [
                *(self.acquire, self.acknowledge, self.settle, self.archive),
                *(self.expire, self.release, self.take_over, self.fail, self.crash),
            ],
            [30, 40, 30, 10, 5, 3, 3, 2, 1],
        )[0]
        chosen()
        self.compare()

    def acquire(self) -> None:
        while self.log_end < self.machine.end + 20:
            low = self.log_end + self.random.choice([0, 0, 0, 1, 3])
            high = low + self.random.randrange(6)
            self.log.append((low, high))
            self.log_end = high + 1
        member, exact = self.random.choice("abc"), self.random.random() < 0.5
        first = self.machine.next_fetch_offset(member, self.now)
        assert first == self.model.next_fetch_offset(member, self.now)
        self.log = [batch for batch in self.log if batch[1] >= self.machine.start]
        if self.random.randrange(50) == 0 and self.log:
            self.log.pop(self.random.randrange(len(self.log)))  # compacted
        batches = [batch for batch in self.log if batch[1] >= first][: self.random.randrange(1, 6)]
        if not batches:
            return
        asked = wish(member, self.random.randrange(1, 12), size=self.random.randrange(0, 9), exact=exact)
        best = self.machine.best(member, self.now)
        assert best == self.model.best(member, self.now)
        if best is not None and self.has_classes and self.random.random() < 0.5:
            asked = asked._replace(priority=best[0])
        found = self.chosen(Found(first, batches, batches[-1][1] + 1), asked.priority)
        got = self.machine.acquire(asked, self.limits, found, self.now)
        counts = {offset: part.delivery_count for part in got for offset in range(part.first, part.last + 1)}
        assert counts == self.model.acquire(asked, found, self.now)

    def chosen(self, found: Found, priority: int | None) -> Found:
        """Return what is left of a read by a filter, and what of it is for later or in a class."""
        batches, later = [], []
        for low, high in found.batches:
            middle = self.random.randrange(low, high + 1)
            for part in ((low, middle), (middle + 1, high)):
                if part[0] > part[1] or (self.has_filter and self.random.random() < 0.2):
                    continue
                until_ms = self.now + self.random.randrange(1, 30) if self.has_delays else 0
                kind = self.random.randrange(3) if self.has_classes else 0
                if priority is None and (until_ms or kind) and self.random.random() < 0.4:
                    later.append(Later(*part, until_ms, kind))
                else:
                    batches.append(part)
        sizes = [self.random.randrange(1, 30) for _ in batches] if self.limits.in_flight_bytes_max else []
        return found._replace(batches=batches, later=later, record_bytes=sizes)

    def acknowledge(self) -> None:
        member = self.random.choice("abc")
        first = self.machine.start + self.random.randrange(-2, 12)
        if first < 0:
            return
        said: list[Acknowledgement] = []
        types: dict[int, int] = {}
        for _ in range(self.random.randrange(1, 4)):
            last = first + self.random.randrange(4)
            kinds = [self.random.choice([0, 1, 1, 2, 2, 2, 3, 4]) for _ in range(last - first + 1)]
            said.append(acknowledgement(first, last, kinds))
            types |= dict(zip(range(first, last + 1), kinds, strict=True))
            first = last + 1 + self.random.choice([0, 0, 1, 3])
        offsets = {
            offset: ACKNOWLEDGEMENTS[kind] for offset, kind in types.items() if offset >= self.model.start
        }
        entries = [self.model.at(offset) for offset in offsets]
        legal = all(
            entry.state == RecordState.ACQUIRED and entry.member == member and not entry.busy
            for entry in entries
        )
        start = self.machine.start
        try:
            change = self.machine.acknowledge(member, said, self.limits, self.now)
        except (InvalidRecordState, InvalidRequest):
            assert not legal
            return
        assert legal
        self.begin(change, offsets, start)

    def begin(self, change: Change | None, offsets: dict[int, Event], start: int) -> None:
        before = self.model.change(offsets, self.now)
        assert (change is None) == (not before)
        if change is not None:
            self.pending.append((change, before, start))

    def expire(self) -> None:
        due = {
            offset: Event.LOCK_EXPIRED
            for offset, entry in self.model.entries.items()
            if entry.state == RecordState.ACQUIRED and not entry.busy and entry.until <= self.now
        }
        deadline_ms = self.machine.next_lock_deadline()
        assert not due or (deadline_ms is not None and deadline_ms <= self.now)
        start = self.machine.start
        self.begin(self.machine.expire(self.limits, self.now)[0], dict(sorted(due.items())), start)
        self.model.end_delays(self.now)

    def release(self) -> None:
        member = self.random.choice("abc")
        held = {
            offset: Event.SESSION_CLOSED
            for offset, entry in self.model.entries.items()
            if entry.state == RecordState.ACQUIRED and not entry.busy and entry.member == member
        }
        start = self.machine.start
        self.begin(self.machine.release(member, self.limits, self.now), dict(sorted(held.items())), start)

    def take_over(self) -> None:
        """Take records of two idle members for a third one, the first so many."""
        idle, count_max = self.random.sample("abc", 2), self.random.randrange(1, 8)
        held = [
            offset
            for offset, entry in sorted(self.model.entries.items())
            if entry.state == RecordState.ACQUIRED and not entry.busy and entry.member in idle
        ]
        taken: list[int] = []
        left = count_max
        for offset in held:
            if not left:
                break
            taken.append(offset)
            is_last = self.model.at(offset).count >= self.model.limit
            left -= not is_last or self.limits.at_limit == AtLimit.KEEP
        start = self.machine.start
        change = self.machine.take_over(idle, count_max, self.limits, self.now)
        self.begin(change, dict.fromkeys(taken, Event.TAKEN_OVER), start)

    def archive(self) -> None:
        """Store that some of what waits for dead letters has them; others of it may lie between."""
        waiting = list(self.machine.archiving())
        offsets = [offset for part in waiting for offset in range(part.first, part.last + 1)]
        known = {offset: self.model.at(offset) for offset in offsets}
        assert all(entry.state == RecordState.ARCHIVING and not entry.busy for entry in known.values())
        first = self.machine.start + self.random.randrange(-2, 8)
        last = first + self.random.randrange(6)
        if first < 0:
            return
        start = self.machine.start
        change, before = self.machine.archive([(first, last)]), self.model.archive(range(first, last + 1))
        assert (change is None) == (not before)
        if change is not None:
            self.pending.append((change, before, start))

    def settle(self) -> None:
        if self.pending:
            change, before, start = self.pending.pop(0)
            self.machine.settle(change)
            self.model.settle(before)
            self.stored.append((start, change))

    def fail(self) -> None:
        while self.pending:
            change, before, _ = self.pending.pop()
            self.machine.undo(change)
            self.model.undo(before)

    def crash(self) -> None:
        """Begin anew from the records, of which those in flight may or may not have been stored."""
        for _ in range(self.random.randrange(len(self.pending) + 1)):
            self.settle()
        self.pending.clear()
        replayed = SharePartition(0)
        for start, change in self.stored:
            replayed.replay(start, change.ranges)
        self.stored = [(replayed.start, snapshot(replayed))]
        self.machine = SharePartition(0)
        self.machine.replay(replayed.start, self.stored[0][1].ranges)
        self.model.crash(replayed.start)

    def compare(self) -> None:
        expanded = {
            offset: Entry(*part.facts[:4], not part.is_settled, *part.facts[4:])
            for part in self.machine.ranges
            for offset in range(part.first, part.last + 1)
        }
        model = {offset: self.model.at(offset) for offset in range(self.model.start, self.model.end)}
        assert expanded == model
        assert (self.machine.start, self.machine.end) == (self.model.start, self.model.end)
        finished = [entry for entry in model.values() if entry.state in FINISHED]
        assert self.machine.finished_count() == len(finished)
        acquired = [entry for entry in model.values() if entry.state == RecordState.ACQUIRED]
        assert self.machine.in_flight_bytes() == sum(entry.size for entry in acquired)
        moments = [entry.until for entry in model.values() if entry.until and not entry.busy]
        assert self.machine.next_lock_deadline() == min(moments, default=None)
        for member in "abc":
            held = [entry for entry in acquired if entry.member == member and not entry.busy]
            assert self.machine.held_by(member) == len(held)


def snapshot(partition: SharePartition) -> Change:
    change = Change()
    change.ranges = partition.stored_ranges()
    return change


@pytest.mark.parametrize("seed", range(10))
def test_random_steps_agree_with_the_model(seed: int) -> None:
    walk = Walk(seed)
    for number in range(STEPS // 10):
        try:
            walk.step()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {number}") from error
