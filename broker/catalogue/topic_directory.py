"""The topics and their partitions: creating, changing and deleting them, and finding them on their vnodes.

The records and the streams of a topic lie in different logs, so their order makes crashes harmless: a topic
is used only when its record is durable, and its streams are dropped only when its deletion is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.catalogue_records import TopicConfigs, TopicCreated, TopicDeleted
from broker.catalogue.deleted_elsewhere import DeletedElsewhere
from broker.catalogue.dropped_streams import DroppedStreams
from broker.catalogue.live_config import LiveConfig
from broker.catalogue.metadata_log import MetadataLog
from broker.catalogue.nodes import NO_EPOCH, Nodes
from broker.catalogue.orphans import Orphan, adoption, raise_ids, report, unowned
from broker.catalogue.split_plan import tree_of
from broker.catalogue.topic_admin import NewTopic, new_topic_record
from broker.catalogue.topic_configs import KnownSettings
from broker.catalogue.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC, Catalogue, Topic
from broker.config import several_nodes
from broker.config.kawal_topic_keys import QUARANTINE_KEY
from broker.config.message_keys import counts_batches
from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.loop.clock import Clock
from broker.loop.scheduler import Scheduler
from broker.storage.counted_partition import CountedPartition
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from groups.partition_tree import PartitionTree

COORDINATION_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
"""The topics by whose partitions nodes know which of them coordinates a group or a transactional id."""


class TopicDirectory:
    """All topics of the node, over the store that keeps them."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        config: LiveConfig,
        log: MetadataLog,
        vnodes: Vnodes,
        clock: Clock,
        scheduler: Scheduler,
        random: Random,
        nodes: Nodes,
        open_view: Callable[[Topic, int], Partition],
    ) -> None:
        """`open_view(topic, index)` makes a partition of a view."""
        self._catalogue = catalogue
        self._config = config
        self._log = log
        self._vnodes = vnodes
        self._clock = clock
        self._random = random
        self._nodes = nodes
        self._open_view = open_view
        self._known_settings = KnownSettings()
        # Streams without a topic whose deletion no record tells, as found at the start.
        self.orphans: list[Orphan] = []
        self.deleted_elsewhere = DeletedElsewhere(nodes, catalogue.deleted_streams)
        self.dropped = DroppedStreams(
            catalogue=catalogue,
            vnodes=vnodes,
            clock=clock,
            scheduler=scheduler,
            elsewhere=self.deleted_elsewhere,
        )
        """The streams of deleted topics."""

    def partition(self, topic: Topic, index: int) -> Partition:
        """Return a partition of the topic.

        Raises: RequestError(UNKNOWN_TOPIC_OR_PARTITION), when the topic has no such partition;
        NOT_LEADER_OR_FOLLOWER when another node leads it.
        """
        found = topic.partitions.get(index)
        if found is None:
            if not 0 <= index < topic.partition_count:
                raise RequestError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"topic {topic.name!r} has no partition {index}: it has {topic.partition_count}",
                )
            found = topic.partitions[index] = self._open(topic, index)
            if topic.tree is not None and (epoch := topic.tree.epoch_of(index)):
                found.begin_epoch(epoch)
        return found

    def led(self, topic: Topic) -> Iterator[Partition]:
        """Yield the partitions of the topic that this node leads."""
        for index in range(topic.partition_count):
            if (found := self.here(topic, index)) is not None:
                yield found

    def here(self, topic: Topic, index: int) -> Partition | None:
        """Return a partition that the topic has; None when another node leads it, or its log is not open."""
        try:
            return self.partition(topic, index)
        except RequestError as error:
            if error.code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise
            return None

    def _open(self, topic: Topic, index: int) -> Partition:
        if topic.view is not None:
            return self._open_view(topic, index)
        if counts_batches(topic.configs):
            return CountedPartition(topic, index, self._vnode_of(topic, index)).count(
                lambda: self.settings(topic)
            )
        return Partition(topic, index, self._vnode_of(topic, index))

    def _vnode_of(self, topic: Topic, index: int) -> Vnode:
        """Return the vnode on which a partition lies for its whole life.

        Raises: RequestError(NOT_LEADER_OR_FOLLOWER).
        """
        return self._vnodes.at(topic.database, topic.vnode_index(index))

    def tree(self, topic: Topic) -> PartitionTree:
        """Return the tree of a topic whose partitions may split."""
        if topic.tree is None:
            topic.tree = tree_of(topic)
        return topic.tree

    def vnodes_of(self, topic: Topic) -> Sequence[Vnode]:
        """Return the vnodes on which the topic's partitions lie, or may lie."""
        return self._vnodes[topic.database]

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of every partition but those that are counted, which have their own above it."""
        return self._vnodes.leader_epoch

    def counted_source(self, topic: Topic) -> Topic | None:
        """Return the topic whose batches are counted for a topic: itself, or a view's source; or None."""
        source = self._source(topic)
        return source if source is not None and counts_batches(source.configs) else None

    def _source(self, topic: Topic) -> Topic | None:
        """Return the topic that stores what a topic shows; None for a view over a database."""
        while topic.view is not None:
            source = (
                self._catalogue.by_id.get(UUID(hex=topic.view.source_id)) if topic.view.source_id else None
            )
            if source is None:
                return None
            topic = source
        return topic

    def epochs_source(self, topic: Topic) -> Topic | None:
        """Return the topic, as `counted_source` does, whose partitions have epochs of their own, or None."""
        source = self._source(topic)
        has_own = source is not None and (
            counts_batches(source.configs) or (source.tree is not None and bool(source.tree.splits))
        )
        return source if has_own else None

    def leader(self, topic: Topic, index: int) -> tuple[int, int]:
        """Return the node that leads a partition, and its leader epoch; NO_EPOCH if that is unknown."""
        node_id, source = self._nodes.leader(topic, index, self._source), self.epochs_source(topic)
        if source is None:
            return node_id, self._nodes.epoch_of(node_id)
        return node_id, self.own_epoch(source, index) if node_id == self._nodes.own_id else NO_EPOCH

    def coordinator(self, internal: str, key: str) -> int | None:
        """Return the node that coordinates what a key names; None if that is not decided yet.

        `internal`: the topic that keeps its state.
        """
        if self._nodes.count == 1:
            return self._nodes.own_id
        topic = self._catalogue.find(internal)
        if topic is None:
            return None
        from groups.record_keys import partition_for

        return self._nodes.leader_of_vnode(topic.vnode_index(partition_for(key, topic.first_partition_count)))

    def own_epoch(self, source: Topic, index: int) -> int:
        """Return the leader epoch of a partition that may have epochs of its own."""
        return self.partition(source, index).leader_epoch(self.leader_epoch)

    @property
    def ledgers_begun(self) -> int:
        """A number that grows with each ledger, and so with each leader epoch, of any partition."""
        return sum(vnode.log.ledgers_begun for vnode in self._vnodes.every)

    def settings(self, topic: Topic) -> TopicSettings:
        """Return the topic's effective configs, computed at their first use after a change."""
        if topic.settings is None:
            defaults = self._catalogue.topic_defaults(topic)
            topic.settings = self._known_settings.of(topic.configs, self._config.current, defaults)
        return topic.settings

    def check_new(self, new: NewTopic, wall_ms: int) -> TopicCreated:
        """Return the record that would create the topic.

        Raises: RequestError, as `new_topic_record` and `quarantine_record`.
        """
        record = new_topic_record(
            new,
            catalogue=self._catalogue,
            config=self._config.current,
            nodes=self._nodes,
            random=self._random,
            wall_ms=wall_ms,
        )
        self.check_spread(record.configs)
        self.quarantine(record, "", wall_ms)
        return record

    def check_spread(self, configs: Mapping[str, str]) -> None:
        """Check that several nodes can have such a topic.  Raises: RequestError."""
        if self._nodes.count > 1:
            several_nodes.check(configs, several_nodes.TOPICS)

    def quarantine(self, source: TopicCreated, before: str, wall_ms: int) -> TopicCreated | None:
        """Return what `quarantine_record` returns; most topics name no quarantine."""
        if QUARANTINE_KEY.name not in source.configs:
            return None
        from broker.catalogue.quarantine import quarantine_record

        return quarantine_record(
            source,
            before,
            catalogue=self._catalogue,
            config=self._config.current,
            random=self._random,
            wall_ms=wall_ms,
        )

    def create(self, record: TopicCreated, now_ms: int) -> Topic:
        """Create the topic that `check_new` allowed just now, and its quarantine in the same frame.

        Raises: RequestError as `MetadataLog.append`.
        """
        quarantine = self.quarantine(record, "", self._clock.wall_ms(now_ms))
        self._log.append(record, now_ms)
        if quarantine is not None:
            self._log.append(quarantine, now_ms)
        return self._catalogue.by_name[record.name]

    def change_configs(self, topic: Topic, configs: dict[str, str], now_ms: int) -> None:
        """Make these (checked) configs the topic's own.  Raises: RequestError as `MetadataLog.append`."""
        self._log.append(TopicConfigs(topic_id=topic.topic_id.hex, configs=configs), now_ms)

    def delete(self, topic: Topic, now_ms: int) -> None:
        """Remove the topic; its streams are dropped once that is durable.

        The catalogue is the authority: streams that a crash kept from being dropped are dropped at the next
        start, as its record of the deletion names them.

        Raises: RequestError as `MetadataLog.append`; INVALID_REQUEST for a topic that several nodes need.
        """
        if topic.name in COORDINATION_TOPICS and self._nodes.count > 1 and self._nodes.is_controller:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"nodes coordinate by {topic.name}: it must stay")
        record = TopicDeleted(topic_id=topic.topic_id.hex, name=topic.name)

        def gone() -> None:
            self._log.changes.deleted(topic, self._clock.wall_ms(now_ms))
            self.dropped.drop(topic)
            # Those opened since: they refer to the topic, and are freed together.
            topic.partitions.clear()

        self._log.append(record, now_ms, confirmed=gone)
        if topic.view is not None:
            from broker.catalogue.quarantine import unset_record

            if (unset := unset_record(topic, self._catalogue)) is not None:
                self._log.append(unset, now_ms)

    def forget_vnodes(self, vnodes: list[Vnode]) -> None:
        """Drop no more streams of these vnodes, which are removed as a whole."""
        self.dropped.drop_soon()
        self.orphans = [orphan for orphan in self.orphans if orphan.vnode not in vnodes]
        self._log.changes.forget(vnodes)

    def take_stock(self) -> None:
        """At the start, drop the streams of deleted topics that a crash between two logs left.

        A stream is dropped only when the catalogue knows that its topic was deleted; others without a topic
        are `orphans`, which are kept.
        """
        deleted, found = self._catalogue.deleted_streams, unowned(self._catalogue, self._vnodes)
        self.orphans = [orphan for orphan in found if orphan.stream_id not in deleted]
        here = tuple((vnode, stream_id) for vnode, stream_id in found if stream_id in deleted)
        elsewhere = deleted - {stream_id for _, stream_id in here}
        self.deleted_elsewhere.add(self._vnodes.meta.log.next_version, elsewhere)
        report(self.orphans)
        raise_ids(self._catalogue, self._vnodes)
        self.dropped.begin(here)

    def adopt(self, name: str, *, database: str, first: int, last: int, now_ms: int) -> Topic:
        """Make orphans a topic: partition i is the stream `first + i`.

        Raises: RequestError as `adoption` and `MetadataLog.append`.
        """
        record = adoption(
            name,
            database=database,
            first=first,
            last=last,
            orphans=self.orphans,
            catalogue=self._catalogue,
            random=self._random,
            wall_ms=self._clock.wall_ms(now_ms),
        )
        self._log.append(record, now_ms)
        self.orphans = [orphan for orphan in self.orphans if not first <= orphan.stream_id <= last]
        return self._catalogue.by_name[name]
