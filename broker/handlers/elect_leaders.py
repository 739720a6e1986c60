"""ElectLeaders: v0-2.

Behaviour: this node leads every partition, so no election is ever needed.  Partitions asked for by name
answer so (84); with null, topics are listed without partitions.
Differences from Apache Kafka: sentences with names of topics have 64 KiB in all; then codes stand alone.
Version notes: v1 election type and top-level error (KIP-460); v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.errors import Sentences
from broker.loop.call import Call
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps, begun, made_by_group, made_of
from protocol.error_codes import ErrorCode
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


def handle(broker: Broker, call: Call[ElectLeadersRequest]) -> ElectLeadersResponse | Steps:
    """Answer each partition on its own."""
    answer: ElectLeadersResponse | Steps = begun(_answer_all(broker, call.request))
    return answer


def _answer_all(broker: Broker, request: ElectLeadersRequest) -> Steps:
    kind = request.election_type
    known = kind in (PREFERRED, UNCLEAN)
    if request.topic_partitions is None:
        if not known:
            return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST, replica_election_results=[])
        results = yield from made_of(
            tuple(broker.catalogue.by_name.values()),
            lambda topic: (
                ReplicaElectionResult(topic=topic.name, partition_result=[]) if topic.recorded else None
            ),
            per_step=PLAIN_ITEMS_PER_STEP,
        )
        return ElectLeadersResponse(replica_election_results=list(filter(None, results)))
    sentences = Sentences()
    answers = yield from made_by_group(
        request.topic_partitions,
        lambda topic: topic.partitions,
        lambda topic, index: (
            _answer(broker, topic.topic, index, sentences) if known else _unknown_type(kind, index)
        ),
        lambda topic, partitions: ReplicaElectionResult(topic=topic.topic, partition_result=partitions),
    )
    code = ErrorCode.NONE if known or not answers else ErrorCode.INVALID_REQUEST
    return ElectLeadersResponse(error_code=code, replica_election_results=answers)


def _unknown_type(kind: int, index: int) -> PartitionResult:
    return PartitionResult(
        partition_id=index,
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=f"Unknown election type {kind}",
    )


def _answer(broker: Broker, name: str, index: int, sentences: Sentences) -> PartitionResult:
    topic = broker.catalogue.find(name)
    if topic is not None and 0 <= index < topic.partition_count:
        code, message = ErrorCode.ELECTION_NOT_NEEDED, _NOT_NEEDED
        return PartitionResult(partition_id=index, error_code=code, error_message=message)
    what = f"topic as {name}" if topic is None else f"partition as {name}-{index}"
    return PartitionResult(
        partition_id=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=sentences.take(f"No such {what}"),
    )
