"""The catalogue: which databases, topics and partitions exist, with their ids and configs.

A pure machine: `replay(record)` is the only thing that changes it, at start and at run time alike; whoever
wants a change makes a record (broker/topic_admin.py), appends it to the `meta` WAL and replays it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from broker.catalogue_records import (
    CatalogueRecord,
    DatabaseCreated,
    PartitionsAdded,
    ProducerIdBlock,
    StreamIdsUsed,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
)
from broker.topic_names import collision_key

if TYPE_CHECKING:
    from broker.partition import Partition
    from broker.topic_configs import TopicSettings

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})


class Topic:
    """One topic: its identity, its streams and its own configs.

    `settings` are the effective values the produce and fetch paths need, made when first asked for and
    forgotten when the configs change; `partitions` holds the partitions touched so far.
    """

    __slots__ = (
        "configs",
        "created_ms",
        "database",
        "first_vnode",
        "name",
        "partition_count",
        "partitions",
        "ranges",
        "replication_factor",
        "settings",
        "topic_id",
    )

    def __init__(self, record: TopicCreated) -> None:
        self.name = record.name
        self.topic_id = UUID(hex=record.topic_id)
        self.database = record.database
        self.first_vnode = record.first_vnode
        self.created_ms = record.created_ms
        self.replication_factor = record.replication_factor
        self.configs = dict(record.configs)
        # (first partition, first stream id) of each run of partitions that were made together.
        self.ranges: list[tuple[int, int]] = [(0, record.first_stream)]
        self.partition_count = record.partition_count
        self.settings: TopicSettings | None = None
        self.partitions: dict[int, Partition] = {}

    @property
    def internal(self) -> bool:
        """True for the topics that only the broker itself may write."""
        return self.name in INTERNAL_TOPICS

    def stream_id(self, partition_index: int) -> int:
        """The stream that holds the partition; the same for the partition's whole life."""
        assert 0 <= partition_index < self.partition_count
        run = bisect_right(self.ranges, partition_index, key=lambda item: item[0]) - 1
        first_partition, first_stream = self.ranges[run]
        return first_stream + partition_index - first_partition

    def stream_ids(self) -> Iterator[int]:
        """Every stream of the topic, by partition."""
        return (self.stream_id(index) for index in range(self.partition_count))


class Catalogue:
    """All databases and topics of the node."""

    def __init__(self) -> None:
        self.databases: dict[str, DatabaseCreated] = {}
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[UUID, Topic] = {}
        self.next_stream = 1
        self.next_producer_id = 0
        self.partition_count = 0
        # Names with '.' written '_': two topics may not share one, as Kafka's metric names would collide.
        self.collision_names: dict[str, str] = {}

    def replay(self, record: CatalogueRecord) -> None:
        """Apply one record; records are facts, so nothing here can fail on a sound log."""
        match record:
            case TopicCreated():
                self._add_topic(Topic(record), record.first_stream + record.partition_count)
            case PartitionsAdded():
                self._grow(record)
            case TopicDeleted():
                self._remove(self.by_id[UUID(hex=record.topic_id)])
            case TopicConfigs():
                topic = self.by_id[UUID(hex=record.topic_id)]
                topic.configs = dict(record.configs)
                topic.settings = None
            case ProducerIdBlock():
                self.next_producer_id = max(self.next_producer_id, record.next_id)
            case StreamIdsUsed():
                self.next_stream = max(self.next_stream, record.next_id)
            case DatabaseCreated():
                self.databases[record.name] = record

    def _add_topic(self, topic: Topic, next_stream: int) -> None:
        assert topic.name not in self.by_name, f"topic {topic.name!r} is created twice"
        self.by_name[topic.name] = topic
        self.by_id[topic.topic_id] = topic
        self.collision_names[collision_key(topic.name)] = topic.name
        self.next_stream = max(self.next_stream, next_stream)
        self.partition_count += topic.partition_count

    def _grow(self, record: PartitionsAdded) -> None:
        topic = self.by_id[UUID(hex=record.topic_id)]
        topic.ranges.append((topic.partition_count, record.first_stream))
        topic.partition_count += record.count
        self.next_stream = max(self.next_stream, record.first_stream + record.count)
        self.partition_count += record.count

    def _remove(self, topic: Topic) -> None:
        del self.by_name[topic.name]
        del self.by_id[topic.topic_id]
        self.collision_names.pop(collision_key(topic.name), None)
        self.partition_count -= topic.partition_count

    def snapshot(self) -> list[CatalogueRecord]:
        """The shortest list of records that replays to this catalogue."""
        records: list[CatalogueRecord] = list(self.databases.values())
        for topic in self.by_name.values():
            records.extend(_topic_records(topic))
        records.append(StreamIdsUsed(next_id=self.next_stream))
        records.append(ProducerIdBlock(next_id=self.next_producer_id))
        return records


def _topic_records(topic: Topic) -> Iterator[CatalogueRecord]:
    bounds = [first for first, _ in topic.ranges] + [topic.partition_count]
    topic_id = topic.topic_id.hex
    yield TopicCreated(
        name=topic.name,
        topic_id=topic_id,
        database=topic.database,
        first_stream=topic.ranges[0][1],
        partition_count=bounds[1],
        first_vnode=topic.first_vnode,
        created_ms=topic.created_ms,
        replication_factor=topic.replication_factor,
        configs=dict(topic.configs),
    )
    for run, (_, first_stream) in enumerate(topic.ranges[1:], start=1):
        yield PartitionsAdded(
            topic_id=topic_id, first_stream=first_stream, count=bounds[run + 1] - bounds[run]
        )
