"""Views over one topic: `SELECT … FROM topic WHERE …` and `STABLE topic WHERE …`.

Partition i of the view shows partition i of its source; a record keeps its offset.  Who reads, who waits and
what is remembered: broker/scanned_view.py.  Only what is decided is shown: up to the last stable offset,
without the records of aborted transactions.  A view that keeps everything hands out its source's batches as
they are stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.scanned_view import SCAN_BYTES, ScannedPartition, is_aborted
from broker.slices import Steps
from broker.view_cache import Evaluated
from broker.view_hub import TOGETHER_MIN, SliceBudget, ViewHub
from broker.view_partition import ViewPartition, ViewRead
from broker.view_routing import Route, catch_up_together, route_of
from broker.view_stats import ViewCounters
from protocol.records import BatchHeader, iter_batches, read_batch_header
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.topics import Topic
    from views.evaluator import Evaluator
    from views.tag_history import PartitionTags, TagHistory
    from views.tags import KeyTags
    from wal.reader import ReadResult

EXTENTS_PER_LOOK: Final = 1_000
"""Extents passed over at a time by their times and offsets alone: about 1 ms."""

EARLIEST_MS: Final = -(2**63)


class QueryPartition(ScannedPartition):
    """One partition of a view over one topic."""

    __slots__ = ("_busy", "_counters", "_evaluator", "_tags", "route")

    def __init__(self, hub: ViewHub, topic: Topic, index: int, source: Topic) -> None:
        partition = hub.broker.topics.partition(source, index)
        super().__init__(
            hub,
            topic,
            index,
            vnode=partition.vnode,
            stream_id=partition.stream_id,
            source_key=partition.stream_id,
        )
        self._evaluator: Evaluator | None = None
        # What is known of the keys' tags, where the view reads tags.
        self._tags: PartitionTags | None = None
        # What it asks of every record, if it is one answer; known with the evaluator.
        self.route: Route | None = None
        self._counters: ViewCounters | None = None
        # The first offsets of batches that somebody is evaluating in several slices.
        self._busy: set[int] = set()

    @property
    def evaluator(self) -> Evaluator:
        """What the view does with a batch; made when it is first read, shared by its partitions."""
        if self._evaluator is None:
            self._evaluator = self.hub.evaluator(self.topic)
            self.route = route_of(self._evaluator.plan, self.hub.route_number)
            if "tags" in self._evaluator.plan.needs:
                from views.tag_history import PartitionTags

                self._tags = PartitionTags()
        return self._evaluator

    @property
    def counters(self) -> ViewCounters:
        """What the view has done since the start."""
        if self._counters is None:
            self._counters = self.hub.counters_of(self.topic)
        return self._counters

    def steps(self, read: ViewRead) -> Iterator[None]:
        """As for every view; its evaluator is made now, not when records come."""
        if self.evaluator.plan.bounds.is_empty:
            read.position = self.high_watermark
            return iter(())
        return super().steps(read)

    def group_key(self) -> Hashable:
        """Its stream, what it asks of every record, and where it stands, when it asks for one answer."""
        if self.evaluator.plan.keeps_all or self.route is None:
            return None
        if self.ranges.end > self.seen:
            self.pass_known()
        return self.stream_id, self.route.number, self.seen

    def catch_up_with(self, members: Sequence[ViewPartition], budget: SliceBudget) -> Iterator[None]:
        """Look at what is new for all of them, once."""
        assert self.route is not None
        evaluator = self.hub.route_evaluator(self.evaluator.plan, self.route.expression)
        views = [one for one in members if isinstance(one, QueryPartition)]
        yield from catch_up_together(views, evaluator, budget)

    def leaves_to_others(self, read: ViewRead) -> bool:
        """Whether many views wait for the news that the read has come to: they are looked at together."""
        if not read.may_wait or self.route is None or len(self._source.watching) < TOGETHER_MIN:
            return False
        return read.position >= self._source.settled_end(self.high_watermark, read.now_ms)

    def stored(self, offset: int, max_bytes: int, *, minimum_one: bool = True) -> ReadResult | None:
        """What lies at the offset, if the view keeps everything and nothing of it is undecided or aborted."""
        if not self.evaluator.plan.keeps_all:
            return None
        log, end = self.vnode.log, self.high_watermark
        if log.high_watermark(self.stream_id) != end:
            return None
        if log.producers(self.stream_id).aborted_between(offset, end):
            return None
        return log.read(self.stream_id, offset, max(max_bytes, 0), minimum_one=minimum_one)

    def look(self, offset: int, budget: SliceBudget) -> Iterator[None]:
        """Evaluate some of the source from `offset` on, at least the range that holds it.

        Where tags count, their keys' earlier records are looked at first.
        """
        self.ranges.forget_before(self.log_start)
        history: TagHistory | None = None
        if self._tags is not None:
            history, offset = self._tags.at(offset, self.log_start)
        elif (reached := self._passed_over(offset)) > offset:
            self.ranges.add(Evaluated(offset, reached, None))
            if budget.spend(records=0, size_bytes=0):
                yield
            return
        end = self.high_watermark
        result = self.vnode.log.read(self.stream_id, offset, SCAN_BYTES)
        aborted = self.vnode.log.producers(self.stream_id).aborted_between(offset, result.next_offset)
        data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
        for batch in iter_batches(data):
            header = read_batch_header(batch)
            if header.base_offset >= end:
                data = b""
                break
            if header.base_offset in self._busy:
                yield  # somebody is at it, and gives the others their turn
                break
            start, offset = min(offset, header.base_offset), header.last_offset + 1
            is_learned = history is None or offset <= history.end
            if self.ranges.find(max(start, header.base_offset)) is None or not is_learned:
                is_hidden = header.is_control or is_aborted(header, aborted)
                yield from self._evaluate(batch, header, start, history, is_hidden=is_hidden)
                if budget.spend(records=header.record_count, size_bytes=header.size_bytes):
                    yield
        if offset < end and not data:
            # Nothing is stored any more from here on: compaction has removed it.
            self.ranges.add(Evaluated(offset, end, None))
            offset = end
        if history is not None and not data:
            history.passed(offset)

    def _passed_over(self, offset: int) -> int:
        """The offset up to which no record can match, by the times and offsets of the extents alone."""
        from views.bounds import EVERYTHING, extent_may_match

        plan = self.evaluator.plan
        if plan.bounds is EVERYTHING:
            return offset
        end = self.high_watermark
        for count, extent in enumerate(self.vnode.log.extents(self.stream_id, offset)):
            last = extent.next_offset - 1
            if (
                count >= EXTENTS_PER_LOOK
                or extent.next_offset > end
                or extent_may_match(
                    plan, EARLIEST_MS, extent.max_timestamp, min_offset=extent.base_offset, max_offset=last
                )
            ):
                break
            offset = extent.next_offset
        return offset

    def _evaluate(
        self,
        batch: memoryview,
        header: BatchHeader,
        start: int,
        history: TagHistory | None,
        *,
        is_hidden: bool,
    ) -> Steps:
        shown: bytes | None = None
        if not is_hidden:
            self._busy.add(header.base_offset)
            try:
                shown = yield from self._shown(batch, header, history)
            finally:
                self._busy.discard(header.base_offset)
        elif history is not None:
            history.passed(header.last_offset + 1)
        self.ranges.add(Evaluated(start, header.last_offset + 1, shown))

    def filtered(self, batch: memoryview, tags: KeyTags | None) -> Steps:
        """What the view shows of a batch, in slices; ends with a `Filtered`."""
        from views.filtering import filter_steps

        return filter_steps(self.evaluator, batch, tags=tags, partition=self.index)

    def _shown(self, batch: memoryview, header: BatchHeader, history: TagHistory | None) -> Steps:
        tags = None if history is None else history.open(header.base_offset)
        is_done = False
        try:
            found = yield from in_pairs(self.filtered(batch, tags))
            is_done = True
        finally:
            # Whoever asked may have gone: the next one looks at the batch from its begin.
            if tags is not None and not is_done:
                tags.abandon()
        if tags is not None:
            tags.commit(header.last_offset + 1)
        counters = self.counters
        counters.scanned += found.scanned
        counters.matched += found.matched
        counters.unfit += found.unfit
        return found.batch


def in_pairs(steps: Steps) -> Steps:
    """The same steps, with a rest after every second one only: one step is all that most batches take."""
    while True:
        try:
            next(steps)
            next(steps)
        except StopIteration as end:
            return end.value
        yield


def open_partition(hub: ViewHub, topic: Topic, index: int) -> QueryPartition:
    """Make partition `index` of a view over one topic."""
    assert topic.view is not None
    source = hub.broker.catalogue.by_id[UUID(hex=topic.view.source_id)]
    return QueryPartition(hub, topic, index, source)
