"""The records between the start and the end of a share-partition, as ranges of like ones without holes.

    start                                           end (the next offset that was never looked at)
      |  acquired by m1  |  acknowledged  |  available  |

Ranges that have become alike are joined: memory depends on what differs, not on the number of records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from groups.share.states import FINISHED, Event, RecordState

_FIRST = attrgetter("first")


class Facts(NamedTuple):
    """All that is known of a record."""

    state: RecordState
    delivery_count: int
    """The number of deliveries, including the present one."""
    member_id: str = ""
    """The member that has it, if it is acquired."""
    lock_until_ms: int = 0
    """The monotonic moment until which that member has it; of an available record, that until which
    `member_id` is not given it, or no member if that is ""."""
    cause: str = ""
    """The cause for which it is being archived, or "" if it is not."""
    record_bytes: int = 0
    """The mean size of the records of its batch, if that counts."""
    priority: int = 0
    """Its class, in groups that have classes; larger ones come first."""

    def is_free(self, member_id: str, now_ms: int, priority: int | None = None) -> bool:
        """Whether a member may have it now, if it is of this class."""
        if self.state != RecordState.AVAILABLE or (priority is not None and self.priority != priority):
            return False
        return self.lock_until_ms <= now_ms or self.member_id not in ("", member_id)


Run = tuple[int, int, Event]
"""First and last offset of records, and what happens to them."""


class StoredRange(NamedTuple):
    """Records in a row, as their state is stored."""

    first: int
    last: int
    state: RecordState
    delivery_count: int
    cause: str = ""
    """As in Facts."""


class Change:
    """A change of states that is being stored."""

    __slots__ = ("events", "ranges")

    def __init__(self) -> None:
        self.ranges: list[StoredRange] = []
        # The number of records by what happened to them.
        self.events: Counter[Event] = Counter()

    @property
    def first(self) -> int:
        """The first offset that changes."""
        return self.ranges[0].first

    @property
    def last(self) -> int:
        """The last offset that changes."""
        return self.ranges[-1].last


class Range:
    """Records in a row that are alike.  While a change of them is being stored, nothing else may change."""

    __slots__ = ("before", "change", "facts", "first", "last")

    def __init__(self, first: int, last: int, facts: Facts) -> None:
        self.first = first
        self.last = last
        self.facts = facts
        self.change: Change | None = None
        self.before: Facts | None = None

    @property
    def is_settled(self) -> bool:
        """Whether its state is durable, or need not be."""
        return self.change is None

    @property
    def is_held(self) -> bool:
        """Whether a member has it, and has said nothing of it yet."""
        return self.change is None and self.facts.state is RecordState.ACQUIRED

    def __len__(self) -> int:
        return self.last - self.first + 1

    def split(self, offset: int) -> Range:
        """End before an offset inside, and return the rest."""
        tail = Range(offset, self.last, self.facts)
        tail.change, tail.before = self.change, self.before
        self.last = offset - 1
        return tail


class Ranges:
    """All ranges of a share-partition, in order."""

    __slots__ = ("_ranges", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self._ranges: list[Range] = []

    def __iter__(self) -> Iterator[Range]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    @property
    def end(self) -> int:
        """The next offset after the last range."""
        return self._ranges[-1].last + 1 if self._ranges else self.start

    def within(self, first: int, last: int) -> list[Range]:
        """Return the ranges that lie, if only partly, between two offsets, both included."""
        if first > last or not self._ranges:
            return []
        begin = max(bisect_right(self._ranges, first, key=_FIRST) - 1, 0)
        if self._ranges[begin].last < first:
            begin += 1
        return self._ranges[begin : bisect_right(self._ranges, last, key=_FIRST)]

    def beginning(self, offset: int) -> Iterator[Range]:
        """Yield the ranges from the one with an offset on."""
        begin = max(bisect_right(self._ranges, offset, key=_FIRST) - 1, 0)
        return islice(self._ranges, begin, None)

    def some_from(self, offset: int, count: int) -> list[Range]:
        """Return the first ranges that end at or after an offset, `count` of them at most."""
        begin = max(bisect_right(self._ranges, offset, key=_FIRST) - 1, 0)
        if begin < len(self._ranges) and self._ranges[begin].last < offset:
            begin += 1
        return self._ranges[begin : begin + count]

    def cut(self, first: int, last: int) -> list[Range]:
        """Return the ranges between two offsets, after cutting those that reach beyond."""
        self._cut_before(first)
        self._cut_before(last + 1)
        return self.within(first, last)

    def _cut_before(self, offset: int) -> None:
        """See to it that a range begins at the offset, if there is one at all."""
        index = bisect_right(self._ranges, offset, key=_FIRST) - 1
        if index < 0:
            return
        found = self._ranges[index]
        if found.first < offset <= found.last:
            self._ranges.insert(index + 1, found.split(offset))

    def met(self, runs: Sequence[Run]) -> Iterator[tuple[Run, Range]]:
        """Yield runs with each range that they touch; both are in order, so each is looked at once.

        The runs are in order and lie between start and end.
        """
        index = bisect_right(self._ranges, runs[0][0], key=_FIRST) - 1 if runs else 0
        for run in runs:
            while self._ranges[index].last < run[0]:
                index += 1
            while True:
                part = self._ranges[index]
                yield run, part
                if part.last >= run[1]:
                    break
                index += 1

    def divide(self, runs: Sequence[Run]) -> list[tuple[Range, Event]]:
        """Cut at the bounds of all runs in one go; return the ranges that lie in them, with their events.

        The runs are in order and lie between start and end.
        """
        begin = index = bisect_right(self._ranges, runs[0][0], key=_FIRST) - 1
        divided: list[Range] = []
        found: list[tuple[Range, Event]] = []
        part: Range | None = None
        for first, last, event in runs:
            while True:
                if part is None:
                    part = self._ranges[index]
                    index += 1
                if part.last < first:
                    divided.append(part)
                    part = None
                    continue
                if part.first < first:
                    divided.append(part)
                    part = part.split(first)
                tail = part.split(last + 1) if part.last > last else None
                divided.append(part)
                found.append((part, event))
                is_over, part = part.last == last, tail
                if is_over:
                    break
        if part is not None:
            divided.append(part)
        self._ranges[begin:index] = divided
        return found

    def append(self, last: int, facts: Facts) -> None:
        """Add a range from the end up to an offset."""
        end = self.end
        if last < end:
            return
        newest = self._ranges[-1] if self._ranges else None
        if newest is not None and newest.is_settled and newest.facts == facts:
            newest.last = last
        else:
            self._ranges.append(Range(end, last, facts))

    def join(self, first: int, last: int) -> None:
        """Join ranges that are alike, from one before the first offset to one after the last."""
        begin = max(bisect_right(self._ranges, first - 1, key=_FIRST) - 1, 0)
        end = bisect_right(self._ranges, last + 1, key=_FIRST)
        joined: list[Range] = []
        for found in self._ranges[begin:end]:
            if joined and _are_alike(joined[-1], found):
                joined[-1].last = found.last
            else:
                joined.append(found)
        if len(joined) < end - begin:
            self._ranges[begin:end] = joined

    def finished_count(self) -> int:
        """Return the number of offsets that are not delivered again."""
        return sum(part.last - part.first + 1 for part in self._ranges if part.facts.state in FINISHED)

    def in_flight_bytes(self) -> int:
        """Return the bytes of acquired records, as far as they count."""
        acquired = RecordState.ACQUIRED
        return sum(
            len(part) * part.facts.record_bytes for part in self._ranges if part.facts.state is acquired
        )

    def held_by(self, member_id: str) -> list[Range]:
        """Return the acquired ranges of a member whose state is settled."""
        return [part for part in self._ranges if part.is_held and part.facts.member_id == member_id]

    def stored(self) -> list[StoredRange]:
        """Return what a snapshot has to have, as in SharePartition."""
        found: list[StoredRange] = []
        for part in self._ranges:
            state, count = part.facts.state, part.facts.delivery_count
            if state == RecordState.ACQUIRED:
                state, count = RecordState.AVAILABLE, count - 1
            if count or state != RecordState.AVAILABLE:
                found.append(StoredRange(part.first, part.last, state, count, part.facts.cause))
        return found

    def move_start(self, start: int) -> None:
        """Forget all below an offset."""
        if start <= self.start:
            return
        self._cut_before(start)
        self.start = start
        del self._ranges[: bisect_right(self._ranges, start - 1, key=_FIRST)]

    def skip_finished(self) -> None:
        """Move the start over records that are not delivered again."""
        start = self.start
        for found in self._ranges:
            if found.facts.state not in FINISHED or not found.is_settled:
                break
            start = found.last + 1
        self.move_start(start)


def _are_alike(left: Range, right: Range) -> bool:
    return left.is_settled and right.is_settled and left.facts == right.facts


def begin_change(part: Range, facts: Facts, change: Change, event: Event | None = None) -> None:
    """Change the state of records, because of an event; it counts when it is durable."""
    if event is not None:
        change.events[event] += part.last - part.first + 1
    part.before, part.change, part.facts = part.facts, change, facts
    change.ranges.append(StoredRange(part.first, part.last, facts.state, facts.delivery_count, facts.cause))
