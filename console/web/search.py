"""A search: the records of some partitions that fulfil a condition, by the views' own evaluator.

Whole batches are fetched as they are stored, and evaluated here: the broker only sends bytes.  The newest are
looked for backwards, in windows of offsets that grow as long as each takes little time; the oldest forwards.
What a page has looked at is told by positions, from which the next page goes on: nothing is left out, and
nothing is shown twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import Final

from console.client import Trouble
from console.fetcher import Fetcher
from console.link import LinkLost
from console.web.looks import Look, RecordRow
from console.web.record_rows import Place
from console.web.search_bounds import Bounds
from protocol.record_reader import Record, iter_records
from protocol.records import read_batch_header
from views.evaluator import Evaluator
from views.filtering import Filtered, Limits, filter_steps
from views.plan import UnfitPlan
from views.unfit import unfit_steps

FIRST_WINDOW: Final = 25
"""A value may have 1 MiB: it is not known beforehand how much a window is."""
WINDOW_MAX: Final = 1 << 18
WINDOW_SECONDS: Final = 0.3
POLL_MS: Final = 500
LIMITS: Final = Limits(clock_ns=time.monotonic_ns)
"""One statement may take a thousand times as long for a record as another: the clock cuts the slices."""


@dataclass(slots=True)
class SearchFound:
    """The result of a search, and where each partition goes on."""

    rows: list[RecordRow] = field(default_factory=list)
    next: dict[Place, int] = field(default_factory=dict)
    looked: int = 0
    """Offsets of the range that have been looked at, those of earlier pages included."""
    total: int = 0
    """Offsets of the whole range."""
    matched: int = 0
    """Records that were found, those that are not on the page included."""
    unfit: int = 0
    batch_bytes: int = 0
    """The size of the batches that were looked at."""
    matched_bytes: int = 0
    """The size of what a reader of the view would receive of them."""
    more: bool = False
    cut_short: bool = False
    stuck: bool = False
    """Whether there was no time for even one batch: going on would not help."""


@dataclass(slots=True)
class _Window:
    """The matches between two offsets of each partition."""

    rows: dict[Place, deque[RecordRow]]
    reached: dict[Place, int]
    matched: dict[Place, int]


class Search:
    """A search over one topic; used for one page."""

    def __init__(
        self,
        bootstrap: str,
        evaluator: Evaluator,
        look: Look,
        bounds: Bounds,
        *,
        count: int,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare a search; `count`: the rows of the page."""
        self._bootstrap = bootstrap
        self._evaluator = evaluator
        self._look = look
        self._bounds = bounds
        self._count = count
        self._wait = wait
        self._found = SearchFound()
        self._trouble = Trouble()

    def newest(
        self, starts: Mapping[Place, int], ends: Mapping[Place, int], below: Mapping[Place, int]
    ) -> SearchFound:
        """Look backwards from `below`, as far as the starts; `ends` are those of the whole range.

        Raises: CommandError.
        """
        found, low, step = self._found, dict(below), FIRST_WINDOW
        kept: dict[Place, deque[RecordRow]] = {place: deque() for place in below}
        matched = dict.fromkeys(below, 0)
        while pending := [place for place in low if low[place] > starts[place]]:
            if self._bounds.spent():
                found.cut_short = True
                break
            began = self._bounds.clock()
            begins = {place: max(starts[place], low[place] - step) for place in pending}
            window = self._window(begins, {place: low[place] for place in pending}, first=False)
            for place in pending:
                if window.reached[place] >= low[place]:  # else there would be a gap
                    kept[place].extendleft(
                        islice(reversed(window.rows[place]), self._count - len(kept[place]))
                    )
                    matched[place] += window.matched[place]
                    low[place] = begins[place]
            if sum(map(len, kept.values())) >= self._count:
                self._bounds.page_is_full()
            if self._bounds.clock() - began < WINDOW_SECONDS:
                step = min(4 * step, WINDOW_MAX)
        columns = {place: list(reversed(rows)) for place, rows in kept.items()}
        shown = self._choose(columns, lambda row: -row.timestamp_ms)
        for place, rows in columns.items():
            whole = shown[place] == matched[place]
            last = rows[shown[place] - 1].offset if shown[place] else below[place]
            found.next[place] = low[place] if whole else last
        found.looked = sum(ends[place] - low[place] for place in low)
        found.stuck = found.cut_short and low == dict(below)
        return self._told(starts, ends, matched, any(found.next[place] > starts[place] for place in low))

    def oldest(
        self, starts: Mapping[Place, int], ends: Mapping[Place, int], begins: Mapping[Place, int]
    ) -> SearchFound:
        """Look forwards from `begins`, as far as the ends; `starts` are those of the whole range.

        Raises: CommandError.
        """
        found = self._found
        window = self._window(begins, ends, first=True)
        found.cut_short = any(window.reached[place] < ends[place] for place in begins)
        columns = {place: list(rows) for place, rows in window.rows.items()}
        shown = self._choose(columns, lambda row: row.timestamp_ms)
        for place, rows in columns.items():
            whole = shown[place] == window.matched[place]
            last = rows[shown[place] - 1].offset + 1 if shown[place] else begins[place]
            found.next[place] = window.reached[place] if whole else last
        found.looked = sum(window.reached[place] - starts[place] for place in begins)
        found.stuck = found.cut_short and window.reached == dict(begins)
        return self._told(
            starts, ends, window.matched, any(found.next[place] < ends[place] for place in begins)
        )

    def _choose(
        self, columns: Mapping[Place, list[RecordRow]], key: Callable[[RecordRow], int]
    ) -> dict[Place, int]:
        """Take the first rows of all partitions; return how many of each that are: its first ones."""
        self._found.rows = list(islice(merge(*columns.values(), key=key), self._count))
        shown = dict.fromkeys(columns, 0)
        places = {place.partition: place for place in columns}
        for row in self._found.rows:
            shown[places[row.partition]] += 1
        return shown

    def _told(
        self, starts: Mapping[Place, int], ends: Mapping[Place, int], matched: Mapping[Place, int], more: bool
    ) -> SearchFound:
        found = self._found
        if found.stuck and self._trouble.seen:
            raise LinkLost("the broker went away during the search")
        found.total = sum(ends[place] - starts[place] for place in starts)
        found.matched = sum(matched.values())
        found.more = more
        return found

    def _window(self, begins: Mapping[Place, int], ends: Mapping[Place, int], *, first: bool) -> _Window:
        """Look at what lies between two offsets, and keep the first or the last matches of each partition."""
        window = _Window(
            {place: deque(maxlen=None if first else self._count) for place in begins},
            {place: min(begins[place], ends[place]) for place in begins},
            dict.fromkeys(begins, 0),
        )
        fetcher = Fetcher(
            self._bootstrap, begins, ends=ends, read_committed=True, trouble=self._trouble, wait=self._wait
        )
        try:
            while any(window.reached[place] < ends[place] for place in begins) and not self._bounds.spent():
                polled = fetcher.poll_batches(POLL_MS)
                for place, (batches, _) in polled.items():
                    for batch in batches:
                        if self._bounds.spent():
                            return window
                        self._look_at(window, place, batch, begins[place], ends[place], first=first)
                if self._bounds.spent():
                    return window  # perhaps in the middle of the last batch
                # What no client sees, such as markers of transactions, has been passed, too.
                for place in begins:
                    window.reached[place] = max(
                        window.reached[place], min(fetcher.position(place), ends[place])
                    )
                if first and sum(map(len, window.rows.values())) >= self._count:
                    self._bounds.page_is_full()
        finally:
            fetcher.close()
        return window

    def _look_at(
        self, window: _Window, place: Place, batch: memoryview, begin: int, end: int, *, first: bool
    ) -> None:
        header = read_batch_header(batch)
        if header.base_offset >= end:
            return
        made = self._evaluate(batch, place.partition)
        if made is None:
            return
        self._bounds.take(header.record_count)
        if begin <= header.base_offset:  # a batch lies in the window that has its beginning
            self._found.unfit += made.unfit
            self._found.batch_bytes += len(batch)
            self._found.matched_bytes += len(made.batch or b"")
        rows = window.rows[place]
        inside = begin <= header.base_offset and header.last_offset < end
        if first and inside and len(rows) >= self._count:
            window.matched[place] += made.matched
        elif made.batch is not None:
            records = _between(list(iter_records(made.batch)), begin, end)
            window.matched[place] += len(records)
            room = max(0, self._count - len(rows))
            wanted = records[:room] if first else records[-self._count :]
            rows.extend(self._look.row(place.partition, record) for record in wanted)
        window.reached[place] = min(header.last_offset + 1, end)

    def _evaluate(self, batch: memoryview, partition: int) -> Filtered | None:
        """Return what matches in a batch, None when that takes longer than there is time."""
        evaluate = unfit_steps if isinstance(self._evaluator.plan, UnfitPlan) else filter_steps
        steps = evaluate(self._evaluator, batch, partition=partition, limits=LIMITS)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                made: Filtered = done.value
                return made
            if self._bounds.spent():
                return None


def _between(records: list[Record], begin: int, end: int) -> list[Record]:
    if records and (records[0].offset < begin or records[-1].offset >= end):
        return [record for record in records if begin <= record.offset < end]
    return records
