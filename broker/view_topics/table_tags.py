"""The tags that sub-tables have at each record of a partition, as a query of them over the topic shows.

So they come from headers, from members of values, from earlier records of the key and, when the topic has
grown, from other partitions (views/tag_history.py, broker/view_topics/inherited_tags.py); what is learned is
shared with the views that read the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Until, WaitingSteps
from broker.view_topics.opening import with_opened_inside
from broker.view_topics.tag_teaching import read_batches, taught, teach
from broker.view_topics.view_slices import SliceBudget
from protocol.record_reader import iter_records
from protocol.records import read_batch_header
from views.bounds import EVERYTHING
from views.columns import Column
from views.evaluator import Evaluator, build_evaluator
from views.expressions import Expression, OutputColumn
from views.filtering import Filtered, filter_steps
from views.plan import Plan
from views.statement import parse_view

if TYPE_CHECKING:
    from uuid import UUID

    from broker.catalogue.topics import Topic
    from broker.storage.partition import Partition
    from broker.view_topics.view_host import ViewHost
    from views.tag_history import BatchTags, Cut, TagHistory
    from wal.versions import VersionedEntry

Tags = tuple[Column, ...]

TagsByOffset = dict[int, bytes]
"""The tags of a batch's records as JSON objects, by offset; records that do not fit are not in it."""

NO_TAGS: Final = b"{}"

RECORDS_PER_STEP: Final = 250
"""Records gathered between two looks at the time: about 0.5 ms."""


class TagEvaluators:
    """The compiled queries of tags, one for all topics with the same ones."""

    def __init__(self, host: ViewHost) -> None:
        self._host = host

    def of(self, tags: Tags) -> Evaluator:
        """Return the evaluator of these tags, made in about 2 ms unless it is kept, or in use."""
        return self._host.evaluators.now(*_making(tags))

    def make(self, tags: Tags) -> WaitingSteps:
        """Return it, and have a thread make it if need be; the caller holds it while it is in use."""
        return self._host.evaluators.make(*_making(tags))


def plan_of(tags: Tags) -> Plan:
    """Return the plan of a query of tags."""
    output = tuple(OutputColumn(tag.name, Expression("tag", tag.type, value=tag.name)) for tag in tags)
    return Plan(parse_view("SELECT * FROM topic"), tags, None, output, EVERYTHING)


def _making(tags: Tags) -> tuple[Hashable, None, Callable[[], Evaluator], Callable[[], bool]]:
    return ("tags", tags), None, lambda: build_evaluator(plan_of(tags)), lambda: True


class TableTags:
    """The tags of one partition's sub-tables."""

    def __init__(self, host: ViewHost, topic: Topic, index: int, tags: Tags) -> None:
        self._host = host
        self._topic = topic
        self._index = index
        self._partition = self._partition_of(index)
        self._evaluators = host.shared(TagEvaluators)
        self._tags = tags
        if tags:
            plan = plan_of(tags)
            self._known = host.tags.of(self._partition.stream_id, plan)
            self._inherited = host.tags.inherited(topic, plan, self._partition_of)

    @property
    def topic_id(self) -> UUID:
        """The id of the topic."""
        return self._topic.topic_id

    def _partition_of(self, index: int) -> Partition:
        return self._host.metadata.topics.partition(self._topic, index)

    def steps(self, entry: VersionedEntry, budget: SliceBudget) -> WaitingSteps:
        """Return the tags at the records of a batch, in slices; None if the topic has no tags.

        Raises: OffsetOutOfRange, WalError, DiskError.
        """
        if not self._tags:
            return None
        held = yield from self._evaluators.make(self._tags)
        while True:
            history = yield from self._learned_before(entry, budget)
            if history is None:
                yield None  # another fetch is teaching the history, and yields in turn
                continue
            values: TagsByOffset = yield from self._values(entry.data, history)
            if self._is_replaced(entry):
                values |= yield from self._values_left(entry, history)
            del held  # until here, or others might have had its room
            return values

    def _is_replaced(self, entry: VersionedEntry) -> bool:
        """Whether compaction may have replaced a batch, which is looked at as it was written."""
        return entry.base_offset < self._partition.vnode.log.clean_end(self._partition.stream_id)

    def _values(self, batch: memoryview, history: TagHistory) -> WaitingSteps:
        found: Filtered = yield from taught(self._filtering, batch, history, self._index)
        values: TagsByOffset = {}
        for number, record in enumerate(iter_records(found.batch) if found.batch is not None else (), 1):
            values[record.offset] = record.value or NO_TAGS
            if not number % RECORDS_PER_STEP:
                yield None
        return values

    def _values_left(self, entry: VersionedEntry, history: TagHistory) -> WaitingSteps:
        """Return the tags at the records that compaction has left of a batch."""
        values: TagsByOffset = {}
        offset, end = (
            max(entry.base_offset, self._partition.log_start),
            entry.base_offset + entry.record_count,
        )
        batches = yield from read_batches(
            self._partition, offset, len(entry.data), self._host.loop.scheduler.offload
        )
        for batch, _ in batches:
            if read_batch_header(batch).base_offset < end:
                values |= yield from self._values(batch, history)
        return values

    def _learned_before(
        self, entry: VersionedEntry, budget: SliceBudget
    ) -> Generator[Until | None, None, TagHistory | None]:
        """Return the history that has learned what is before the batch; None to try again.

        Of a batch that compaction may have replaced it learns what is left, and nothing from the original.
        """
        cuts: Sequence[Cut] = ()
        offload = self._host.loop.scheduler.offload
        if self._topic.growth_ends:
            teaching = partial(teach, self._filtering, budget, offload)
            yield from self._inherited.steps(teaching, self._compactions)
            cuts = self._inherited.cuts(self._index)
        compactions, base = self._compactions, entry.base_offset
        target = base + entry.record_count if self._is_replaced(entry) else base
        first = max(base, self._partition.log_start)
        history, begin = self._known.at(first, self._partition.log_start, compactions, cuts)
        # The partition may begin in the middle of the batch.
        if max(begin, history.end) < target:
            yield from teach(self._filtering, budget, offload, self._partition, history, begin, target)
            if history.end < target or compactions != self._compactions:
                return None
        return None if history.is_busy(base) else history

    @property
    def _compactions(self) -> int:
        """A number that changes when compaction may have erased tags that count here."""
        own = self._partition.vnode.log.compaction(self._partition.stream_id)
        if not self._topic.growth_ends or not self._host.metadata.topics.settings(self._topic).compacts:
            return own
        return sum(vnode.log.compactions for vnode in self._host.vnodes[self._topic.database])

    def _filtering(self, batch: memoryview, tags: BatchTags, index: int) -> WaitingSteps:
        evaluator = self._evaluators.of(self._tags)
        steps_of = partial(
            filter_steps, evaluator, batch, tags=tags, partition=index, limits=self._host.limits
        )
        return with_opened_inside(self._host, batch, lambda content: steps_of(content=content))
