"""A share-partition: the progress of a share group in one partition, record by record.

It is a pure machine: times come in as arguments, and what must be stored goes out as a Change.

    change = partition.acknowledge(…)   the states change at once; nothing else may change them until
    partition.settle(change)            the change is durable, or
    partition.undo(change)              it could not be stored

`acquire` changes nothing that is stored. The start moves over what is finished and durable.
Source: KIP-932; Kafka 4.3's SharePartition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from groups.errors import InvalidRecordState, InvalidRequest
from groups.share.acknowledgements import Acknowledgement, runs_of
from groups.share.delivery import Limits, Portion, Wish
from groups.share.ranges import Change, Facts, Range, Ranges, StoredRange
from groups.share.states import FINISHED, Event, RecordState, outcome_of

NEVER_DELIVERED: Final = Facts(RecordState.AVAILABLE, 0)
MISSING: Final = Facts(RecordState.ARCHIVED, 0)
"""The facts of an offset that has no record to deliver: compacted, aborted, or a marker."""


class Acquired(NamedTuple):
    """Records that a member has now: first and last offset, and how often they were delivered."""

    first: int
    last: int
    delivery_count: int


class Found(NamedTuple):
    """A part of the log as it was read."""

    first: int
    """The offset from which it was read."""
    batches: Sequence[tuple[int, int]]
    """First and last offset of the batches with records for delivery, in order."""
    end: int
    """The offset before which everything was read."""


class SharePartition:
    """The records of one partition that a share group has not finished."""

    __slots__ = ("_lock_due_ms", "_ranges", "state_epoch")

    def __init__(self, start: int, state_epoch: int = 0) -> None:
        self._ranges = Ranges(start)
        self.state_epoch = state_epoch
        # No lock runs out before.
        self._lock_due_ms: int | None = None

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
    def ranges(self) -> Iterable[Range]:
        """The ranges between start and end, for display."""
        return self._ranges

    def next_fetch_offset(self) -> int:
        """Return the first offset that could be acquired."""
        for found in self._ranges:
            if found.facts.state == RecordState.AVAILABLE and found.is_settled:
                return found.first
        return self.end

    def can_acquire(self, limits: Limits) -> bool:
        """Whether a fetch may look for records: some were given back, or the window is not full."""
        return self.end - self.start < limits.in_flight_max or self.next_fetch_offset() < self.end

    def finished_count(self) -> int:
        """Return the number of offsets from the start on that are not delivered again."""
        return sum(len(found) for found in self._ranges if found.facts.state in FINISHED)

    def next_lock_deadline(self) -> int | None:
        """Return when to call `expire`; it may be early, never late."""
        return self._lock_due_ms

    def stored_ranges(self) -> list[StoredRange]:
        """Return what a snapshot has to hold; a record that was never given back is left out.

        One that is acquired counts as it did before.
        """
        found: list[StoredRange] = []
        for part in self._ranges:
            state, count = part.facts.state, part.facts.delivery_count
            if state == RecordState.ACQUIRED:
                state, count = RecordState.AVAILABLE, count - 1
            if count or state != RecordState.AVAILABLE:
                found.append(StoredRange(part.first, part.last, state, count, part.facts.cause))
        return found

    # --- acquiring ------------------------------------------------------------------------------------------

    def acquire(
        self, wish: Wish, limits: Limits, found: Found, now_ms: int, portion: Portion | None = None
    ) -> list[Acquired]:
        """Give a member the records of a read that are available; offsets without a record are archived.

        At most `limits.in_flight_max` records are between start and end afterwards, but for whole batches.
        `portion` is what is left of the wish after earlier parts of the log, if there were any.
        """
        room = limits.in_flight_max - (self.end - self.start)
        end = found.end if room > 0 else min(found.end, self.end)
        portion = portion or Portion(wish, limits)
        if room > 0:
            portion.rest = min(portion.rest, room)
        until_ms = now_ms + limits.lock_ms
        position = first = max(found.first, self.start)
        acquired: list[Acquired] = []
        for batch_first, batch_last in found.batches:
            batch_last = min(batch_last, end - 1)
            if batch_last < position:
                continue
            batch_first = min(max(batch_first, position), end)
            self._miss(position, batch_first - 1)
            position = batch_first
            self._acquire_batch(wish, portion, (position, batch_last), until_ms, acquired)
            position = batch_last + 1
            portion.end_of_batch()
            if portion.is_full:
                break
        else:
            self._miss(position, end - 1)
        self._ranges.join(first, self.end)
        self._ranges.skip_finished()
        return acquired

    def _acquire_batch(
        self, wish: Wish, portion: Portion, batch: tuple[int, int], until_ms: int, acquired: list[Acquired]
    ) -> None:
        """Acquire what is available of one batch of the log."""
        first, last = batch
        begins = True
        for part in self._ranges.within(first, last) if first < self.end else ():
            if part.facts.state == RecordState.AVAILABLE and part.is_settled:
                low, high = max(part.first, first), min(part.last, last)
                count = portion.take(high - low + 1, part.facts.delivery_count)
                if count:
                    facts = Facts(
                        RecordState.ACQUIRED, part.facts.delivery_count + 1, wish.member_id, until_ms
                    )
                    if low == part.first and low + count - 1 == part.last:
                        part.facts = facts
                    else:
                        for piece in self._ranges.cut(low, low + count - 1):
                            piece.facts = facts
                    _report(
                        acquired, Acquired(low, low + count - 1, facts.delivery_count), wish, begins=begins
                    )
                    begins = False
        fresh = max(first, self.end)
        count = portion.take(last - fresh + 1, 0) if last >= fresh else 0
        if count:
            self._fill(fresh - 1)
            self._ranges.append(fresh + count - 1, Facts(RecordState.ACQUIRED, 1, wish.member_id, until_ms))
            _report(acquired, Acquired(fresh, fresh + count - 1, 1), wish, begins=begins)
        self._note_lock(until_ms)

    def _miss(self, first: int, last: int) -> None:
        """Archive what is available between two offsets: the log has no record there."""
        if last < first:
            return
        for part in self._ranges.within(first, last):
            if part.facts.state == RecordState.AVAILABLE and part.is_settled:
                for piece in self._ranges.cut(max(part.first, first), min(part.last, last)):
                    piece.facts = MISSING
        self._fill(first - 1)
        self._ranges.append(last, MISSING)

    def _fill(self, last: int) -> None:
        """Add what was never looked at, up to an offset."""
        self._ranges.append(last, NEVER_DELIVERED)

    def _note_lock(self, until_ms: int) -> None:
        if self._lock_due_ms is None or until_ms < self._lock_due_ms:
            self._lock_due_ms = until_ms

    # --- acknowledging --------------------------------------------------------------------------------------

    def acknowledge(
        self, member_id: str, batches: Sequence[Acknowledgement], limits: Limits, now_ms: int
    ) -> Change | None:
        """Do what a member says of its records: all of it, or nothing. None: nothing is to be stored.

        What lies before the start is ignored.
        Raises: InvalidRequest, InvalidRecordState.
        """
        runs = [run for batch in batches for run in runs_of(batch) if run[1] >= self.start]
        self._check(member_id, runs)
        change = Change()
        for first, last, event in runs:
            for part in self._ranges.cut(max(first, self.start), last):
                self._apply(part, event, limits, change, now_ms)
        if runs:
            self._ranges.join(runs[0][0], runs[-1][1])
        return change if change.ranges else None

    def _check(self, member_id: str, runs: Sequence[tuple[int, int, Event]]) -> None:
        before = -1
        for first, last, _ in runs:
            if first <= before:
                raise InvalidRequest(f"offset {first} is acknowledged after offset {before}")
            before = last
            if last >= self.end:
                raise InvalidRequest(f"offset {last} was never delivered: the next to be so is {self.end}")
            for part in self._ranges.within(max(first, self.start), last):
                if part.facts.state != RecordState.ACQUIRED or not part.is_settled:
                    state = part.facts.state.name.lower()
                    raise InvalidRecordState(f"offset {max(first, part.first)} is {state}, not acquired")
                if part.facts.member_id != member_id:
                    raise InvalidRecordState(f"another member has offset {max(first, part.first)}")

    def release(self, member_id: str, limits: Limits, now_ms: int) -> Change | None:
        """Take back all that a member has: its session was closed."""
        change = Change()
        for part in self._ranges:
            if (
                part.facts.state == RecordState.ACQUIRED
                and part.is_settled
                and part.facts.member_id == member_id
            ):
                self._apply(part, Event.SESSION_CLOSED, limits, change, now_ms)
        return change if change.ranges else None

    def expire(self, limits: Limits, now_ms: int) -> Change | None:
        """Take back all whose lock has run out."""
        change = Change()
        due_ms = None
        for part in self._ranges:
            if part.facts.state == RecordState.ACQUIRED and part.is_settled:
                until_ms = part.facts.lock_until_ms
                if until_ms <= now_ms:
                    self._apply(part, Event.LOCK_EXPIRED, limits, change, now_ms)
                elif due_ms is None or until_ms < due_ms:
                    due_ms = until_ms
        self._lock_due_ms = due_ms
        return change if change.ranges else None

    def _apply(self, part: Range, event: Event, limits: Limits, change: Change, now_ms: int) -> None:
        facts = part.facts
        is_last = facts.delivery_count >= limits.delivery_count_max
        outcome = outcome_of(event, is_last=is_last, at_limit=limits.at_limit)
        if outcome.state == RecordState.ACQUIRED:
            part.facts = facts._replace(lock_until_ms=now_ms + limits.lock_ms)
            return
        cause = outcome.cause.value if outcome.state == RecordState.ARCHIVING else ""
        _change(part, Facts(outcome.state, facts.delivery_count, cause=cause), change)

    # --- dead letters ---------------------------------------------------------------------------------------

    def archiving(self) -> Iterable[StoredRange]:
        """Yield the records that are to be archived once their dead letters are stored."""
        for part in self._ranges:
            state, count, _, _, cause = part.facts
            if state == RecordState.ARCHIVING and part.is_settled:
                yield StoredRange(part.first, part.last, state, count, cause)

    def archive(self, ranges: Iterable[tuple[int, int]]) -> Change | None:
        """Archive what is being archived between pairs of offsets, in order: it has its dead letters."""
        change = Change()
        for first, last in ranges:
            for part in self._ranges.within(first, last):
                if part.facts.state == RecordState.ARCHIVING and part.is_settled:
                    for piece in self._ranges.cut(max(part.first, first), min(part.last, last)):
                        _change(piece, Facts(RecordState.ARCHIVED, piece.facts.delivery_count), change)
        return change if change.ranges else None

    # --- the way of a change to the log ---------------------------------------------------------------------

    def settle(self, change: Change) -> None:
        """Let a change count: it is durable."""
        for part in self._ranges.within(change.first, change.last):
            if part.change is change:
                part.change = part.before = None
        self._ranges.join(change.first, change.last)
        self._ranges.skip_finished()

    def undo(self, change: Change) -> None:
        """Take back a change that could not be stored; locks that ran out meanwhile are found by `expire`."""
        for part in self._ranges.within(change.first, change.last):
            if part.change is change:
                assert part.before is not None
                part.facts, part.change, part.before = part.before, None, None
                if part.facts.state == RecordState.ACQUIRED:
                    self._note_lock(part.facts.lock_until_ms)
        self._ranges.join(change.first, change.last)

    # --- other causes ---------------------------------------------------------------------------------------

    def move_log_start(self, offset: int) -> None:
        """Forget what the log no longer has, but for records that wait for their dead letters."""
        if offset <= self.start:
            return
        below = self._ranges.within(self.start, offset - 1)
        waiting = next((part for part in below if part.facts.state == RecordState.ARCHIVING), None)
        if waiting is not None:
            self._miss(waiting.first, offset - 1)
        self._ranges.move_start(offset if waiting is None else max(waiting.first, self.start))
        self._ranges.skip_finished()

    def replay(self, start: int, ranges: Iterable[StoredRange]) -> None:
        """Apply a stored change; a start of -1 stays."""
        self._ranges.move_start(start)
        for first, last, state, count, cause in ranges:
            if last < self.start:
                continue
            self._fill(first - 1)
            facts = Facts(state, count, cause=cause)
            if first < self.end:
                for part in self._ranges.cut(max(first, self.start), last):
                    part.facts = facts
                self._ranges.join(first, last)
            self._ranges.append(last, facts)
        self._ranges.skip_finished()


def _change(part: Range, facts: Facts, change: Change) -> None:
    """Change the state of records; it counts when it is durable."""
    part.before, part.change, part.facts = part.facts, change, facts
    change.ranges.append(StoredRange(part.first, part.last, facts.state, facts.delivery_count, facts.cause))


def _report(acquired: list[Acquired], new: Acquired, wish: Wish, *, begins: bool) -> None:
    """Add records to an answer, whose ranges begin with a batch of the log once they have the best size."""
    if acquired:
        last = acquired[-1]
        is_large = begins and last.last - last.first + 1 >= wish.batch_size
        if last.last + 1 == new.first and last.delivery_count == new.delivery_count and not is_large:
            acquired[-1] = Acquired(last.first, new.last, last.delivery_count)
            return
    acquired.append(new)
