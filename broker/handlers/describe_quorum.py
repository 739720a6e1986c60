"""DescribeQuorum: v0-2.

Behaviour: the quorum of the catalogue is the controller: it is the leader and the only voter, and there are
no observers.  Offsets are versions of the catalogue's log; the high watermark is its durable end.  The
catalogue goes by Kafka's name for it, `__cluster_metadata`, partition 0; anything else is unknown.
Differences from Apache Kafka: other nodes are no observers; the leader epoch is always 0; the broker's only
listener is given as the controller's.
Version notes: v1 times of the last fetch (KIP-836); v2 directory ids and nodes (KIP-853).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.loop.call import Call
from broker.loop.slices import Steps, in_slices, made_by_group, size_of
from protocol.error_codes import ErrorCode
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)

if TYPE_CHECKING:
    from broker.core import Broker

CATALOGUE_TOPIC: Final = "__cluster_metadata"
LISTENER: Final = "PLAINTEXT"
NODES_SINCE: Final = 2


def handle(broker: Broker, call: Call[DescribeQuorumRequest]) -> DescribeQuorumResponse | Steps:
    """Describe the quorum of the catalogue if the request names nothing else."""
    topics = call.request.topics
    count = size_of(topics, lambda topic: topic.partitions)
    answer: DescribeQuorumResponse | Steps = in_slices(_answer(broker, call), count)
    return answer


def _answer(broker: Broker, call: Call[DescribeQuorumRequest]) -> Steps:
    topics = call.request.topics
    known = _names_the_catalogue(topics)
    answers = yield from made_by_group(
        topics,
        lambda topic: topic.partitions,
        lambda _, item: _quorum(broker, call.received_ms) if known else _unknown(item.partition_index),
        lambda topic, partitions: ResponseTopicData(topic_name=topic.topic_name, partitions=partitions),
    )
    answer = DescribeQuorumResponse(error_message="", topics=answers, nodes=[])
    if known and call.version >= NODES_SINCE:
        host, port = call.connection.advertised
        listener = Listener(name=LISTENER, host=host, port=port)
        answer.nodes = [Node(node_id=broker.config.node_id, listeners=[listener])]
    return answer


def _names_the_catalogue(topics: list[RequestTopicData]) -> bool:
    """Whether the catalogue's one partition is named, and nothing else."""
    asked = [
        (topic.topic_name, [item.partition_index for item in topic.partitions[:2]]) for topic in topics[:2]
    ]
    return asked == [(CATALOGUE_TOPIC, [0])]


def _quorum(broker: Broker, now_ms: int) -> ResponsePartitionData:
    node_id, wall_ms = broker.config.node_id, broker.clock.wall_ms(now_ms)
    voter = ReplicaState(
        replica_id=node_id,
        log_end_offset=broker.meta.last_version + 1,
        last_fetch_timestamp=wall_ms,
        last_caught_up_timestamp=wall_ms,
    )
    return ResponsePartitionData(
        partition_index=0,
        error_message="",
        leader_id=node_id,
        leader_epoch=0,
        high_watermark=broker.meta.log.next_version,
        current_voters=[voter],
        observers=[],
    )


def _unknown(index: int) -> ResponsePartitionData:
    return ResponsePartitionData(
        partition_index=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )
