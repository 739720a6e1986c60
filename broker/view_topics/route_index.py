"""Many views over one partition that ask the same of each record, each wanting another answer.

A thousand views `… WHERE device = 'd1' …`, `… WHERE device = 'd2' …` would each evaluate every record.  They
share a route, the expression `device` (broker/view_topics/view_routing.py), and this index of its values.
Each record is routed once for all of them, by the first fetch that needs it, and only the view whose value
came out evaluates the record, with all of its condition.

    batches --route--> IndexedRange: offsets start..end, {value: batches with it}
    reader of a view at an offset: the range with the offset, the batches of the view's value in it
    fetches that wait:             the index follows the source, and wakes the views of the values it finds

A view whose value did not occur costs nothing, whether a fetch waits for it or not.  Ranges are kept within
half of the memory of all views (broker/view_topics/view_cache.py); an evicted one is made anew when a fetch
needs it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from broker.loop.slices import Until, WaitingSteps, in_pairs
from broker.storage.parts import joined_in_thread
from broker.view_topics.opening import with_opened
from broker.view_topics.scanned_view import SCAN_BYTES, is_aborted
from broker.view_topics.view_cache import KeptRanges
from broker.view_topics.view_compaction import CompactedSource
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError

if TYPE_CHECKING:
    from broker.storage.vnode import Vnode
    from broker.view_topics.view_cache import EvaluatedRanges
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_slices import SliceBudget
    from broker.view_topics.view_stats import ViewCounters
    from views.filtering import Filtered
    from views.router import RoutedBatch, Router

TOGETHER_MIN: Final = 8
"""The fewest views that share an index; fewer are quicker one by one."""

JOIN_BYTES: Final = 2 << 20
"""The size up to which a range absorbs the next ones: a thousand readers pass over each range."""

JOINED_MIN: Final = 8
"""The number of such ranges that must fit in memory."""

NEWS_MAX: Final = 16
"""Reads of the source, 4 MiB in all, before waiting fetches are told of what was found."""

UNITS_OF_WAKING: Final = 50
"""The cost of answering a fetch, in the units of `SliceBudget`."""

RANGE_BYTES: Final = 1_000
VALUE_BYTES: Final = 150
"""Memory of a range, and of each value in it, besides its batches."""


@dataclass(slots=True)
class IndexedRange:
    """The values of the records from `start` up to, not including, `end`."""

    start: int
    end: int
    batches: dict[Any, list[RoutedBatch]] = field(default_factory=dict)
    size_bytes: int = RANGE_BYTES
    unfit: list[tuple[int, int]] = field(default_factory=list)
    """(offset after the batch, records that did not fit) for batches that had any."""

    def add(self, routed: RoutedBatch) -> None:
        """Add the next batch."""
        for value in routed.places:
            self.batches.setdefault(value, []).append(routed)
        if routed.unfit:
            self.unfit.append((routed.header.last_offset + 1, routed.unfit))
        self.size_bytes += routed.size_bytes + VALUE_BYTES * len(routed.places)

    def extend(self, later: IndexedRange) -> None:
        """Add the range that follows directly."""
        self.end = later.end
        for value, batches in later.batches.items():
            self.batches.setdefault(value, []).extend(batches)
        self.unfit += later.unfit
        self.size_bytes += later.size_bytes - RANGE_BYTES

    def first(self, value: object, offset: int) -> RoutedBatch | None:
        """Return the first batch with records of the value that ends at the offset or later."""
        batches = self.batches.get(value)
        if batches is None or batches[-1].header.last_offset < offset:
            return None
        return batches[bisect_left(batches, offset, key=_last_offset)]

    def unfit_between(self, start: int, end: int) -> int:
        """Return the number of records that did not fit, in batches that end between the offsets."""
        return sum(number for at, number in self.unfit if start < at <= end) if self.unfit else 0


def _last_offset(routed: RoutedBatch) -> int:
    return routed.header.last_offset


class IndexedRanges(KeptRanges[IndexedRange]):
    """The ranges of an index; small neighbours are joined, or a reader would pass over thousands of them."""

    __slots__ = ()

    def add(self, entry: IndexedRange) -> None:
        """Remember a range, as part of the preceding one if both are small."""
        before = self.find(entry.start - 1) if entry.start else None
        if before is not None and before.end == entry.start and self._are_small(before, entry):
            self.remove(before.start)
            before.extend(entry)
            entry = before
        super().add(entry)

    def _are_small(self, *ranges: IndexedRange) -> bool:
        return sum(entry.size_bytes for entry in ranges) <= min(JOIN_BYTES, self.limit_bytes // JOINED_MIN)


class RoutedView(Protocol):
    """A partition of a view, as the index sees it."""

    seen: int
    """The offset up to which the fetches that wait have been told."""

    @property
    def vnode(self) -> Vnode:
        """The vnode of the view's source."""

    @property
    def stream_id(self) -> int:
        """The stream of the view's source."""

    @property
    def index(self) -> int:
        """The number of the partition."""

    @property
    def wait_key(self) -> int:
        """The key under which fetches on the view are parked."""

    @property
    def ranges(self) -> EvaluatedRanges:
        """The ranges known of the view."""

    @property
    def counters(self) -> ViewCounters:
        """The counters of the view."""

    def filtered_now(self, batch: memoryview) -> Filtered | None:
        """Find what the view shows of a batch of a few records in one go; None: that may take long."""

    def filtered(self, batch: memoryview, tags: None) -> WaitingSteps:
        """Find what the view shows of a batch, in slices; return a `Filtered` at the end."""

    def is_awaited(self) -> bool:
        """Whether a fetch waits for the view."""

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        """Evaluate new records for the fetches that wait."""

    def catch_up_to(self, end: int, budget: SliceBudget) -> WaitingSteps:
        """Evaluate new records up to `end`, then wake the fetches."""


class RouteIndex:
    """The values of one route on one partition of the source, and the views that wait for them."""

    def __init__(
        self,
        host: ViewHost,
        router: Callable[[], Router],
        *,
        vnode: Vnode,
        stream_id: int,
        partition: int,
        closed: Callable[[], object],
    ) -> None:
        """Make an index; it calls `closed` when the last view has left."""
        self.host = host
        self.wait_key = host.loop.waiters.new_key()
        self.ranges = IndexedRanges(self.wait_key, host.index_budget)
        # The offset up to which waiting fetches have been told of new records.
        self.tail = 0
        self._router = router
        self._closed = closed
        self._vnode, self._stream_id, self._partition = vnode, stream_id, partition
        # The first offsets of the ranges that are being made.
        self._busy: set[int] = set()
        self._compacted = CompactedSource(vnode, stream_id)
        # The open views by their values, their number, and those for which fetches may wait.
        self._views: dict[Any, list[RoutedView]] = {}
        self._count = 0
        self._waiting: dict[int, RoutedView] = {}

    # --- the views -------------------------------------------------------------------------------------

    def join(self, view: RoutedView, value: object) -> None:
        """Add an open view that asks for the value."""
        self._views.setdefault(value, []).append(view)
        self._count += 1

    def leave(self, view: RoutedView, value: object) -> None:
        """Remove a view that is closed."""
        self._views[value].remove(view)
        if not self._views[value]:
            del self._views[value]
        self._waiting.pop(view.wait_key, None)
        self._count -= 1
        if not self._count:
            self.ranges.clear()
            self._closed()

    @property
    def is_shared(self) -> bool:
        """Whether there are enough views to use the index."""
        return self._count >= TOGETHER_MIN

    # --- looking ---------------------------------------------------------------------------------------

    @property
    def compaction(self) -> int:
        """The last pass of compaction over the source; a range that was found before it is not to be used."""
        return self._compacted.compaction

    def find(self, offset: int) -> IndexedRange | None:
        """Return the range that holds the offset, if it is known and the source's batches are still there."""
        self._compacted.forget_replaced(self.ranges)
        return self.ranges.find(offset)

    def make(self, offset: int, budget: SliceBudget) -> Generator[Until | None, None, IndexedRange | None]:
        """Index some of the source from `offset` on, where nothing is known.

        None if another fetch does so, or if compaction has replaced what was read.

        Raises: OffsetOutOfRange, WalError, DiskError.
        """
        log, stream_id, compaction = self._vnode.log, self._stream_id, self.compaction
        self._compacted.forget_replaced(self.ranges)
        self.ranges.forget_before(log.log_start(stream_id))
        result = log.read(stream_id, offset, SCAN_BYTES)
        aborted = log.producers(stream_id).aborted_between(offset, max(result.next_offset, offset + 1))
        data = yield from joined_in_thread(result.parts, self.host.loop.scheduler.offload)
        if compaction != self.compaction or self.ranges.find(offset) is not None:
            return None
        known = self.ranges.next_start(offset)
        end = self.end if known is None else min(known, self.end)
        batches = [
            (batch, header)
            for batch in iter_batches(data)
            if (header := read_batch_header(batch)).base_offset < end
        ]
        # Where nothing is stored, compaction has removed it.
        start = min(offset, batches[0][1].base_offset) if batches else offset
        made = IndexedRange(start, batches[-1][1].last_offset + 1 if batches else end)
        if start in self._busy:
            yield None  # the fetch that is making the range yields in turn
            return None
        self._busy.add(start)
        try:
            for batch, header in batches:
                if not (header.is_control or is_aborted(header, aborted)):
                    made.add((yield from self._routed(batch)))
                    if budget.spend(records=header.record_count, size_bytes=header.size_bytes):
                        yield None
        finally:
            self._busy.discard(start)
        if compaction != self.compaction:
            return None
        self.ranges.add(made)
        return made

    def _routed(self, batch: memoryview) -> WaitingSteps:
        from views.router import route_steps

        router, limits = self._router(), self.host.limits
        steps_of = partial(route_steps, router, batch, partition=self._partition, limits=limits)
        steps = with_opened(self.host, batch, lambda content: in_pairs(steps_of(content=content)))
        return (yield from steps)

    @property
    def end(self) -> int:
        """The end of the decided records."""
        log, stream_id = self._vnode.log, self._stream_id
        end = log.high_watermark(stream_id)
        return log.producers(stream_id).last_stable_offset(end, log.log_start(stream_id))

    # --- waiting ---------------------------------------------------------------------------------------

    def watch(self, view: RoutedView) -> None:
        """Follow the source for a fetch that waits for the view, from the view's `seen` on."""
        if not self.is_awaited():
            self.tail = view.seen
        self._waiting[view.wait_key] = view
        if view.seen < self.tail:
            self.host.schedule(view)
        elif self.tail < self.end:
            self.host.schedule(self)

    def is_awaited(self) -> bool:
        """Whether a fetch waits for any of the views."""
        while self._waiting:
            view = next(iter(self._waiting.values()))
            if view.is_awaited():
                return True
            del self._waiting[view.wait_key]
        return False

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        """Index new records, and let the views of the values found wake their fetches."""
        while self.tail < self.end and self.is_awaited():
            news: list[IndexedRange] = []
            try:
                yield from self._look_ahead(news, budget)
            except OffsetOutOfRange:
                self.tail = self._vnode.log.log_start(self._stream_id)
            except (WalError, DiskError):
                # The fetches learn of it when their time is up: none may rely on the index any more.
                self._waiting.clear()
                return
            if news:
                told, self.tail = self.tail, news[-1].end
                yield from self._tell(news, told, budget)

    def _look_ahead(self, news: list[IndexedRange], budget: SliceBudget) -> WaitingSteps:
        """Collect many ranges after the tail before waking any fetch: waking costs more than indexing."""
        at = self.tail
        while at < self.end and len(news) < NEWS_MAX:
            found = self.find(at) or (yield from self.make(at, budget))
            if found is not None:
                news.append(found)
                at = found.end

    def _tell(self, news: list[IndexedRange], told: int, budget: SliceBudget) -> WaitingSteps:
        """Wake the fetches that wait for values in the ranges after `told`."""
        found: dict[int, RoutedView] = {}
        for entry in news:
            fewer = entry.batches if len(entry.batches) < len(self._views) else self._views
            for value in tuple(fewer):
                if value in self._views and entry.first(value, told) is not None:
                    found |= {view.wait_key: view for view in self._views[value]}
                if budget.spend_units(1):
                    yield None
        end = news[-1].end
        for wait_key, view in found.items():
            if wait_key in self._waiting and view.is_awaited():
                yield from view.catch_up_to(end, budget)
                if budget.spend_units(UNITS_OF_WAKING):
                    yield None
