"""A share-partition: the progress of a share group in one partition, record by record.

It is a pure machine: times come in as arguments, and what must be stored goes out as a Change.

    change = partition.acknowledge(…)   the states change at once; nothing else may change them until
    partition.settle(change)            the change is durable, or
    partition.undo(change)              it could not be stored

`acquire` changes nothing that is stored. The start moves over what is finished and durable.
Source: KIP-932; Kafka 4.3's SharePartition.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from groups.errors import CoordinatorNotAvailable, InvalidRecordState, InvalidRequest
from groups.share.acknowledgements import Acknowledgement, runs_of
from groups.share.delivery import Limits, Portion, Wish
from groups.share.first_free import FirstFree
from groups.share.found import Acquired, Found, Later, report
from groups.share.giving_up import archive, archiving, give_up
from groups.share.range_room import RangeRoom
from groups.share.ranges import Ranges
from groups.share.record_range import Change, Facts, Range, Run, StoredRange
from groups.share.states import Cause, Event, RecordState

COUNT_MAX: Final = 2**15 - 1
"""The largest delivery count that records and answers can have: AtLimit.KEEP has no other limit."""

NEVER_DELIVERED: Final = Facts(RecordState.AVAILABLE, 0)
MISSING: Final = Facts(RecordState.ARCHIVED, 0)
"""The facts of an offset that has no record to deliver: compacted, aborted, or a marker."""


class SharePartition:
    """The records of one partition that a share group has not finished."""

    __slots__ = ("_free", "_ranges", "state_epoch")

    def __init__(self, start: int, state_epoch: int = 0) -> None:
        self._ranges = Ranges(start)
        self._free = FirstFree(self._ranges)
        self.state_epoch = state_epoch

    # --- questions ------------------------------------------------------------------------------------------

    @property
    def start(self) -> int:
        """The first offset that is not finished (Kafka's SPSO)."""
        return self._ranges.start

    @property
    def end(self) -> int:
        """The offset after the last that was ever acquired (Kafka's SPEO is the one before)."""
        return self._ranges.end

    @property
    def ranges(self) -> Ranges:
        """The ranges between start and end, for display."""
        return self._ranges

    def next_fetch_offset(self, member_id: str = "", now_ms: int = 0) -> int:
        """Return the first offset that could be acquired, by this member if it is named."""
        return self._free.find(member_id, now_ms)

    def first_acquirable(self, limits: Limits, member_id: str = "", now_ms: int = 0) -> int | None:
        """Return the first offset at which a fetch may look for records; None while there is none.

        It is that of a record which was given back, or the end, if the window is not full.
        """
        if limits.in_flight_bytes_max and self.in_flight_bytes() >= limits.in_flight_bytes_max:
            return None
        offset, end = self.next_fetch_offset(member_id, now_ms), self.end
        return offset if offset < end or end - self.start < limits.in_flight_max else None

    def best(self, member_id: str, now_ms: int) -> tuple[int, int] | None:
        """Return the largest priority of the records that a member may have, and the first of these."""
        return self._free.best(member_id, now_ms)

    def held_by(self, member_id: str) -> int:
        """Return the number of records that a member has."""
        return self._ranges.held_count(member_id)

    def in_flight_bytes(self) -> int:
        """Return the bytes of the records that members have, as far as they count."""
        return self._ranges.in_flight_bytes()

    def finished_count(self) -> int:
        """Return the number of offsets from the start on that are not delivered again."""
        return self._ranges.finished_count()

    def next_lock_deadline(self) -> int | None:
        """Return when to call `expire`: when a lock runs out, or what was kept for later may be delivered."""
        return self._ranges.next_due()

    def stored_ranges(self) -> list[StoredRange]:
        """Return what a snapshot has to hold; a record that was never given back is left out.

        One that is acquired counts as it did before.
        """
        return self._ranges.stored()

    # --- acquiring ------------------------------------------------------------------------------------------

    def acquire(
        self, wish: Wish, limits: Limits, found: Found, now_ms: int, portion: Portion | None = None
    ) -> list[Acquired]:
        """Give a member the records of a read that are available; offsets without a record are archived.

        At most `limits.in_flight_max` records are between start and end afterwards, but for whole batches.
        `portion` is what is left of the wish after earlier parts of the log, if there were any.
        """
        # What is passed over on the way is available.
        self._free.lower(self.end)
        room = limits.in_flight_max - (self.end - self.start)
        end = found.end if room > 0 else min(found.end, self.end)
        portion = portion or Portion(wish, limits)
        if room > 0:
            portion.rest = min(portion.rest, room)
        if limits.in_flight_bytes_max:
            in_flight_bytes = self._ranges.in_flight_bytes()
            portion.room_bytes = limits.in_flight_bytes_max - in_flight_bytes
            portion.may_exceed = not in_flight_bytes
        times = (now_ms, now_ms + limits.lock_ms)
        position = first = max(found.first, self.start)
        acquired: list[Acquired] = []
        for batch_first, batch_last, later, record_bytes in found.pieces():
            batch_last = min(batch_last, end - 1)
            if batch_last < position:
                continue
            batch_first = min(max(batch_first, position), end)
            self._miss(position, batch_first - 1)
            position = batch_first
            if later is not None:
                self._postpone(position, batch_last, later)
                position = batch_last + 1
                continue
            self._acquire_batch(wish, portion, (position, batch_last), record_bytes, times, acquired)
            position = batch_last + 1
            portion.end_of_batch()
            if portion.is_full:
                break
        else:
            self._miss(position, end - 1)
        # Nothing has changed after the last record that a full portion took.
        self._ranges.join(first, acquired[-1].last if portion.is_full and acquired else self.end)
        self._ranges.skip_finished()
        return acquired

    def _acquire_batch(
        self,
        wish: Wish,
        portion: Portion,
        batch: tuple[int, int],
        record_bytes: int,
        times: tuple[int, int],
        acquired: list[Acquired],
    ) -> None:
        """Acquire what is available of one batch of the log; `times` are now and the end of the lock."""
        first, last = batch
        now_ms, until_ms = times
        begins = True
        before: Facts | None = None
        for part in self._ranges.within(first, last) if first < self.end else ():
            if portion.is_full:
                break
            if part.is_settled and part.facts.is_free(wish.member_id, now_ms, wish.priority):
                low, high = max(part.first, first), min(part.last, last)
                count = portion.take(high - low + 1, part.facts.delivery_count, record_bytes)
                if count:
                    if part.facts != before:
                        before, facts = part.facts, _held(wish, part.facts, until_ms, record_bytes)
                    if low == part.first and low + count - 1 == part.last:
                        self._ranges.put(part, facts)
                    else:
                        for piece in self._ranges.cut(low, low + count - 1):
                            self._ranges.put(piece, facts)
                    new = Acquired(low, low + count - 1, facts.delivery_count)
                    report(acquired, new, wish.batch_size, begins=begins)
                    begins = False
        # A class has only records that are known.
        fresh = max(first, self.end) if wish.priority is None else last + 1
        count = portion.take(last - fresh + 1, 0, record_bytes) if last >= fresh else 0
        if count:
            self._ranges.append(fresh - 1, NEVER_DELIVERED)
            self._ranges.append(fresh + count - 1, _held(wish, NEVER_DELIVERED, until_ms, record_bytes))
            report(acquired, Acquired(fresh, fresh + count - 1, 1), wish.batch_size, begins=begins)

    def _postpone(self, first: int, last: int, later: Later) -> None:
        """Keep what is available between two offsets for later, or for a wish for its class."""

        def known(facts: Facts) -> Facts:
            return facts._replace(member_id="", lock_until_ms=later.until_ms, priority=later.priority)

        for part in self._ranges.within(first, last):
            if part.facts.state == RecordState.AVAILABLE and part.is_settled:
                for piece in self._ranges.cut(max(part.first, first), min(part.last, last)):
                    self._ranges.put(piece, known(piece.facts))
        self._ranges.append(first - 1, NEVER_DELIVERED)
        self._ranges.append(last, known(NEVER_DELIVERED))

    def _miss(self, first: int, last: int) -> None:
        """Archive what is available between two offsets: the log has no record there."""
        if last < first:
            return
        for part in self._ranges.within(first, last):
            if part.facts.state == RecordState.AVAILABLE and part.is_settled:
                for piece in self._ranges.cut(max(part.first, first), min(part.last, last)):
                    self._ranges.put(piece, MISSING)
        self._ranges.append(first - 1, NEVER_DELIVERED)
        self._ranges.append(last, MISSING)

    # --- acknowledging --------------------------------------------------------------------------------------

    def acknowledge(
        self,
        member_id: str,
        batches: Sequence[Acknowledgement],
        limits: Limits,
        now_ms: int,
        room: RangeRoom | None = None,
    ) -> Change | None:
        """Do what a member says of its records: all of it, or nothing. None: nothing is to be stored.

        What lies before the start is ignored.
        Raises: InvalidRequest, InvalidRecordState; CoordinatorNotAvailable without room for more ranges.
        """
        start = self.start
        runs = [
            run if run[0] >= start else (start, *run[1:])
            for batch in batches
            for run in runs_of(batch)
            if run[1] >= start
        ]
        self._check(member_id, runs)
        if room is not None and room.refuses(self._ranges, runs):
            raise CoordinatorNotAvailable(
                "no memory for more records in flight (kawal.share.ranges.max.bytes)"
            )
        change = Change()
        if runs:
            renewed: list[tuple[int, int]] = []
            for part, event in self._ranges.divide(runs):
                self._apply(part, event, limits, change, now_ms)
                if part.is_settled:
                    renewed.append((part.first, part.last))
            self._ranges.join_around(renewed)
        return change if change.ranges else None

    def _check(self, member_id: str, runs: Sequence[Run]) -> None:
        before = -1
        for first, last, _ in runs:
            if first <= before:
                raise InvalidRequest(f"offset {first} is acknowledged after offset {before}")
            before = last
            if last >= self.end:
                raise InvalidRequest(f"offset {last} was never delivered: the next to be so is {self.end}")
        for (first, _, _), part in self._ranges.met(runs):
            if not part.is_held:
                state = part.facts.state.name.lower()
                raise InvalidRecordState(f"offset {max(first, part.first)} is {state}, not acquired")
            if part.facts.member_id != member_id:
                raise InvalidRecordState(f"another member has offset {max(first, part.first)}")

    def release(
        self, member_id: str, limits: Limits, now_ms: int, count_max: int | None = None
    ) -> Change | None:
        """Take back all that a member has, or so many ranges of it: its session was closed."""
        change = Change()
        for part in self._ranges.held_by([member_id], count_max):
            self._apply(part, Event.SESSION_CLOSED, limits, change, now_ms)
        return change if change.ranges else None

    def take_over(
        self, member_ids: Collection[str], count_max: int, limits: Limits, now_ms: int
    ) -> Change | None:
        """Take back the first records that any of these members has: they sit idle, and another one asks.

        Those that are on their last try are not counted: they are given up.
        """
        change, left = Change(), count_max
        for part in self._ranges.held_by(member_ids):
            outcome = limits.outcome(Event.TAKEN_OVER, part.facts.delivery_count)
            counts = outcome.state == RecordState.AVAILABLE
            last = min(part.last, part.first + left - 1) if counts else part.last
            for piece in self._ranges.cut(part.first, last):
                self._apply(piece, Event.TAKEN_OVER, limits, change, now_ms)
                left -= len(piece) * counts
            if left <= 0:
                break
        return change if change.ranges else None

    def expire(self, limits: Limits, now_ms: int, count_max: int = sys.maxsize) -> tuple[Change | None, int]:
        """Take back what has a lock that ran out, and let be delivered what was for later.

        At most `count_max` ranges are looked at, and others stay due; returned is also how many were.
        """
        change = Change()
        ready: list[tuple[int, int]] = []
        due = self._ranges.take_due(now_ms, count_max)
        for part in due:
            if part.facts.state == RecordState.ACQUIRED:
                self._apply(part, Event.LOCK_EXPIRED, limits, change, now_ms)
            else:
                self._ranges.put(part, part.facts._replace(member_id="", lock_until_ms=0))
                ready.append((part.first, part.last))
        if ready:
            self._free.lower(ready[0][0])
            self._ranges.join_around(ready)
        return (change if change.ranges else None), len(due)

    def _apply(self, part: Range, event: Event, limits: Limits, change: Change, now_ms: int) -> None:
        facts = part.facts
        outcome = limits.outcome(event, facts.delivery_count)
        if outcome.state == RecordState.ACQUIRED:
            self._ranges.put(part, facts._replace(lock_until_ms=now_ms + limits.lock_ms))
            return
        cause = outcome.cause.value if outcome.state == RecordState.ARCHIVING else ""
        after = Facts(outcome.state, facts.delivery_count, cause=cause, priority=facts.priority)
        if outcome.state == RecordState.AVAILABLE and limits.avoid_last_ms and event != Event.SESSION_CLOSED:
            until_ms = now_ms + limits.avoid_last_ms
            after = after._replace(member_id=facts.member_id, lock_until_ms=until_ms)
        self._ranges.begin(part, after, change, event)

    # --- dead letters ---------------------------------------------------------------------------------------

    def give_up(self, pairs: Iterable[tuple[int, int]], cause: Cause) -> Change | None:
        """Let dead letters be written for available records between pairs of offsets, in order."""
        pairs = list(pairs)
        self._free.lower(self.end)
        for _, last in pairs:
            self._ranges.append(last, NEVER_DELIVERED)
        return give_up(self._ranges, pairs, cause)

    def archiving(self) -> Iterable[StoredRange]:
        """Yield the records that are to be archived once their dead letters are stored."""
        return archiving(self._ranges)

    def archive(self, pairs: Iterable[tuple[int, int]]) -> Change | None:
        """Archive what is being archived between pairs of offsets, in order: it has its dead letters."""
        return archive(self._ranges, pairs)

    # --- the way of a change to the log ---------------------------------------------------------------------

    def settle(self, change: Change) -> None:
        """Let a change count: it is durable."""
        self._free.settled(change)
        self._ranges.settle(change)
        self._ranges.skip_finished()

    def undo(self, change: Change) -> None:
        """Take back a change that could not be stored; locks that ran out meanwhile are found by `expire`."""
        # What was given up before it was delivered is available again.
        self._free.lower(change.first)
        self._ranges.undo(change)

    # --- other causes ---------------------------------------------------------------------------------------

    def move_log_start(self, offset: int) -> None:
        """Forget what the log no longer has, but for records that wait for their dead letters."""
        if offset <= self.start:
            return
        self._free.lower(self.end)
        below = self._ranges.within(self.start, offset - 1)
        waiting = next((part for part in below if part.facts.state == RecordState.ARCHIVING), None)
        if waiting is not None:
            self._miss(waiting.first, offset - 1)
        self._ranges.move_start(offset if waiting is None else max(waiting.first, self.start))
        self._ranges.skip_finished()

    def replay(self, start: int, ranges: Iterable[StoredRange]) -> None:
        """Apply a stored change; a start of -1 stays."""
        self._free.lower(self.start)
        self._ranges.move_start(start)
        for first, last, state, count, cause in ranges:
            if last < self.start:
                continue
            self._ranges.append(first - 1, NEVER_DELIVERED)
            facts = Facts(state, count, cause=cause)
            if first < self.end:
                for part in self._ranges.cut(max(first, self.start), last):
                    self._ranges.put(part, facts)
                self._ranges.join(first, last)
            self._ranges.append(last, facts)
        self._ranges.skip_finished()


def _held(wish: Wish, before: Facts, until_ms: int, record_bytes: int) -> Facts:
    count = min(before.delivery_count + 1, COUNT_MAX)
    return Facts(RecordState.ACQUIRED, count, wish.member_id, until_ms, "", record_bytes, before.priority)
