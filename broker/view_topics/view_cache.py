"""The memory of what views found in their sources' records, so that none is evaluated twice.

`KeptRanges` keeps facts about ranges of offsets that do not overlap.  In a partition's `EvaluatedRanges` the
fact is what the view shows of a range: one batch, or nothing. Neighbours that show nothing become one range.
So a view that shows 1 record in 100,000 takes next to no memory, and a reader that stands still because its
client moves only over records costs next to nothing. `CacheBudget` bounds the memory of all views of the
broker together: the least recently used range goes first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from protocol.errors import Malformed
from protocol.record_reader import open_batch, record_heads
from protocol.records import read_batch_header

ENTRY_BYTES: Final = 300
"""The memory of a range besides its batch."""


@dataclass(slots=True)
class Evaluated:
    """The batch that a view shows of the offsets from `start` up to, not including, `end`; or nothing."""

    start: int
    end: int
    batch: bytes | None
    _records_end: int | None = field(default=None, compare=False)

    @property
    def size_bytes(self) -> int:
        """The memory that the range takes."""
        return ENTRY_BYTES + (0 if self.batch is None else len(self.batch))

    def count(self, start: int, end: int) -> int:
        """Return how many records of the batch lie between two offsets."""
        if self.batch is None:
            return 0
        if start <= self.start and self.end <= end:
            return read_batch_header(self.batch).record_count
        return sum(start <= offset < end for offset, _, _, _ in record_heads(*open_batch(self.batch)))

    def shows_from(self, offset: int) -> bool:
        """Whether any record of the batch is at the offset or after it.

        A reader may already be past the last record: clients that ignore the batch's own end continue at the
        offset after that record.
        """
        if self.batch is None:
            return False
        if offset <= self.start:
            return True
        if self._records_end is None:
            try:
                self._records_end = 1 + max(
                    offset for offset, _, _, _ in record_heads(*open_batch(self.batch))
                )
            except (Malformed, ValueError):
                # Records that cannot be read are shown as they are; the reader says so.
                self._records_end = self.end
        return offset < self._records_end


class Range(Protocol):
    """A fact about the offsets from `start` up to, not including, `end`."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""


Kept = TypeVar("Kept", bound=Range)


class CacheBudget:
    """The ranges of all views, least recently used first, and their total size."""

    def __init__(self, limit_bytes: Callable[[], int]) -> None:
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[tuple[int, int], tuple[KeptRanges[Any], int]] = OrderedDict()
        self.used_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def limit_bytes(self) -> int:
        """The most memory that they may take."""
        return self._limit_bytes()

    def added(self, ranges: KeptRanges[Any], entry: Range) -> None:
        """Account for a new range, and evict older ones if need be."""
        self._entries[ranges.key, entry.start] = ranges, entry.size_bytes
        self.used_bytes += entry.size_bytes
        limit_bytes = self.limit_bytes
        while self.used_bytes > limit_bytes and len(self._entries) > 1:
            (_, start), (oldest, _) = next(iter(self._entries.items()))
            oldest.remove(start)

    def used(self, ranges: KeptRanges[Any], start: int) -> None:
        """Note that the range was read."""
        self._entries.move_to_end((ranges.key, start))

    def removed(self, ranges: KeptRanges[Any], start: int) -> None:
        """Account for a range that was removed."""
        self.used_bytes -= self._entries.pop((ranges.key, start))[1]


class KeptRanges(Generic[Kept]):
    """Ranges that do not overlap, by their offsets; `key` identifies their owner among all views."""

    __slots__ = ("_budget", "_entries", "_starts", "key")

    def __init__(self, key: int, budget: CacheBudget) -> None:
        self.key = key
        self._budget = budget
        self._starts: list[int] = []
        self._entries: list[Kept] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def limit_bytes(self) -> int:
        """The most memory that they may take, together with those of other owners."""
        return self._budget.limit_bytes

    @property
    def end(self) -> int:
        """The end of the last range; 0 if there is none."""
        return self._entries[-1].end if self._entries else 0

    def find(self, offset: int) -> Kept | None:
        """Return the range that holds the offset, if it is known."""
        place = bisect_right(self._starts, offset) - 1
        if place < 0 or self._entries[place].end <= offset:
            return None
        entry = self._entries[place]
        self._budget.used(self, entry.start)
        return entry

    def next_start(self, offset: int) -> int | None:
        """Return the start of the first range after the offset."""
        place = bisect_right(self._starts, offset)
        return self._starts[place] if place < len(self._starts) else None

    def add(self, entry: Kept) -> None:
        """Remember a range, and forget what was known of the same offsets."""
        assert entry.start < entry.end, "a range has one offset at least"
        self._clear(entry.start, entry.end)
        place = bisect_left(self._starts, entry.start)
        self._starts.insert(place, entry.start)
        self._entries.insert(place, entry)
        self._budget.added(self, entry)

    def _clear(self, start: int, end: int) -> None:
        place = max(0, bisect_right(self._starts, start) - 1)
        while place < len(self._entries) and self._starts[place] < end:
            if self._entries[place].end > start:
                self.remove(self._starts[place])
            else:
                place += 1

    def forget_before(self, offset: int) -> None:
        """Drop the ranges whose records are deleted."""
        while self._entries and self._entries[0].end <= offset:
            self.remove(self._starts[0])

    def forget_below(self, offset: int) -> None:
        """Drop the ranges that begin below the offset."""
        while self._starts and self._starts[0] < offset:
            self.remove(self._starts[0])

    def remove(self, start: int) -> None:
        """Forget the range that begins there."""
        place = bisect_left(self._starts, start)
        del self._starts[place]
        del self._entries[place]
        self._budget.removed(self, start)

    def clear(self) -> None:
        """Forget everything."""
        while self._starts:
            self.remove(self._starts[-1])


class EvaluatedRanges(KeptRanges[Evaluated]):
    """The ranges known of one partition of a view."""

    __slots__ = ()

    def add(self, entry: Evaluated) -> None:
        """Remember a range; join neighbours that show nothing."""
        if entry.batch is None:
            self._clear(entry.start, entry.end)
            entry = self._joined(entry)
        super().add(entry)

    def add_nothing(self, start: int, end: int) -> Evaluated:
        """Remember that nothing is shown of these offsets; cheap if the last range shows nothing either."""
        last = self._entries[-1] if self._entries else None
        if last is None or last.batch is not None or last.end != start:
            last = Evaluated(start, end, None)
            self.add(last)
        last.end = end
        return last

    def _joined(self, entry: Evaluated) -> Evaluated:
        """Return the range joined with those of its neighbours that show nothing."""
        start, end = entry.start, entry.end
        place = bisect_left(self._starts, start)
        if place < len(self._entries) and self._entries[place].batch is None and self._starts[place] == end:
            end = self._entries[place].end
            self.remove(self._starts[place])
        if place and self._entries[place - 1].batch is None and self._entries[place - 1].end == start:
            start = self._starts[place - 1]
            self.remove(start)
        return Evaluated(start, end, None)
