"""OffsetDelete (47): delete committed offsets of a group."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, message, struct, wire


@struct
class OffsetDeleteRequestPartition:
    """A partition."""

    partition_index: int = wire(Int32)


@struct
class OffsetDeleteRequestTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[OffsetDeleteRequestPartition] = wire(ArrayOf(OffsetDeleteRequestPartition))


@message(api=ApiKey.OFFSET_DELETE, versions="0", hot=True, elements_max=200_000)
class OffsetDeleteRequest:
    """A request to delete the offsets of some partitions.

    Source: KIP-496; there is no flexible version.
    """

    group_id: str = wire(String)
    topics: list[OffsetDeleteRequestTopic] = wire(ArrayOf(OffsetDeleteRequestTopic))


@struct
class OffsetDeleteResponsePartition:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@struct
class OffsetDeleteResponseTopic:
    """The outcomes for one topic."""

    name: str = wire(String)
    partitions: list[OffsetDeleteResponsePartition] = wire(ArrayOf(OffsetDeleteResponsePartition))


@message(api=ApiKey.OFFSET_DELETE, versions="0", hot=True)
class OffsetDeleteResponse:
    """The outcome for each partition.

    Source: KIP-496.
    """

    error_code: int = wire(Int16, default=0)
    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[OffsetDeleteResponseTopic] = wire(ArrayOf(OffsetDeleteResponseTopic))
