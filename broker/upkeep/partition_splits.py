"""Splits of partitions: asked for by operators, or because a partition is written to as fast as it may be.

    a write, or KawalTopics SPLIT --> the record joins the catalogue's log; writes to the topic wait
                          durable --> the new partition takes its keys, and the writes go on

The cut is the parent's log end while nothing is written to the topic, so it is exact. What lies before it and
is lost in a crash was not acknowledged; its producers send it again, and it goes where it belongs by then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import PartitionsAdded, PartitionSplit
from broker.catalogue.guards import check_room
from broker.catalogue.metadata import Metadata
from broker.catalogue.outlets import undurable
from broker.catalogue.split_plan import split_of
from broker.catalogue.split_rules import check_ends, splits
from broker.config.split_keys import ACTIVE_KEY, MODE_KEY
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.loop.slices import Until
from broker.storage.closed import until_durable
from broker.storage.inspection import NO_KEYS
from broker.upkeep.partition_load import PartitionLoad
from broker.upkeep.tree_rows import tree_rows
from groups.partition_tree import Split, hash_of
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.metadata_log import MetadataLog
    from broker.catalogue.topic import Topic
    from broker.config.topic_settings import TopicSettings
    from broker.storage.inspection import Inspection
    from broker.storage.partition import Partition
    from protocol.messages.kawal_topics import SplitPartition

logger = logging.getLogger("kawal.broker")

SAMPLES_PER_BATCH: Final = 8
"""The keys of a batch that are looked at: 2 µs."""

SWEEP_AT: Final = 100
"""The loads at which those of deleted topics are looked for first."""

ONE_KEY: Final = "all of its load has one key, which cannot be divided"


class PartitionSplits:
    """Splits partitions, and knows the load of those that may split by themselves."""

    def __init__(self, metadata: Metadata, loop: Loop, log: MetadataLog) -> None:
        self._metadata = metadata
        self._loop = loop
        self._log = log
        # By stream id; of topics whose partitions split by themselves.
        self._loads: dict[int, PartitionLoad] = {}
        self._sweep_at = SWEEP_AT

    # --- splitting ------------------------------------------------------------------------------------------

    def split(
        self, topic: Topic, index: int, now_ms: int, *, confirmed: Callable[[], None] | None = None
    ) -> Split:
        """Split a partition; `confirmed` is called when that is durable.

        Raises: RequestError, with a sentence for operators; nothing has changed.
        """
        partition = self._splittable(topic, index)
        own = self._metadata.topics.tree(topic).range_of(index)
        load = self._loads.get(partition.stream_id)
        bound = None if load is None else load.bound(own)
        return self._split_at(topic, partition, own.middle if bound is None else bound, now_ms, confirmed)

    def _split_at(
        self,
        topic: Topic,
        partition: Partition,
        bound: int,
        now_ms: int,
        confirmed: Callable[[], None] | None = None,
    ) -> Split:
        index = partition.index
        own = self._metadata.topics.tree(topic).range_of(index)
        if own.is_empty:
            raise _refused(topic, index, "it takes no keys, as it has a successor")
        if not own.can_split:
            raise _refused(topic, index, "it takes one place in the range of keys")
        record = PartitionSplit(
            topic_id=topic.topic_id.hex,
            growth=self._growth(topic),
            parent=index,
            cut=partition.log_end,
            bound=bound,
            at_ms=self._loop.clock.wall_ms(now_ms),
            epoch=1 + partition.leader_epoch(self._metadata.topics.leader_epoch),
        )

        def done() -> None:
            self._loads.pop(partition.stream_id, None)
            split = split_of(record)
            logger.info("topic %r: partition %d was split: %s", topic.name, index, split)
            if confirmed is not None:
                confirmed()

        self._log.append(record, now_ms, confirmed=done)
        return split_of(record)

    def _split_level(self, topic: Topic, now_ms: int) -> None:
        """Split all partitions, one after the other, so that clients with murmur2 send no batch elsewhere.

        What a crash has left of it goes on with the next split that is due.
        """
        tree = self._metadata.topics.tree(topic)
        index = tree.next_of_level

        def go_on() -> None:
            known = self._metadata.catalogue.find_id(topic.topic_id)
            if known is not topic or tree is not topic.tree or not (tree.in_levels and tree.next_of_level):
                return
            try:
                self._split_level(topic, self._loop.clock.turn_ms)
            except RequestError as error:
                logger.warning("%s", error.message)

        partition = self._splittable(topic, index)
        self._split_at(topic, partition, tree.range_of(index).middle, now_ms, go_on)

    def _splittable(self, topic: Topic, index: int) -> Partition:
        if topic.view is not None or not splits(topic.configs):
            raise RequestError(
                ErrorCode.INVALID_REQUEST,
                f"topic {topic.name!r} has no partitions that split: set {MODE_KEY.name} to up or paused",
            )
        partition = self._metadata.topics.partition(topic, index)
        pending = self._metadata.topics.tree(topic).pending
        if pending is not None:
            raise _refused(topic, index, f"partition {pending.parent} is being split; try again")
        check_ends((partition,))
        return partition

    def _growth(self, topic: Topic) -> PartitionsAdded:
        catalogue = self._metadata.catalogue
        check_room(1, topic.database, catalogue, self._metadata.config)
        return PartitionsAdded(
            topic_id=topic.topic_id.hex,
            first_stream=catalogue.next_stream,
            count=1,
            first_partition=topic.planned_count,
            vnode_count=catalogue.databases[topic.database].spread,
        )

    def until_settled(self) -> Until:
        """Wait until the splits that were planned so far are durable, or lost."""

        def start(resume: Callable[[], None]) -> None:
            self._log.when_durable(lambda _error: resume(), self._loop.clock.turn_ms)

        return Until(start)

    def until_writable(self, topic: Topic) -> Until | None:
        """Return what writes to a topic wait for: a split on its way, or the end of closed partitions."""
        if self._metadata.topics.tree(topic).pending is not None:
            return self.until_settled()
        vnode = undurable(topic, self._metadata.topics)
        return None if vnode is None else until_durable(vnode, self._loop.clock.turn_ms)

    # --- load -----------------------------------------------------------------------------------------------

    def stored(
        self,
        partition: Partition,
        size_bytes: int,
        moved: Iterable[tuple[Partition, int]],
        inspection: Inspection | None,
        settings: TopicSettings,
    ) -> None:
        """Count what was written to partitions for one batch, and look at some of its keys."""
        for written, written_bytes in ((partition, size_bytes), *moved):
            self.written(written, written_bytes, settings)
        self.sample(partition, inspection, settings)

    def written(self, partition: Partition, size_bytes: int, settings: TopicSettings) -> None:
        """Count what was written to a partition, and split it if that is due."""
        if settings.kawal_partition_autosplit_mode != "up" or not size_bytes:
            return
        now_ms = self._loop.clock.turn_ms
        load, window_ms = self._load(partition), settings.kawal_partition_autosplit_window_ms
        if not load.written(size_bytes, limit_of(settings), window_ms, now_ms):
            return
        try:
            self._split_loaded(partition, load, settings, now_ms)
        except RequestError as error:
            load.could_not(str(error.message), window_ms, now_ms)
            logger.warning("%s", error.message)

    def _split_loaded(
        self, partition: Partition, load: PartitionLoad, settings: TopicSettings, now_ms: int
    ) -> None:
        topic, index = partition.topic, partition.index
        tree = self._metadata.topics.tree(topic)
        if tree.pending is not None:
            return
        most = settings.kawal_partition_autosplit_max_active
        if topic.planned_count >= most:
            raise _refused(topic, index, f"the topic has {topic.planned_count} ({ACTIVE_KEY.name})")
        if load.bound(tree.range_of(index)) is None:
            raise _refused(topic, index, ONE_KEY)
        if tree.in_levels and 2 * (topic.planned_count - tree.next_of_level) <= most:
            self._split_level(topic, now_ms)
        else:
            self.split(topic, index, now_ms)

    def reads_keys(self, topic: Topic, index: int, settings: TopicSettings) -> bool:
        """Whether the keys of a batch matter: they decide its partition, or are samples for a split."""
        if not settings.routes_records:
            return False
        if self._metadata.topics.tree(topic).divides:
            return True
        return index == 0 and self.wants_keys(self._metadata.topics.partition(topic, index), settings)

    def wants_keys(self, partition: Partition, settings: TopicSettings) -> bool:
        """Whether to look at the keys of a batch for `sample` alone."""
        if settings.kawal_partition_autosplit_mode != "up":
            return False
        load = self._loads.get(partition.stream_id)
        window_ms = settings.kawal_partition_autosplit_window_ms
        return load is not None and load.wants_samples(window_ms, self._loop.clock.turn_ms)

    def sample(self, partition: Partition, inspection: Inspection | None, settings: TopicSettings) -> None:
        """Look at some keys of a batch that was sent to a partition."""
        if settings.kawal_partition_autosplit_mode != "up" or inspection is None:
            return
        topic, tree = partition.topic, self._metadata.topics.tree(partition.topic)
        if inspection.numbered is not None:
            named, scope = partition.vnode.log.named_producers, topic.stream_id(0)
            names = list(inspection.numbered.runs)
            for name in names[:: 1 + len(names) // SAMPLES_PER_BATCH]:
                state = named.of(scope, name)
                if state is not None:
                    owner = self._metadata.topics.partition(topic, topic.partition_of(state.stream_id))
                    self._load(owner).sample(tree.place(hash_of(name)))
            return
        keys = inspection.keys or NO_KEYS
        self._load(partition).sampled_ms = self._loop.clock.turn_ms
        for key in keys.of_records[:: 1 + len(keys.of_records) // SAMPLES_PER_BATCH]:
            if key is not None:
                hashed = keys.hashes[key]
                owner = self._metadata.topics.partition(topic, tree.of(hashed))
                self._load(owner).sample(tree.place(hashed))

    def rows(self, topic: Topic) -> Generator[None, None, list[SplitPartition]]:
        """Return the topic's partition tree, to be shown, made in steps.

        Raises: RequestError, if the topic is deleted meanwhile.
        """
        window_ms = self._metadata.topics.settings(topic).kawal_partition_autosplit_window_ms
        now_ms = self._loop.clock.turn_ms

        def load_of(partition: Partition) -> tuple[PartitionLoad, int] | None:
            load = self._loads.get(partition.stream_id)
            return None if load is None else (load, round(load.rate_at(now_ms, window_ms)))

        def partition_of(index: int) -> Partition:
            if self._metadata.catalogue.find_id(topic.topic_id) is not topic:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic.name!r} was deleted")
            return topics.partition(topic, index)

        topics = self._metadata.topics
        return tree_rows(topics.tree(topic), partition_of, load_of)

    def _load(self, partition: Partition) -> PartitionLoad:
        load = self._loads.get(partition.stream_id)
        if load is None:
            if len(self._loads) >= self._sweep_at:
                self._forget_deleted()
            load = self._loads[partition.stream_id] = PartitionLoad(self._loop.clock.turn_ms)
        return load

    def _forget_deleted(self) -> None:
        """Forget the loads of topics that were deleted, each time that there are twice as many loads."""
        find = self._metadata.catalogue.streams.find
        self._loads = {stream_id: load for stream_id, load in self._loads.items() if find(stream_id)}
        self._sweep_at = 2 * len(self._loads) + SWEEP_AT


def limit_of(settings: TopicSettings) -> float:
    """Return the rate, in bytes per second, above which a partition is to be split."""
    percent = settings.kawal_partition_autosplit_up_percent
    return settings.kawal_partition_write_bytes_per_sec * percent / 100


def _refused(topic: Topic, index: int, why: str) -> RequestError:
    return RequestError(
        ErrorCode.INVALID_REQUEST, f"partition {index} of topic {topic.name!r} is not split: {why}"
    )
