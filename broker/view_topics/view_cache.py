"""What views have found out about their sources' records, so that nobody has to look a second time.

`KeptRanges` keeps what is known of ranges of offsets that do not overlap, whatever it is.  A partition's
`EvaluatedRanges` says of them what the view shows of them: one batch, or nothing.
Neighbours that show nothing become one range, so that a view which shows 1 record in 100,000 keeps next to no
memory, and a reader that stands still because its client moves only over records costs next to nothing.
`CacheBudget` bounds the memory of all views of the broker together: what was not used for longest goes first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from protocol.record_reader import iter_records

ENTRY_BYTES: Final = 300
"""What a range takes in memory besides its batch."""


@dataclass(slots=True)
class Evaluated:
    """What a view shows of the offsets from `start` up to, not including, `end`: one batch, or nothing."""

    start: int
    end: int
    batch: bytes | None
    _records_end: int | None = field(default=None, compare=False)

    @property
    def size_bytes(self) -> int:
        """Memory that the range takes."""
        return ENTRY_BYTES + (0 if self.batch is None else len(self.batch))

    def shows_from(self, offset: int) -> bool:
        """Whether any record of the batch lies at the offset or behind it.

        A reader may stand behind the last record already: clients that do not look at the batch's own end go
        on at the offset after it.
        """
        if self.batch is None:
            return False
        if offset <= self.start:
            return True
        if self._records_end is None:
            self._records_end = 1 + max(record.offset for record in iter_records(self.batch))
        return offset < self._records_end


class Range(Protocol):
    """What is known of the offsets from `start` up to, not including, `end`."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """Memory that it takes."""


Kept = TypeVar("Kept", bound=Range)


class CacheBudget:
    """The ranges of all views, least recently used first, and what they weigh together."""

    def __init__(self, limit_bytes: Callable[[], int]) -> None:
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[tuple[int, int], tuple[KeptRanges[Any], int]] = OrderedDict()
        self.used_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def limit_bytes(self) -> int:
        """What they may weigh."""
        return self._limit_bytes()

    def added(self, ranges: KeptRanges[Any], entry: Range) -> None:
        """Account for a new range; older ones may go."""
        self._entries[ranges.key, entry.start] = ranges, entry.size_bytes
        self.used_bytes += entry.size_bytes
        limit_bytes = self.limit_bytes
        while self.used_bytes > limit_bytes and len(self._entries) > 1:
            (_, start), (oldest, _) = next(iter(self._entries.items()))
            oldest.remove(start)

    def used(self, ranges: KeptRanges[Any], start: int) -> None:
        """Somebody has read the range."""
        self._entries.move_to_end((ranges.key, start))

    def removed(self, ranges: KeptRanges[Any], start: int) -> None:
        """The range is gone."""
        self.used_bytes -= self._entries.pop((ranges.key, start))[1]


class KeptRanges(Generic[Kept]):
    """Ranges that do not overlap, by their offsets; `key` is their keeper's number among all views."""

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
        """What they may weigh, with those of others."""
        return self._budget.limit_bytes

    @property
    def end(self) -> int:
        """Where the last range ends; 0 when nothing is known."""
        return self._entries[-1].end if self._entries else 0

    def find(self, offset: int) -> Kept | None:
        """The range that holds the offset, if it is known."""
        place = bisect_right(self._starts, offset) - 1
        if place < 0 or self._entries[place].end <= offset:
            return None
        entry = self._entries[place]
        self._budget.used(self, entry.start)
        return entry

    def next_start(self, offset: int) -> int | None:
        """Where the first range behind the offset begins."""
        place = bisect_right(self._starts, offset)
        return self._starts[place] if place < len(self._starts) else None

    def add(self, entry: Kept) -> None:
        """Remember a range; what was known of the same offsets is forgotten."""
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
        """Remember a range; neighbours that show nothing become one."""
        if entry.batch is None:
            self._clear(entry.start, entry.end)
            entry = self._joined(entry)
        super().add(entry)

    def add_nothing(self, start: int, end: int) -> Evaluated:
        """Remember that nothing is shown of these offsets; cheap where the last range shows nothing too."""
        last = self._entries[-1] if self._entries else None
        if last is None or last.batch is not None or last.end != start:
            last = Evaluated(start, end, None)
            self.add(last)
        last.end = end
        return last

    def _joined(self, entry: Evaluated) -> Evaluated:
        """The range together with its neighbours, as far as they show nothing."""
        start, end = entry.start, entry.end
        place = bisect_left(self._starts, start)
        if place < len(self._entries) and self._entries[place].batch is None and self._starts[place] == end:
            end = self._entries[place].end
            self.remove(self._starts[place])
        if place and self._entries[place - 1].batch is None and self._entries[place - 1].end == start:
            start = self._starts[place - 1]
            self.remove(start)
        return Evaluated(start, end, None)
