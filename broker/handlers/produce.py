"""Produce: v0-13 advertised, v3-13 served.

Behaviour: one record batch per partition, checked by its header and CRC, patched and otherwise appended as it
came; records are opened only on compacted topics and for doubtful timestamps.  acks=all and acks=1 answer
when the vnode's frame is synced and its records can be read, acks=0 never; an error with acks=0 closes the
connection, the only way to report it.  Until its records are safe, a request with acks=0 counts as in
progress: a client that sends without waiting is read no faster than the disk writes.  Idempotent producers
are checked against the last five batches of each partition.
Differences from Apache Kafka: null records answer INVALID_RECORD (Kafka never answers); every storage fault
answers KAFKA_STORAGE_ERROR (56), not UNKNOWN_SERVER_ERROR, as idempotent Java producers retry only that; a
batch of more than 20,000 records whose header gives no credible greatest timestamp answers INVALID_TIMESTAMP.
Version notes: versions below 3 close the connection (KAFKA-18659: min 0 is listed only so that librdkafka <
2.11 compresses); v7 zstd (KIP-110); v8 error messages (KIP-467); v9 flexible; v10 current leader (KIP-951);
v13 topic ids (KIP-516).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.catalogue.view_admin import check_writable
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import ITEMS_PER_STEP, Steps, in_slices
from broker.loop.stats import Cause
from broker.storage.append import append_batch
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker
    from broker.storage.partition import Partition

ACKS_NONE = 0

PARTITIONS_PER_SLICE = 100
"""The number of batches appended without a pause, if each is small."""

TOPIC_IDS_SINCE_VERSION = 13

ADMIN_CLIENT_ID = "__admin_client"
"""The only client that Kafka lets write to internal topics."""

_TELLING_LOG_START = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)
"""Refusals that give the log start, as retention may have deleted a producer's batches (KIP-360)."""


class PendingProduce:
    """An answer that is complete except for the disk."""

    __slots__ = ("appends", "call", "outstanding", "response")

    def __init__(self, call: Call[ProduceRequest], response: ProduceResponse) -> None:
        self.call = call
        self.response = response
        # The appended batches: (vnode, version after the last record, the partition's answer).
        self.appends: list[tuple[Vnode, int, PartitionProduceResponse]] = []
        self.outstanding = 0

    def appended(self, vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Count one vnode down; answer after the last one."""
        if error is not None:
            for other, _, answer in self.appends:
                if other is vnode:
                    answer.error_code = error
                    answer.base_offset = -1
                    answer.error_message = "the records could not be made durable; see the server's log"
        self.outstanding -= 1
        if not self.outstanding:
            self._finish()

    def _finish(self) -> None:
        if self.call.request.acks == ACKS_NONE:
            answer_nothing(self.call, failed=any(answer.error_code for _, _, answer in self.appends))
        else:
            self.call.reply(self.response)


def handle(broker: Broker, call: Call[ProduceRequest]) -> ProduceResponse | Parked | Steps:
    """Append each partition's batch, then answer as `acks` asks."""
    count = sum(len(topic.partition_data) for topic in call.request.topic_data)
    if count > PARTITIONS_PER_SLICE and not call.data_owned:
        _own_records(call)
    answer: ProduceResponse | Parked | Steps = in_slices(
        _append_all(broker, call), count, per_slice=PARTITIONS_PER_SLICE
    )
    return answer


def _own_records(call: Call[ProduceRequest]) -> None:
    """Copy the records out of the receive buffer, which is used again before the last slice."""
    for topic in call.request.topic_data:
        for data in topic.partition_data:
            if data.records is not None:
                data.records = memoryview(bytearray(data.records))
    call.data_owned = True


def _append_all(broker: Broker, call: Call[ProduceRequest]) -> Steps:
    request = call.request
    response = ProduceResponse(responses=[])
    pending = PendingProduce(call, response)
    failed, done = False, 0
    for topic_data in request.topic_data:
        topic = _find_topic(broker, call.version, topic_data)
        answers: list[PartitionProduceResponse] = []
        for data in topic_data.partition_data:
            answers.append(_produce(broker, call, topic, data, pending))
            done += 1
            if not done % ITEMS_PER_STEP:
                yield
        failed = failed or any(answer.error_code for answer in answers)
        if answers:
            response.responses.append(
                TopicProduceResponse(
                    name=topic_data.name, topic_id=topic_data.topic_id, partition_responses=answers
                )
            )
    if request.acks == ACKS_NONE and (failed or not pending.appends):
        answer_nothing(call, failed=failed)
        return PARKED
    return _wait(call, pending)


def _find_topic(broker: Broker, version: int, data: TopicProduceData) -> Topic | RequestError:
    if version >= TOPIC_IDS_SINCE_VERSION:
        return broker.catalogue.find_id(data.topic_id) or RequestError(
            ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {data.topic_id}"
        )
    return broker.catalogue.find(data.name) or RequestError(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {data.name!r}"
    )


def _produce(
    broker: Broker,
    call: Call[ProduceRequest],
    topic: Topic | RequestError,
    data: PartitionProduceData,
    pending: PendingProduce,
) -> PartitionProduceResponse:
    answer = PartitionProduceResponse(index=data.index, base_offset=-1)
    partition = None
    try:
        partition = _find_partition(broker, call, topic, data.index)
        result = append_batch(
            call,
            partition,
            data.records,
            settings=broker.topics.settings(partition.topic),
            wall_ms=broker.clock.wall_ms(call.received_ms),
        )
    except RequestError as error:
        if partition is not None and error.code in _TELLING_LOG_START:
            answer.log_start_offset = partition.log_start
        answer.error_code = error.code
        answer.error_message = error.message
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=why)
            for index, why in error.record_errors
        ]
        return answer
    answer.base_offset = result.base_offset
    answer.log_append_time_ms = result.append_time_ms
    answer.log_start_offset = partition.log_start
    pending.appends.append((partition.vnode, result.version, answer))
    return answer


def _find_partition(
    broker: Broker, call: Call[ProduceRequest], topic: Topic | RequestError, index: int
) -> Partition:
    if isinstance(topic, RequestError):
        raise topic
    partition = broker.topics.partition(topic, index)
    if call.request.acks not in (-1, 0, 1):
        raise RequestError(
            ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {call.request.acks}: give -1 (all), 0 or 1"
        )
    if topic.internal and call.client_id != ADMIN_CLIENT_ID:
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {topic.name}")
    check_writable(topic)
    return partition


def answer_nothing(call: Call[ProduceRequest], *, failed: bool) -> None:
    """End a produce with acks=0 without an answer; close the connection if it failed."""
    call.drop()
    if failed:
        call.connection.close("a produce with acks=0 failed", Cause.ACKS_NONE)


def _wait(call: Call[ProduceRequest], pending: PendingProduce) -> ProduceResponse | Parked:
    if not pending.appends:
        return pending.response
    # Appends of one vnode become durable in order, so waiting for the last one waits for all of them.
    last = {vnode: version for vnode, version, _ in pending.appends}
    pending.outstanding = len(last)
    for vnode, version in last.items():
        vnode.wait_durable(version, pending, call.received_ms)
    return PARKED
