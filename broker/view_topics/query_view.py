"""Views over one topic: `SELECT … FROM topic WHERE …` and `STABLE topic WHERE …`.

Partition i of the view shows partition i of its source; a record keeps its offset.  For reading, waiting and
caching see broker/view_topics/scanned_view.py.  Only decided records are shown: up to the last stable offset,
without those of aborted transactions.  A view that keeps everything hands out its source's batches as they
are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.errors import RequestError
from broker.loop.slices import Steps, Until, WaitingSteps, in_pairs, taken_in_threads
from broker.storage.partition import Counted
from broker.storage.parts import joined_in_thread
from broker.view_topics.framed_batches import filtered_framed
from broker.view_topics.opening import with_opened
from broker.view_topics.routed_reader import RoutedReader
from broker.view_topics.scanned_view import SCAN_BYTES, ScannedPartition, is_aborted, passed_over
from broker.view_topics.tag_teaching import teach
from broker.view_topics.view_cache import Evaluated
from broker.view_topics.view_compaction import CompactedSource
from broker.view_topics.view_host import ViewHost
from broker.view_topics.view_partition import ViewRead
from broker.view_topics.view_routing import route_of
from broker.view_topics.view_slices import SliceBudget
from broker.view_topics.view_stats import ViewCounters
from protocol.error_codes import ErrorCode
from protocol.records import BatchHeader, iter_batches, read_batch_header

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.storage.partition import Partition
    from broker.view_topics.inherited_tags import InheritedTags
    from views.evaluator import Evaluator
    from views.filtering import Filtered
    from views.opening import Opened
    from views.partition_tags import PartitionTags
    from views.plan import Plan
    from views.tag_history import Cut, TagHistory
    from views.tags import KeyTags
    from wal.reader import ReadResult

NOW_BYTES_MAX: Final = 64 << 10
"""Records that are more together are not evaluated in one go, however few they are."""

PAIRED_FROM: Final = 16
"""Statements with fewer records in their first slice yield after each slice: one record may fill it."""


class QueryPartition(ScannedPartition):
    """One partition of a view over one topic."""

    __slots__ = (
        "_busy",
        "_compacted",
        "_counters",
        "_filter",
        "_inherited",
        "_is_closed",
        "_noticed",
        "_shows_nothing",
        "_tags",
        "_topic",
        "is_identity",
        "routed",
    )

    def __init__(self, host: ViewHost, topic: Topic, index: int, source: Topic) -> None:
        partition = host.metadata.topics.partition(source, index)
        super().__init__(
            host,
            topic,
            index,
            vnode=partition.vnode,
            stream_id=partition.stream_id,
            source_key=partition.stream_id,
        )
        # views.filtering.filter_steps, set when the plan is known: importing it for each batch takes 1 µs.
        self._filter: Callable[..., Steps] | None = None
        # The known tags of keys, if the view reads tags.
        self._tags: PartitionTags | None = None
        # The tags that keys had in other partitions before the topic grew.
        self._inherited: InheritedTags | None = None
        self._topic = source
        # Whether records are shown as they are stored, and whether none is; set when the plan is known.
        self.is_identity = self._shows_nothing = False
        # The reader through an index shared with other views; set when the plan is known.
        self.routed: RoutedReader | None = None
        self._is_closed = False
        self._counters: ViewCounters | None = None
        self._compacted = CompactedSource(self.vnode, self.stream_id)
        self._noticed = self._compactions
        # The first offsets of batches that are being evaluated in several slices.
        self._busy: set[int] = set()

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator of batches, shared by the view's partitions; none keeps it, or it would stay."""
        found = self.host.evaluator(self.topic, self.definition)
        self._know(found.plan)
        return found

    def _know(self, plan: Plan) -> None:
        """Note what is asked all the time; what is known of keys, and shared, outlives the evaluator."""
        if self._filter is not None:
            return
        from views.filtering import filter_steps

        self._filter = filter_steps
        self.is_identity, self._shows_nothing = plan.is_identity, plan.bounds.is_empty
        if not self._is_closed:
            self.routed = self._join(plan)
        if "tags" in plan.needs:
            tags = self.host.tags
            self._tags = tags.of(self.stream_id, plan)
            self._inherited = tags.inherited(self._topic, plan, self._source_partition)

    def _source_partition(self, index: int) -> Partition:
        return self.host.metadata.topics.partition(self._topic, index)

    def _join(self, plan: Plan) -> RoutedReader | None:
        """Share an index with the views that ask the same of every record, if this view asks something."""
        if plan.is_identity or plan.framed:
            return None
        from broker.view_topics.route_indexes import RouteIndexes

        indexes = self.host.shared(RouteIndexes)
        route = route_of(plan, indexes.number_of)
        return None if route is None else RoutedReader(self, route, indexes.of(self, plan, route))

    @property
    def counters(self) -> ViewCounters:
        """The counters of the view since the start."""
        if self._counters is None:
            self._counters = self.host.counters_of(self.topic)
        return self._counters

    def steps(self, read: ViewRead) -> WaitingSteps:
        """Read as every view does; make the evaluator now, not when records come."""
        if self._filter is None:
            made = yield from self.host.make_evaluator(self.topic, self.definition)
            if self.topic.topic_id not in self.host.metadata.catalogue.by_id:
                text = f"{self.topic.name!r} was deleted"
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
            self._know(made.plan)
        if self._shows_nothing:
            read.position = self.high_watermark
        else:
            yield from super().steps(read)

    def recalled(self, offset: int) -> Evaluated | None:
        """Return the range that holds the offset, if other views have found that none of it is shown."""
        return self.routed.recalled(offset) if self.routed is not None else None

    def is_easy(self, offset: int) -> bool:
        """Whether other views have found out which records this view has to evaluate."""
        return self.routed is not None and self.routed.knows(offset)

    def leaves_to_others(self, read: ViewRead) -> bool:
        """Whether the records at the read's position are about to be evaluated for many views together."""
        if self.routed is None or not self.routed.is_shared or not read.may_wait:
            return False
        settled = self._source.settled_end(self.high_watermark, read.now_ms)
        return read.position >= settled or self.routed.is_ahead(read.position)

    def watch(self) -> None:
        """Follow the source, alone or with other views."""
        if self.routed is None or not self.routed.is_shared:
            super().watch()
        else:
            self._source.watch(self.routed.index)
            self.routed.index.watch(self)

    def records_between(self, start: int, end: int, *, ranges_max: int) -> Counted:
        """Count what is shown between two offsets: all of them if records are shown as they are stored."""
        if self.is_identity:
            return Counted(end - start, 0)
        if self._shows_nothing:
            return Counted(0, 0)
        return super().records_between(start, end, ranges_max=ranges_max)

    def forget_stale(self) -> None:
        """Forget what was found in batches that compaction has replaced since, and what depends on them."""
        if self._tags is None:
            self._compacted.forget_replaced(self.ranges)
        elif self._compactions != self._noticed:
            self._noticed = self._compactions
            self.ranges.clear()

    @property
    def _compactions(self) -> int:
        """A number that changes when compaction may have erased tags that count here."""
        own = self._compacted.compaction
        if not self._topic.growth_ends or not self.host.metadata.topics.settings(self._topic).compacts:
            return own
        # Keys may have been tagged in other partitions.
        return sum(vnode.log.compactions for vnode in self.host.vnodes[self._topic.database])

    def close(self) -> None:
        """Free the memory of what was found."""
        self._is_closed = True
        if self.routed is not None:
            self.routed.close()
            self.routed = None
        super().close()

    def stored(self, offset: int, max_bytes: int, *, minimum_one: bool = True) -> ReadResult | None:
        """Return the stored batches, if the view keeps everything and no record is undecided or aborted."""
        if not self.is_identity:
            return None
        log, end = self.vnode.log, self.high_watermark
        if log.high_watermark(self.stream_id) != end:
            return None
        if log.producers(self.stream_id).aborted_between(offset, end):
            return None
        return log.read(self.stream_id, offset, max(max_bytes, 0), minimum_one=minimum_one)

    def look(self, offset: int, budget: SliceBudget) -> WaitingSteps:
        """Evaluate some of the source from `offset` on, at least the range that holds it.

        If tags count, the earlier records of their keys are evaluated first.
        """
        # Held to the end: others may need the room that it has.
        evaluator = yield from self.host.make_evaluator(self.topic, self.definition)
        self._know(evaluator.plan)
        self.forget_stale()
        self.ranges.forget_before(self.log_start)
        if self.routed is not None and self.routed.is_shared:
            yield from self.routed.look(offset, budget)
            return
        history: TagHistory | None = None
        if self._tags is not None:
            cuts: Sequence[Cut] = ()
            if self._inherited is not None and self._topic.growth_ends:
                yield from self._inherited.steps(
                    partial(teach, self.filtered, budget, self.host.loop.scheduler.offload), self._compactions
                )
                cuts = self._inherited.cuts(self.index)
            history, offset = self._tags.at(offset, self.log_start, self._compactions, cuts)
        elif (reached := passed_over(self, evaluator.plan, offset)) > offset:
            self.ranges.add(Evaluated(offset, reached, None))
            if budget.spend(records=0, size_bytes=0):
                yield None
            return
        end = self.high_watermark
        rest = yield from self._examine(offset, end, history, budget)
        if rest is None:
            return
        if rest < end:
            # Nothing is stored from here on: compaction has removed it.
            self.ranges.add(Evaluated(rest, end, None))
        if history is not None:
            history.passed(max(rest, end))

    def _examine(
        self, offset: int, end: int, history: TagHistory | None, budget: SliceBudget
    ) -> Generator[Until | None, None, int | None]:
        """Evaluate some batches; return the offset from which on none is stored up to `end`, or None.

        If compaction replaces the batches meanwhile, the rest is left: the caller looks again.
        """
        compaction = self._compacted.compaction
        result = self.vnode.log.read(self.stream_id, offset, SCAN_BYTES)
        aborted = self.vnode.log.producers(self.stream_id).aborted_between(offset, result.next_offset)
        data = yield from joined_in_thread(result.parts, self.host.loop.scheduler.offload)
        if compaction != self._compacted.compaction:
            return None
        for batch in iter_batches(data):
            header = read_batch_header(batch)
            if header.base_offset >= end:
                return offset
            if header.base_offset in self._busy or (
                history is not None and history.is_busy(header.base_offset)
            ):
                yield None  # another fetch is evaluating it, and yields in turn
                return None
            start, offset = min(offset, header.base_offset), header.last_offset + 1
            is_learned = history is None or offset <= history.end
            if self.ranges.find(max(start, header.base_offset)) is not None and is_learned:
                continue
            is_hidden = header.is_control or is_aborted(header, aborted)
            shown = yield from self._evaluate(batch, header, history, is_hidden=is_hidden)
            if compaction != self._compacted.compaction:
                return None
            self._remember(start, offset, shown)
            if budget.spend(records=header.record_count, size_bytes=header.size_bytes):
                yield None
                if compaction != self._compacted.compaction:
                    return None
        return None if data else offset

    def _evaluate(
        self,
        batch: memoryview,
        header: BatchHeader,
        history: TagHistory | None,
        *,
        is_hidden: bool,
    ) -> WaitingSteps:
        """Find what is shown of a batch, in slices, unless it is hidden; return it at the end."""
        shown: bytes | None = None
        if not is_hidden:
            self._busy.add(header.base_offset)
            try:
                shown = yield from self._shown(batch, header, history)
            finally:
                self._busy.discard(header.base_offset)
        elif history is not None:
            history.passed(header.last_offset + 1)
        return shown

    def _remember(self, start: int, end: int, shown: bytes | None) -> None:
        if shown is None:
            self.ranges.add_nothing(start, end)
        else:
            self.ranges.add(Evaluated(start, end, shown))

    def filtered(self, batch: memoryview, tags: KeyTags | None, index: int | None = None) -> WaitingSteps:
        """Find what the view shows of a batch, in slices; return a `Filtered` at the end.

        `index`: the partition that holds the batch, if it is another one.
        """
        evaluator = self.evaluator
        index = self.index if index is None else index
        if evaluator.plan.framed:
            return filtered_framed(self.host, evaluator, batch, tags, index)
        return self._opened_and_filtered(evaluator, batch, tags, index)

    def _opened_and_filtered(
        self, evaluator: Evaluator, batch: memoryview, tags: KeyTags | None, index: int
    ) -> WaitingSteps:
        made = self._filter
        assert made is not None

        def steps_of(content: Opened | None) -> WaitingSteps:
            steps = made(
                evaluator, batch, tags=tags, partition=index, limits=self.host.limits, content=content
            )
            size_bytes = len(content) if isinstance(content, bytes) else len(batch)
            if evaluator.may_be_slow(size_bytes):
                return taken_in_threads(self.host.loop.scheduler.offload, steps)
            return steps

        if evaluator.scan is None or evaluator.plan.bounds.is_empty:
            return (yield from steps_of(None))
        return (yield from with_opened(self.host, batch, steps_of))

    def filtered_now(self, batch: memoryview) -> Filtered | None:
        """Find what the view shows of a batch of a few records in one go; None: that may take long."""
        evaluator, count = self.evaluator, read_batch_header(batch).record_count
        if (
            count > evaluator.first_records
            or len(batch) > NOW_BYTES_MAX
            or evaluator.plan.framed
            or evaluator.may_be_slow(len(batch))
        ):
            return None
        steps = self.filtered(batch, None)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: Filtered = end.value
                return found

    def _shown(self, batch: memoryview, header: BatchHeader, history: TagHistory | None) -> WaitingSteps:
        tags = None if history is None else history.open(header.base_offset)
        is_done = False
        try:
            steps = self.filtered(batch, tags)
            found = yield from (in_pairs(steps) if self.evaluator.first_records >= PAIRED_FROM else steps)
            is_done = True
        finally:
            # The client may have left: the next fetch evaluates the batch from the beginning.
            if tags is not None and not is_done:
                tags.abandon()
        if tags is not None:
            tags.commit(header.last_offset + 1)
        counters = self.counters
        counters.scanned += found.scanned
        counters.matched += found.matched
        counters.unfit += found.unfit
        return found.batch


def open_partition(host: ViewHost, topic: Topic, index: int) -> QueryPartition:
    """Make partition `index` of a view over one topic."""
    assert topic.view is not None
    source = host.metadata.catalogue.by_id[UUID(hex=topic.view.source_id)]
    return QueryPartition(host, topic, index, source)
