"""ElectLeaders (43): make other replicas lead."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@struct
class TopicPartitions:
    """The partitions of one topic."""

    topic: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+", hot=True, elements_max=200_000)
class ElectLeadersRequest:
    """A request to elect leaders of some partitions, or with null of all.

    Source: KIP-183, KIP-460 (v1 election type).
    """

    election_type: int = wire(Int8, "1+", default=0)  # 0: preferred, 1: unclean
    topic_partitions: list[TopicPartitions] | None = wire(ArrayOf(TopicPartitions), nullable="0+")
    timeout_ms: int = wire(Int32, default=60000)


@struct
class PartitionResult:
    """The outcome for one partition."""

    partition_id: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@struct
class ReplicaElectionResult:
    """The outcomes for one topic."""

    topic: str = wire(String)
    partition_result: list[PartitionResult] = wire(ArrayOf(PartitionResult))


@message(api=ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+", hot=True)
class ElectLeadersResponse:
    """The outcome for each partition.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, "1+", default=0)
    replica_election_results: list[ReplicaElectionResult] = wire(ArrayOf(ReplicaElectionResult))
