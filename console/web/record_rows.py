"""Records for a page: the newest first, or the oldest, of some partitions; read in whole batches, within
bounds.

Offsets alone do not say where records are: views, compaction and transactions leave gaps.  So the newest ones
are looked for backwards in steps that widen, and what was looked at is told, so that the next page goes on
from there.  Values are cut as they are read: a page of them must fit into memory.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import Final, NamedTuple

from console.fetcher import Fetcher
from console.web.looks import Look, RecordRow
from console.web.masks import NO_MASK, TopicMask
from protocol.record_reader import Record

READ_SECONDS: Final = 5.0
READ_BYTES: Final = 64 << 20
FIRST_STEP: Final = 25
WIDER: Final = 8
POLL_MS: Final = 500


class Place(NamedTuple):
    """A partition."""

    topic: str
    partition: int


@dataclass(slots=True)
class Found:
    """Records in the order of the page, and where each partition goes on."""

    rows: list[RecordRow] = field(default_factory=list)
    next: dict[Place, int] = field(default_factory=dict)
    """Newest first: what is below comes next; oldest first: what is at or above."""
    more: bool = False
    cut_short: bool = False
    """Whether reading was stopped by its bounds, and not because the page is full."""


class Budget:
    """The bounds of one page's reading."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends = clock() + READ_SECONDS
        self._bytes_left = READ_BYTES

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read."""
        return self._bytes_left <= 0 or self._clock() > self._ends

    def take(self, records: Iterable[Record]) -> None:
        """Count what was read."""
        for record in records:
            self._bytes_left -= 100 + len(record.key or b"") + len(record.value or b"")


def newest(
    bootstrap: str,
    starts: Mapping[Place, int],
    below: Mapping[Place, int],
    count: int,
    budget: Budget,
    look: Look = Look(),  # noqa: B008  (it is never changed)
) -> Found:
    """Return the last records below an offset in each partition, the newest first.  Raises: CommandError."""
    known: dict[Place, deque[RecordRow]] = {place: deque() for place in below}
    low = dict(below)
    step, found = max(1, min(FIRST_STEP, 4 * count // max(1, len(below)))), Found()
    while pending := [place for place in low if low[place] > starts[place] and len(known[place]) < count]:
        if budget.spent:
            found.cut_short = True
            break
        begins = {place: max(starts[place], low[place] - step) for place in pending}
        rows, reached = _read(
            bootstrap, begins, {place: low[place] for place in pending}, count, budget, look
        )
        for place in pending:
            # A step that was not read to its end would leave a gap.
            if reached[place] >= low[place]:
                known[place].extendleft(reversed(rows[place]))
                low[place] = begins[place]
        step *= WIDER
    columns = {place: list(reversed(rows))[:count] for place, rows in known.items()}
    found.rows = list(islice(merge(*columns.values(), key=lambda row: -row.timestamp_ms), count))
    oldest = _extremes(found.rows, min)
    for place, rows_there in columns.items():
        taken = oldest.get(place.partition)
        whole = not rows_there or taken == rows_there[-1].offset
        if whole and len(known[place]) <= count:
            found.next[place] = low[place] if taken is None or len(rows_there) < count else taken
        else:
            found.next[place] = below[place] if taken is None else taken
    found.more = any(found.next[place] > starts[place] for place in below)
    return found


def oldest(
    bootstrap: str,
    begins: Mapping[Place, int],
    ends: Mapping[Place, int],
    count: int,
    budget: Budget,
    look: Look = Look(),  # noqa: B008  (it is never changed)
) -> Found:
    """Return the first records from an offset on in each partition, the oldest first.  Raises:
    CommandError."""
    rows, reached = _read(bootstrap, begins, ends, count, budget, look, first=True)
    found = Found(cut_short=budget.spent)
    found.rows = list(islice(merge(*rows.values(), key=lambda row: row.timestamp_ms), count))
    newest_shown = _extremes(found.rows, max)
    for place, there in rows.items():
        taken = newest_shown.get(place.partition)
        whole = not there or taken == there[-1].offset
        if whole:
            found.next[place] = reached[place] if len(there) < count else there[-1].offset + 1
        else:
            found.next[place] = begins[place] if taken is None else taken + 1
    found.more = any(found.next[place] < ends[place] for place in begins)
    return found


def _extremes(rows: Iterable[RecordRow], choose: Callable[[int, int], int]) -> dict[int, int]:
    """Return the lowest or highest offset of each partition among rows."""
    found: dict[int, int] = {}
    for row in rows:
        found[row.partition] = choose(found.get(row.partition, row.offset), row.offset)
    return found


def _read(
    bootstrap: str,
    begins: Mapping[Place, int],
    ends: Mapping[Place, int],
    count: int,
    budget: Budget,
    look: Look,
    *,
    first: bool = False,
) -> tuple[dict[Place, list[RecordRow]], dict[Place, int]]:
    """Return the records between two offsets, the last `count` of each partition (`first`: the first ones),
    and
    the offsets up to which was read.

    Raises: CommandError.
    """
    kept: defaultdict[Place, deque[RecordRow]] = defaultdict(lambda: deque(maxlen=None if first else count))
    fetcher = Fetcher(bootstrap, begins, ends=ends)
    try:
        left = {place for place in begins if begins[place] < ends[place]}
        while left and not budget.spent:
            for place, records in fetcher.poll(POLL_MS).items():
                budget.take(records)
                kept[place].extend(
                    look.row(place.partition, record) for record in records if record.offset < ends[place]
                )
            for place in list(left):
                if fetcher.position(place) >= ends[place] or (first and len(kept[place]) >= count):
                    fetcher.pause(place)
                    left.discard(place)
        reached = {place: min(fetcher.position(place), ends[place]) for place in begins}
    finally:
        fetcher.close()
    return {place: list(islice(kept[place], count)) for place in begins}, reached


def whole_record(
    bootstrap: str, place: Place, offset: int, end: int, budget: Budget, mask: TopicMask = NO_MASK
) -> Record | None:
    """Return the record at an offset, or the first one after it; None if there is none below `end`."""
    fetcher = Fetcher(bootstrap, {place: offset}, ends={place: end})
    try:
        while fetcher.position(place) < end and not budget.spent:
            for records in fetcher.poll(POLL_MS).values():
                for record in records:
                    if record.offset >= offset:
                        return mask.record(record)
    finally:
        fetcher.close()
    return None
