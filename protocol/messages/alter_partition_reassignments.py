"""AlterPartitionReassignments (45): move replicas to other brokers."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, String, message, struct, wire


@struct
class ReassignablePartition:
    """A partition and its new replicas."""

    partition_index: int = wire(Int32)
    replicas: list[int] | None = wire(ArrayOf(Int32), nullable="0+", default=None)


@struct
class ReassignableTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[ReassignablePartition] = wire(ArrayOf(ReassignablePartition))


@message(
    api=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+", hot=True, elements_max=200_000
)
class AlterPartitionReassignmentsRequest:
    """A request to reassign partitions, or with null replicas to cancel that.

    Source: KIP-455, KIP-860 (v1).
    """

    timeout_ms: int = wire(Int32, default=60000)
    allow_replication_factor_change: bool = wire(Bool, "1+", default=True)
    topics: list[ReassignableTopic] = wire(ArrayOf(ReassignableTopic))


@struct
class ReassignablePartitionResponse:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@struct
class ReassignableTopicResponse:
    """The outcomes for one topic."""

    name: str = wire(String)
    partitions: list[ReassignablePartitionResponse] = wire(ArrayOf(ReassignablePartitionResponse))


@message(api=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+", hot=True)
class AlterPartitionReassignmentsResponse:
    """The outcome for each partition.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    allow_replication_factor_change: bool = wire(Bool, "1+", default=True, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    responses: list[ReassignableTopicResponse] = wire(ArrayOf(ReassignableTopicResponse))
