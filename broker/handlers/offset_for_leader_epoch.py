"""OffsetForLeaderEpoch: v2-4.

Behaviour: the end of the newest epoch is the end of the log, that of an older one the beginning of the next;
    a later epoch is unknown (-1, -1).
Differences from Apache Kafka: none known; on one node an epoch begins only after a repair of a log, after a
    crash with durability os, and with each ledger of a topic with kawal.message.ids.
Version notes: v2 current leader epoch (librdkafka asks exactly v2), v3 replica id, v4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import Steps, in_slices, made_by_group, size_of
from broker.storage.leader_epochs import NO_EPOCH, check_leader_epoch, end_of_epoch
from protocol.error_codes import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[OffsetForLeaderEpochRequest]) -> OffsetForLeaderEpochResponse | Steps:
    """Answer each partition on its own."""
    topics = call.request.topics
    count = size_of(topics, lambda topic: topic.partitions)
    answer: OffsetForLeaderEpochResponse | Steps = in_slices(_answer_all(broker, topics), count)
    return answer


def _answer_all(broker: Broker, topics: list[OffsetForLeaderTopic]) -> Steps:
    answers = yield from made_by_group(
        topics,
        lambda topic: topic.partitions,
        lambda topic, item: _answer(broker, topic.topic, item),
        lambda topic, partitions: OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions),
    )
    return OffsetForLeaderEpochResponse(topics=answers)


def _answer(broker: Broker, name: str, item: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=item.partition, leader_epoch=-1, end_offset=-1)
    try:
        topic = broker.catalogue.find(name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = broker.topics.partition(topic, item.partition)
        current = broker.topics.leader_epoch
        is_alone = broker.nodes.count == 1
        check_leader_epoch(partition, item.current_leader_epoch, current, is_alone=is_alone)
    except RequestError as error:
        answer.error_code = error.code
        return answer
    if item.leader_epoch < NO_EPOCH:
        # An epoch before all others ends where our first one begins.
        answer.leader_epoch, answer.end_offset = item.leader_epoch, partition.log_start
    else:
        answer.leader_epoch, answer.end_offset = end_of_epoch(partition, item.leader_epoch, current)
    return answer
