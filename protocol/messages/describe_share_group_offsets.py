"""DescribeShareGroupOffsets (90): the start offsets and the lag of share groups."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, Uuid, message, struct, wire


@struct
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class DescribeShareGroupOffsetsRequestGroup:
    """A group, and what is asked of it; null: every partition it has."""

    group_id: str = wire(String)
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = wire(
        ArrayOf(DescribeShareGroupOffsetsRequestTopic), nullable="0+"
    )


@message(
    api=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions="0-1", flexible="0+", elements_max=200_000, hot=True
)
class DescribeShareGroupOffsetsRequest:
    """A request for the progress of share groups.

    Source: KIP-932, KIP-1226 (v1 lag), and Kafka 4.3's DescribeShareGroupOffsetsRequest.json.
    """

    groups: list[DescribeShareGroupOffsetsRequestGroup] = wire(ArrayOf(DescribeShareGroupOffsetsRequestGroup))


@struct
class DescribeShareGroupOffsetsResponsePartition:
    """The progress in one partition; -1 where it is unknown."""

    partition_index: int = wire(Int32)
    start_offset: int = wire(Int64)
    leader_epoch: int = wire(Int32)
    lag: int = wire(Int64, "1+", default=-1, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    """The partitions of one topic."""

    topic_name: str = wire(String)
    topic_id: UUID = wire(Uuid)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = wire(
        ArrayOf(DescribeShareGroupOffsetsResponsePartition)
    )


@struct
class DescribeShareGroupOffsetsResponseGroup:
    """The progress of one group."""

    group_id: str = wire(String)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = wire(
        ArrayOf(DescribeShareGroupOffsetsResponseTopic)
    )
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions="0-1", flexible="0+", hot=True)
class DescribeShareGroupOffsetsResponse:
    """The progress of the groups.

    Source: KIP-932, KIP-1226 (v1 lag), and Kafka 4.3's DescribeShareGroupOffsetsResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = wire(
        ArrayOf(DescribeShareGroupOffsetsResponseGroup)
    )
