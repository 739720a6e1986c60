"""AlterShareGroupOffsets (91): set the start offsets of an empty share group."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, Uuid, message, struct, wire


@struct
class AlterShareGroupOffsetsRequestPartition:
    """The offset from which the group is to go on."""

    partition_index: int = wire(Int32)
    start_offset: int = wire(Int64)


@struct
class AlterShareGroupOffsetsRequestTopic:
    """The partitions of one topic."""

    topic_name: str = wire(String)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = wire(
        ArrayOf(AlterShareGroupOffsetsRequestPartition)
    )


@message(api=ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions="0", flexible="0+", elements_max=200_000, hot=True)
class AlterShareGroupOffsetsRequest:
    """A request to move a group; all that is known of its records in these partitions is dropped.

    Source: KIP-932 and Kafka 4.3's AlterShareGroupOffsetsRequest.json.
    """

    group_id: str = wire(String)
    topics: list[AlterShareGroupOffsetsRequestTopic] = wire(ArrayOf(AlterShareGroupOffsetsRequestTopic))


@struct
class AlterShareGroupOffsetsResponsePartition:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@struct
class AlterShareGroupOffsetsResponseTopic:
    """The partitions of one topic."""

    topic_name: str = wire(String)
    topic_id: UUID = wire(Uuid)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = wire(
        ArrayOf(AlterShareGroupOffsetsResponsePartition)
    )


@message(api=ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions="0", flexible="0+", hot=True)
class AlterShareGroupOffsetsResponse:
    """The outcome by partition.

    Source: KIP-932 and Kafka 4.3's AlterShareGroupOffsetsResponse.json.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = wire(ArrayOf(AlterShareGroupOffsetsResponseTopic))
