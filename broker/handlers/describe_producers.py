"""DescribeProducers: v0.

Behaviour: the state kept of each producer of a partition, the one idle for longest first.
Differences from Apache Kafka: partitions whose producers do not fit into an answer, which has at most 40,000,
or into the memory for requests, answer POLICY_VIOLATION.  Sentences have 64 KiB in all; then codes stand
alone.
Version notes: none.  Source: KIP-664.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

from broker.catalogue.topic_admin import check_name
from broker.errors import RequestError, Sentences
from broker.loop.call import Call
from broker.loop.slices import Pace, Steps, begun
from broker.storage.closed import is_alias
from protocol.error_codes import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from wal.stream_producers import ProducerDescription

if TYPE_CHECKING:
    from broker.core import Broker

PRODUCERS_MAX: Final = 40_000
"""The producers in an answer: 16 MB while it is made.  A partition has up to 10,000, and is named often."""

PRODUCER_BYTES: Final = 400
"""The memory of a producer in the answer: an object with six numbers, and its bytes on the wire."""


def handle(broker: Broker, call: Call[DescribeProducersRequest]) -> DescribeProducersResponse | Steps:
    """Answer each partition on its own."""
    answer: DescribeProducersResponse | Steps = begun(_answer_all(broker, call))
    return answer


def _answer_all(broker: Broker, call: Call[DescribeProducersRequest]) -> Steps:
    room, sentences, pace = _Room(call), Sentences(), Pace()
    topics: list[TopicResponse] = []
    for topic in call.request.topics:
        topics.append(answers := TopicResponse(name=topic.name, partitions=[]))
        for index in topic.partition_indexes:
            answer = PartitionResponse(partition_index=index, active_producers=[])
            answers.partitions.append(answer)
            try:
                yield from _fill(answer, _producers(broker, topic.name, index, room), pace)
            except RequestError as error:
                answer.error_code, answer.error_message = error.code, sentences.take(error.message)
            if pace.due():
                yield
        if pace.due():
            yield
    return DescribeProducersResponse(topics=topics)


class _Room:
    """The producers that an answer may still have."""

    __slots__ = ("_call", "_left")

    def __init__(self, call: Call[DescribeProducersRequest]) -> None:
        self._call = call
        self._left = PRODUCERS_MAX

    def take(self, count: int) -> None:
        """Count so many producers, and their memory.  Raises: RequestError(POLICY_VIOLATION)."""
        connection, size_bytes = self._call.connection, self._call.weight_bytes + count * PRODUCER_BYTES
        if count > self._left or not connection.may_keep(size_bytes):
            text = f"{count} producers of the partition do not fit into this answer; ask for fewer partitions"
            raise RequestError(ErrorCode.POLICY_VIOLATION, text)
        self._left -= count
        if count:
            connection.weigh(self._call, size_bytes)


def _producers(broker: Broker, name: str, index: int, room: _Room) -> Iterator[ProducerDescription]:
    """Return the producers of a partition, as they are now.  Raises: RequestError."""
    check_name(name)
    partition = broker.topics.partition(broker.find_topic(name), index)
    room.take(partition.producer_count())
    return partition.producers()


def _fill(
    answer: PartitionResponse, producers: Iterator[ProducerDescription], pace: Pace
) -> Generator[None, None, None]:
    for producer in producers:
        if not is_alias(producer.producer_id):
            answer.active_producers.append(_state(producer))
        if pace.due():
            yield


def _state(producer: ProducerDescription) -> ProducerState:
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp_ms,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.transaction_first_offset,
    )
