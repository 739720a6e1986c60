"""DescribeTopicPartitions (75): topics and their partitions, page by page."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, String, Uuid, message, struct, wire

NOT_REQUESTED = -(2**31)
"""The bits of `…_authorized_operations` when they were not asked for."""


@struct
class TopicRequest:
    """A topic."""

    name: str = wire(String)


@struct
class Cursor:
    """The first partition of the next page."""

    topic_name: str = wire(String)
    partition_index: int = wire(Int32)


@message(api=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+", hot=True, elements_max=50_000)
class DescribeTopicPartitionsRequest:
    """A request for topics, from a cursor on; no topics mean all.

    Source: KIP-966.
    """

    topics: list[TopicRequest] = wire(ArrayOf(TopicRequest))
    response_partition_limit: int = wire(Int32, default=2000)
    cursor: Cursor | None = wire(Cursor, nullable="0+", default=None)


@struct
class DescribeTopicPartitionsResponsePartition:
    """A partition, its leader and its replicas."""

    error_code: int = wire(Int16, default=0)
    partition_index: int = wire(Int32)
    leader_id: int = wire(Int32)
    leader_epoch: int = wire(Int32, default=-1)
    replica_nodes: list[int] = wire(ArrayOf(Int32))
    isr_nodes: list[int] = wire(ArrayOf(Int32))
    eligible_leader_replicas: list[int] | None = wire(ArrayOf(Int32), nullable="0+", default=None)
    last_known_elr: list[int] | None = wire(ArrayOf(Int32), nullable="0+", default=None)
    offline_replicas: list[int] = wire(ArrayOf(Int32))


@struct
class DescribeTopicPartitionsResponseTopic:
    """A topic, or why it cannot be shown."""

    error_code: int = wire(Int16, default=0)
    name: str | None = wire(String, nullable="0+", default=None)
    topic_id: UUID = wire(Uuid)
    is_internal: bool = wire(Bool, default=False)
    partitions: list[DescribeTopicPartitionsResponsePartition] = wire(
        ArrayOf(DescribeTopicPartitionsResponsePartition)
    )
    topic_authorized_operations: int = wire(Int32, default=NOT_REQUESTED)


@message(api=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+", hot=True)
class DescribeTopicPartitionsResponse:
    """As many partitions as were asked for, and the cursor of the next page.

    Source: KIP-966.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[DescribeTopicPartitionsResponseTopic] = wire(ArrayOf(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = wire(Cursor, nullable="0+", default=None)
