"""ElectLeaders: v0-2.

Behaviour: this node leads every partition, so no election is ever needed.  Partitions asked for by name
answer so (84); with null, topics are listed without partitions.
Differences from Apache Kafka: none known.
Version notes: v1 election type and top-level error (KIP-460); v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.loop.call import Call
from protocol.error_codes import ErrorCode, cut_message
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from broker.core import Broker

PREFERRED, UNCLEAN = 0, 1
_NOT_NEEDED: Final = "Leader election not needed for topic partition."


def handle(broker: Broker, call: Call[ElectLeadersRequest]) -> ElectLeadersResponse:
    """Answer each partition on its own."""
    request = call.request
    known_type = request.election_type in (PREFERRED, UNCLEAN)
    if request.topic_partitions is None:
        names = [topic.name for topic in broker.catalogue.by_name.values() if topic.recorded]
        results = [ReplicaElectionResult(topic=name, partition_result=[]) for name in names]
        if known_type:
            return ElectLeadersResponse(replica_election_results=results)
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST, replica_election_results=[])
    response = ElectLeadersResponse(replica_election_results=[])
    if not known_type and request.topic_partitions:
        response.error_code = ErrorCode.INVALID_REQUEST
    for topic in request.topic_partitions:
        answers = [
            _answer(broker, topic.topic, index)
            if known_type
            else PartitionResult(
                partition_id=index,
                error_code=ErrorCode.INVALID_REQUEST,
                error_message=f"Unknown election type {request.election_type}",
            )
            for index in topic.partitions
        ]
        response.replica_election_results.append(
            ReplicaElectionResult(topic=topic.topic, partition_result=answers)
        )
    return response


def _answer(broker: Broker, name: str, index: int) -> PartitionResult:
    topic = broker.catalogue.find(name)
    code, message = ErrorCode.ELECTION_NOT_NEEDED, _NOT_NEEDED
    if topic is None:
        code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    elif not 0 <= index < topic.partition_count:
        code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
    return PartitionResult(partition_id=index, error_code=code, error_message=cut_message(message))
