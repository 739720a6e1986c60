"""OffsetCommit (8): store the offsets that a group has reached."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ZERO_UUID, ArrayOf, Int16, Int32, Int64, String, Uuid, message, struct, wire


@struct
class OffsetCommitRequestPartition:
    """The progress in one partition."""

    partition_index: int = wire(Int32)
    committed_offset: int = wire(Int64)
    committed_leader_epoch: int = wire(Int32, "6+", default=-1, ignorable=True)  # -1: unknown
    committed_metadata: str | None = wire(String, nullable="0+")


@struct
class OffsetCommitRequestTopic:
    """The progress in one topic."""

    name: str = wire(String, "0-9", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = wire(ArrayOf(OffsetCommitRequestPartition))


@message(api=ApiKey.OFFSET_COMMIT, versions="2-10", flexible="8+", hot=True, elements_max=200_000)
class OffsetCommitRequest:
    """A request to store the next offset to read of each partition, for a group.

    v10 names topics by id alone.
    Source: KIP-211 (v5 no retention time), KIP-320 (v6 leader epoch), KIP-345 (v7 static members), KIP-848
    (v9 member epochs, v10 topic ids).
    """

    group_id: str = wire(String)
    generation_id_or_member_epoch: int = wire(Int32, default=-1)  # -1: no group membership
    member_id: str = wire(String)
    group_instance_id: str | None = wire(String, "7+", nullable="7+", default=None)
    retention_time_ms: int = wire(Int64, "2-4", default=-1, ignorable=True)  # -1: the broker's setting
    topics: list[OffsetCommitRequestTopic] = wire(ArrayOf(OffsetCommitRequestTopic))


@struct
class OffsetCommitResponsePartition:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@struct
class OffsetCommitResponseTopic:
    """The outcomes for one topic."""

    name: str = wire(String, "0-9", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = wire(ArrayOf(OffsetCommitResponsePartition))


@message(api=ApiKey.OFFSET_COMMIT, versions="2-10", flexible="8+", hot=True)
class OffsetCommitResponse:
    """The outcome for each partition.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "3+", default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic] = wire(ArrayOf(OffsetCommitResponseTopic))
