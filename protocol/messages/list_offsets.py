"""ListOffsets (2): find offsets by timestamp or by name."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, Int64, String, message, struct, wire


@struct
class ListOffsetsPartition:
    """The offsets to find in one partition."""

    partition_index: int = wire(Int32)
    current_leader_epoch: int = wire(Int32, "4+", default=-1, ignorable=True)  # -1: do not check
    timestamp: int = wire(Int64)


@struct
class ListOffsetsTopic:
    """The offsets to find in one topic."""

    name: str = wire(String)
    partitions: list[ListOffsetsPartition] = wire(ArrayOf(ListOffsetsPartition))


@message(api=ApiKey.LIST_OFFSETS, versions="1-11", flexible="6+", hot=True, elements_max=200_000)
class ListOffsetsRequest:
    """A request for the first offset at or after a timestamp, or for a special one.

    -1 latest (last stable when reading committed), -2 earliest, -3 with the largest timestamp (v7), -4
    earliest on this disk (v8), -5 last in remote storage (v9), -6 earliest not yet in remote storage (v11).
    Source: KIP-79, KIP-98 (v2), KIP-320 (v4), KIP-734 (v7), KIP-405 (v8), KIP-1005 (v9), KIP-1075 (v10),
    KIP-1023 (v11).
    """

    replica_id: int = wire(Int32)  # -1: a client
    isolation_level: int = wire(Int8, "2+", default=0)  # 0: read uncommitted, 1: read committed
    topics: list[ListOffsetsTopic] = wire(ArrayOf(ListOffsetsTopic))
    timeout_ms: int = wire(Int32, "10+", default=0, ignorable=True)  # how long remote storage may take


@struct
class ListOffsetsPartitionResponse:
    """The offsets found in one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    timestamp: int = wire(Int64, default=-1)
    offset: int = wire(Int64, default=-1)
    leader_epoch: int = wire(Int32, "4+", default=-1)


@struct
class ListOffsetsTopicResponse:
    """The offsets found in one topic."""

    name: str = wire(String)
    partitions: list[ListOffsetsPartitionResponse] = wire(ArrayOf(ListOffsetsPartitionResponse))


@message(api=ApiKey.LIST_OFFSETS, versions="1-11", flexible="6+", hot=True)
class ListOffsetsResponse:
    """The offset found in each partition; -1 and timestamp -1 when there is none.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = wire(ArrayOf(ListOffsetsTopicResponse))
