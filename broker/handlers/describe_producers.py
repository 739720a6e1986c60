"""DescribeProducers: v0.

Behaviour: the state kept of each producer of a partition, the one idle for longest first.
Differences from Apache Kafka: none known.
Version notes: none.  Source: KIP-664.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.catalogue.topic_admin import check_name
from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import Steps, in_slices, made_by_group, size_of
from broker.storage.closed import is_alias
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)
from wal.stream_producers import ProducerDescription

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DescribeProducersRequest]) -> DescribeProducersResponse | Steps:
    """Answer each partition on its own."""
    topics = call.request.topics
    count = size_of(topics, lambda topic: topic.partition_indexes)
    answer: DescribeProducersResponse | Steps = in_slices(_answer_all(broker, topics), count)
    return answer


def _answer_all(broker: Broker, topics: list[TopicRequest]) -> Steps:
    answers = yield from made_by_group(
        topics,
        lambda topic: topic.partition_indexes,
        lambda topic, index: _answer(broker, topic.name, index),
        lambda topic, partitions: TopicResponse(name=topic.name, partitions=partitions),
    )
    return DescribeProducersResponse(topics=answers)


def _answer(broker: Broker, name: str, index: int) -> PartitionResponse:
    answer = PartitionResponse(partition_index=index, active_producers=[])
    try:
        check_name(name)
        partition = broker.topics.partition(broker.find_topic(name), index)
    except RequestError as error:
        answer.error_code, answer.error_message = error.code, error.message
        return answer
    answer.active_producers = [
        _state(producer) for producer in partition.producers() if not is_alias(producer.producer_id)
    ]
    return answer


def _state(producer: ProducerDescription) -> ProducerState:
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp_ms,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.transaction_first_offset,
    )
