"""OffsetFetch (9): read the offsets that a group has committed."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ZERO_UUID, ArrayOf, Bool, Int16, Int32, Int64, String, Uuid, message, struct, wire


@struct
class OffsetFetchRequestTopic:
    """The partitions of one topic (to v7)."""

    name: str = wire(String)
    partition_indexes: list[int] = wire(ArrayOf(Int32))


@struct
class OffsetFetchRequestTopics:
    """The partitions of one topic (from v8)."""

    name: str = wire(String, "8-9", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "10+", default=ZERO_UUID, ignorable=True)
    partition_indexes: list[int] = wire(ArrayOf(Int32))


@struct
class OffsetFetchRequestGroup:
    """The offsets to read of one group."""

    group_id: str = wire(String)
    member_id: str | None = wire(String, "9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = wire(Int32, "9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = wire(ArrayOf(OffsetFetchRequestTopics), nullable="0+")


@message(api=ApiKey.OFFSET_FETCH, versions="1-10", flexible="6+", hot=True, elements_max=200_000)
class OffsetFetchRequest:
    """A request for the committed offsets of one group, or from v8 on of several; null topics mean all.

    Source: KIP-88 (v2 all topics), KIP-320 (v5 leader epoch), KIP-447 (v7 stable offsets), KIP-709 (v8
    several groups), KIP-848 (v9 member epochs, v10 topic ids).
    """

    group_id: str = wire(String, "0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = wire(
        ArrayOf(OffsetFetchRequestTopic), "0-7", nullable="2-7", default=[]
    )
    groups: list[OffsetFetchRequestGroup] = wire(ArrayOf(OffsetFetchRequestGroup), "8+", default=[])
    require_stable: bool = wire(Bool, "7+", default=False)  # fail while transactional commits are pending


@struct
class OffsetFetchResponsePartition:
    """The offset of one partition (to v7)."""

    partition_index: int = wire(Int32)
    committed_offset: int = wire(Int64)
    committed_leader_epoch: int = wire(Int32, "5-7", default=-1, ignorable=True)
    metadata: str | None = wire(String, nullable="0+", default=None)
    error_code: int = wire(Int16, default=0)


@struct
class OffsetFetchResponseTopic:
    """The offsets in one topic (to v7)."""

    name: str = wire(String)
    partitions: list[OffsetFetchResponsePartition] = wire(ArrayOf(OffsetFetchResponsePartition))


@struct
class OffsetFetchResponsePartitions:
    """The offset of one partition (from v8)."""

    partition_index: int = wire(Int32)
    committed_offset: int = wire(Int64)
    committed_leader_epoch: int = wire(Int32, default=-1)
    metadata: str | None = wire(String, nullable="0+", default=None)
    error_code: int = wire(Int16, default=0)


@struct
class OffsetFetchResponseTopics:
    """The offsets in one topic (from v8)."""

    name: str = wire(String, "8-9", default="", ignorable=True)
    topic_id: UUID = wire(Uuid, "10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = wire(ArrayOf(OffsetFetchResponsePartitions))


@struct
class OffsetFetchResponseGroup:
    """The offsets of one group."""

    group_id: str = wire(String)
    topics: list[OffsetFetchResponseTopics] = wire(ArrayOf(OffsetFetchResponseTopics))
    error_code: int = wire(Int16, default=0)


@message(api=ApiKey.OFFSET_FETCH, versions="1-10", flexible="6+", hot=True)
class OffsetFetchResponse:
    """The committed offsets; -1 where there is none.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = wire(ArrayOf(OffsetFetchResponseTopic), "0-7", default=[])
    error_code: int = wire(Int16, "2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = wire(ArrayOf(OffsetFetchResponseGroup), "8+", default=[])
