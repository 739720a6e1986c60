"""ListPartitionReassignments (46): the partitions that are being moved."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, message, struct, wire


@struct
class ListPartitionReassignmentsTopics:
    """The partitions of one topic."""

    name: str = wire(String)
    partition_indexes: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+", hot=True, elements_max=200_000)
class ListPartitionReassignmentsRequest:
    """A request for the reassignments of some topics, or with null of all.

    Source: KIP-455.
    """

    timeout_ms: int = wire(Int32, default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = wire(
        ArrayOf(ListPartitionReassignmentsTopics), nullable="0+", default=None
    )


@struct
class OngoingPartitionReassignment:
    """A partition, its replicas, those being added and those being removed."""

    partition_index: int = wire(Int32)
    replicas: list[int] = wire(ArrayOf(Int32))
    adding_replicas: list[int] = wire(ArrayOf(Int32))
    removing_replicas: list[int] = wire(ArrayOf(Int32))


@struct
class OngoingTopicReassignment:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[OngoingPartitionReassignment] = wire(ArrayOf(OngoingPartitionReassignment))


@message(api=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+", hot=True)
class ListPartitionReassignmentsResponse:
    """The partitions that are being reassigned.

    Source: KIP-455.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    topics: list[OngoingTopicReassignment] = wire(ArrayOf(OngoingTopicReassignment))
