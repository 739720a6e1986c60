"""One topic of the catalogue: its identity, its streams and its own configs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING
from uuid import UUID

from broker.catalogue.catalogue_records import TopicCreated, ViewDefinition

if TYPE_CHECKING:
    from broker.config.topic_settings import TopicSettings
    from broker.storage.partition import Partition
    from groups.partition_tree import PartitionTree

OFFSETS_TOPIC, TRANSACTIONS_TOPIC = "__consumer_offsets", "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
AUDIT_TOPIC, STORAGE_TOPIC, LEDGERS_TOPIC = "__kawal_audit", "__kawal_storage_state", "__kawal_ledgers"
SERVER_TOPICS = frozenset({AUDIT_TOPIC, STORAGE_TOPIC, LEDGERS_TOPIC})
"""Topics that not even an administrator's tool may write."""
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC}) | SERVER_TOPICS


class Topic:
    """One topic: its identity, its streams and its own configs.

    `partition_count` counts the partitions that clients may use, `planned_count` also those whose record is
    not durable yet.  `recorded` is False until the topic's own record is durable.

    `settings` are the effective values that the produce and fetch paths need, made at their first use and
    forgotten when the configs change; `partitions` holds the partitions used so far.
    A topic with a `view` is only a definition: it has no streams, and as many partitions as its source.
    One whose partitions split has a `tree`, and those from `home_from` on lie on one vnode, its `home`.
    """

    __slots__ = (
        "configs",
        "created_ms",
        "database",
        "first_vnode",
        "growth_ends",
        "home",
        "home_from",
        "name",
        "partition_count",
        "partitions",
        "planned_count",
        "ranges",
        "recorded",
        "replication_factor",
        "settings",
        "spreads",
        "topic_id",
        "tree",
        "view",
    )

    def __init__(self, record: TopicCreated) -> None:
        self.name = record.name
        self.topic_id = UUID(hex=record.topic_id)
        self.database = record.database
        self.first_vnode = record.first_vnode
        self.created_ms = record.created_ms
        self.replication_factor = record.replication_factor
        self.configs = dict(record.configs)
        self.view: ViewDefinition | None = record.view
        # (first partition, first stream id) of each run of partitions that were made together.
        self.ranges: list[tuple[int, int]] = [(0, record.first_stream)]
        self.spreads: list[int] = [record.vnode_count]  # of each run: the vnodes over which it is spread
        self.growth_ends: list[tuple[int, ...]] = []  # the partitions' ends at each growth, () if not noted
        self.partition_count = self.planned_count = record.partition_count
        self.recorded = False
        self.settings: TopicSettings | None = None
        self.partitions: dict[int, Partition] = {}
        self.tree: PartitionTree | None = None
        self.home: int | None = record.first_vnode if record.one_vnode else None
        self.home_from = 0

    def forget_settings(self) -> None:
        """Have the effective settings computed anew."""
        self.settings = None

    @property
    def internal(self) -> bool:
        """True for the topics that only the broker itself may write."""
        return self.name in INTERNAL_TOPICS

    @property
    def first_partition_count(self) -> int:
        """The number of partitions that the topic was made with."""
        return self.ranges[1][0] if len(self.ranges) > 1 else self.planned_count

    def stream_id(self, partition_index: int) -> int:
        """Return the stream that holds the partition, the same for the partition's whole life."""
        assert 0 <= partition_index < self.planned_count
        assert self.view is None, "a view has no streams"
        run = bisect_right(self.ranges, partition_index, key=lambda item: item[0]) - 1
        first_partition, first_stream = self.ranges[run]
        return first_stream + partition_index - first_partition

    def partition_of(self, stream_id: int) -> int:
        """Return the partition that a stream of the topic holds."""
        for first_partition, first_stream in reversed(self.ranges):
            if stream_id >= first_stream:
                return first_partition + stream_id - first_stream
        raise AssertionError(f"stream {stream_id} is not of topic {self.name!r}")

    def vnode_index(self, partition_index: int) -> int:
        """Return the vnode of the topic's database on which a partition lies for its whole life."""
        if self.home is not None and partition_index >= self.home_from:
            return self.home
        run = bisect_right(self.ranges, partition_index, key=lambda item: item[0]) - 1
        return (self.first_vnode + partition_index) % self.spreads[run]

    def outlet_of(self, partition_index: int) -> int:
        """Return the partition that takes what is sent to one: itself, or if it is closed, its successor.

        A partition is closed when its successor is on another vnode (broker/storage/closed.py).
        """
        if partition_index < self.home_from and self.vnode_index(partition_index) != self.home:
            return self.home_from + partition_index
        return partition_index

    def stream_ids(self) -> Iterator[int]:
        """Return every stream of the topic, planned ones too, by partition; a view has none."""
        return chain.from_iterable(range(first, first + count) for first, count in self.stream_runs())

    def stream_runs(self) -> list[tuple[int, int]]:
        """Return the streams of `stream_ids` as runs: the first of each, and how many they are."""
        if self.view is not None:
            return []
        ends = [first for first, _ in self.ranges[1:]] + [self.planned_count]
        runs = zip(self.ranges, ends, strict=True)
        return [(stream, end - first) for (first, stream), end in runs]
