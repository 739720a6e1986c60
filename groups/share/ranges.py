"""The records between the start and the end of a share-partition, as ranges of like ones without holes.

    start                                           end (the next offset that was never looked at)
      |  acquired by m1  |  acknowledged  |  available  |

Ranges that have become alike are joined: memory depends on what differs, not on the number of records.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter

from groups.share.record_range import Change, Facts, Range, Run, StoredRange
from groups.share.states import FINISHED, Event, RecordState
from groups.share.tally import Tally

_FIRST = attrgetter("first")


class Ranges:
    """All ranges of a share-partition, in order."""

    __slots__ = ("_ranges", "_tally", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self._ranges: list[Range] = []
        self._tally = Tally()

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
        ranges = self._ranges
        begin = max(bisect_right(ranges, offset, key=_FIRST) - 1, 0)
        # Not islice, which walks to where it begins.
        return (ranges[index] for index in range(begin, len(ranges)))

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
            self._ranges.insert(index + 1, self._split(found, offset))

    def _split(self, part: Range, offset: int) -> Range:
        """End a range before an offset inside, and return the rest."""
        self._tally.remove(part)
        tail = part.split(offset)
        self._tally.add(part)
        self._tally.add(tail)
        return tail

    def met(self, runs: Sequence[Run]) -> Iterator[tuple[Run, Range]]:
        """Yield runs with each range that they touch; both are in order, so each is looked at once.

        The runs are in order and lie between start and end.
        """
        index = bisect_right(self._ranges, runs[0][0], key=_FIRST) - 1 if runs else 0
        for run in runs:
            if self._ranges[index].last < run[0]:
                index = self._index_of(run[0], index + 1)
            while True:
                part = self._ranges[index]
                yield run, part
                if part.last >= run[1]:
                    break
                index += 1

    def cuts_of(self, runs: Sequence[Run]) -> int:
        """Return how many ranges more there would be if they were cut at the bounds of runs, as in `met`."""
        return sum((part.first < run[0]) + (part.last > run[1]) for run, part in self.met(runs))

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
                    if self._ranges[index].last < first:
                        reached = self._index_of(first, index)
                        divided += self._ranges[index:reached]
                        index = reached
                    continue
                if part.first < first:
                    divided.append(part)
                    part = self._split(part, first)
                tail = self._split(part, last + 1) if part.last > last else None
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
            self._tally.remove(newest)
            newest.last = last
        else:
            newest = Range(end, last, facts)
            self._ranges.append(newest)
        self._tally.add(newest)

    def join(self, first: int, last: int) -> None:
        """Join ranges that are alike, from one before the first offset to one after the last."""
        begin = max(bisect_right(self._ranges, first - 1, key=_FIRST) - 1, 0)
        end = bisect_right(self._ranges, last + 1, key=_FIRST)
        joined: list[Range] = []
        for found in self._ranges[begin:end]:
            if joined and _are_alike(joined[-1], found):
                self._tally.remove(found)
                self._tally.remove(joined[-1])
                joined[-1].last = found.last
                self._tally.add(joined[-1])
            else:
                joined.append(found)
        if len(joined) < end - begin:
            self._ranges[begin:end] = joined

    def join_around(self, spans: Iterable[tuple[int, int]]) -> None:
        """Join ranges that are alike in and beside spans, first and last offsets in order.

        What lies between two spans is not looked at.
        """
        low, high = -1, -1
        for first, last in spans:
            if first != high + 1:
                if high >= 0:
                    self.join(low, high)
                low = first
            high = last
        if high >= 0:
            self.join(low, high)

    # --- facts ----------------------------------------------------------------------------------------------

    def put(self, part: Range, facts: Facts) -> None:
        """Let other facts be known of records."""
        self._tally.remove(part)
        part.facts = facts
        self._tally.add(part)

    def begin(self, part: Range, facts: Facts, change: Change, event: Event | None = None) -> None:
        """Change the state of records, because of an event; it counts when it is durable."""
        if event is not None:
            change.events[event] += part.last - part.first + 1
        self._tally.remove(part)
        part.before, part.change, part.facts = part.facts, change, facts
        self._tally.add(part)
        change.ranges.append(
            StoredRange(part.first, part.last, facts.state, facts.delivery_count, facts.cause)
        )

    def settle(self, change: Change) -> None:
        """Let a change count."""
        for span in change.ranges:
            for part in self.within(span.first, span.last):
                if part.change is change:
                    part.change = part.before = None
                    if part.facts.lock_until_ms:
                        self._tally.add_lock(part)
        self.join_around(span[:2] for span in change.ranges)

    def undo(self, change: Change) -> None:
        """Let what was known before a change be known again."""
        for span in change.ranges:
            for part in self.within(span.first, span.last):
                if part.change is change:
                    assert part.before is not None
                    self._tally.remove(part)
                    part.facts, part.change, part.before = part.before, None, None
                    self._tally.add(part)
        self.join_around(span[:2] for span in change.ranges)

    # --- figures --------------------------------------------------------------------------------------------

    def finished_count(self) -> int:
        """Return the number of offsets that are not delivered again."""
        return self._tally.finished

    def in_flight_bytes(self) -> int:
        """Return the bytes of acquired records, as far as they count."""
        return self._tally.in_flight_bytes

    def held_count(self, member_id: str) -> int:
        """Return the number of records that a member has."""
        return self._tally.count_of(member_id)

    def held_by(self, member_ids: Collection[str], count_max: int | None = None) -> Iterator[Range]:
        """Yield the acquired ranges of members, or some of each; all of them are settled."""
        return map(self._at, self._tally.firsts_of(member_ids, count_max))

    def next_due(self) -> int | None:
        """Return the first moment at which a lock runs out, or records are not to be kept any longer."""
        return self._tally.next_due()

    def take_due(self, now_ms: int, count_max: int) -> list[Range]:
        """Return ranges whose moment has come, in order; they are to be changed, and not all may be told."""
        return [self._at(first) for first in self._tally.take_due(now_ms, count_max)]

    def _at(self, first: int) -> Range:
        return self._ranges[bisect_left(self._ranges, first, key=_FIRST)]

    def _index_of(self, offset: int, low: int) -> int:
        """Return the index of the range with an offset, which is this one or later."""
        return bisect_right(self._ranges, offset, low, key=_FIRST) - 1

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
        end = bisect_right(self._ranges, start - 1, key=_FIRST)
        for part in self._ranges[:end]:
            self._tally.remove(part)
        del self._ranges[:end]

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
