"""AlterPartitionReassignments: v0-1.

Behaviour: a partition stays on its node, so the only replicas that it can get are those it has.  Asking for
them succeeds and does nothing; any others answer INVALID_REPLICA_ASSIGNMENT.  No reassignment is ever in
progress, so there is nothing to cancel (85).
Differences from Apache Kafka: on several nodes, Kafka moves partitions.  Sentences have 64 KiB in all; then
codes stand alone.
Version notes: v1 `allow_replication_factor_change` (KIP-860; the factor never changes here).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.catalogue.assignments import check_replicas
from broker.errors import RequestError, Sentences
from broker.loop.call import Call
from broker.loop.slices import Steps, begun, made_by_group
from protocol.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[AlterPartitionReassignmentsRequest]
) -> AlterPartitionReassignmentsResponse | Steps:
    """Check each partition on its own."""
    request = call.request
    if not request.topics:
        # The answer that Kafka 4.3.1 gives without asking its controller.
        return AlterPartitionReassignmentsResponse(error_message="", responses=[])
    answer: AlterPartitionReassignmentsResponse | Steps = begun(_answer_all(broker, request))
    return answer


def _answer_all(broker: Broker, request: AlterPartitionReassignmentsRequest) -> Steps:
    sentences = Sentences()
    answers = yield from made_by_group(
        request.topics,
        lambda topic: topic.partitions,
        lambda topic, item: _answer(broker, topic.name, item, sentences),
        lambda topic, partitions: ReassignableTopicResponse(name=topic.name, partitions=partitions),
    )
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, responses=answers
    )


def _answer(
    broker: Broker, name: str, item: ReassignablePartition, sentences: Sentences
) -> ReassignablePartitionResponse:
    answer = ReassignablePartitionResponse(partition_index=item.partition_index)
    try:
        _check(broker, name, item)
    except RequestError as error:
        answer.error_code, answer.error_message = error.code, sentences.take(error.message)
    return answer


def _check(broker: Broker, name: str, item: ReassignablePartition) -> None:
    topic = broker.catalogue.find(name)
    if topic is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    if not 0 <= item.partition_index < topic.partition_count:
        raise RequestError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {name}:{item.partition_index}.",
        )
    if item.replicas is None:
        raise RequestError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    leader, _ = broker.topics.leader(topic, item.partition_index)
    check_replicas([item.replicas], broker.nodes.ids)
    if item.replicas != [leader]:
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{name}-{item.partition_index} is on node {leader}, and stays there: its log is",
        )
