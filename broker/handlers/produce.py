"""Produce: v0-13 advertised, v3-13 served.

Behaviour: one record batch per partition, checked by its header and CRC, patched and otherwise appended as it
came; records are opened only on compacted topics, for doubtful timestamps, and where kawal.check.records,
kawal.dedup, kawal.schema.validation, kawal.session.headers or kawal.partition.autosplit.mode ask for it.
acks=all and acks=1 answer when the vnode's frame is synced and its records can be read, acks=0 never; an
error with acks=0 closes the connection, the only way to report it.  Until its records are safe, a request
with acks=0 counts as in progress: a client that sends without waiting is read no faster than the disk writes.
Idempotent producers are checked against the last five batches of each partition.
Differences from Apache Kafka: null records answer INVALID_RECORD (Kafka never answers); every storage fault
answers KAFKA_STORAGE_ERROR (56), not UNKNOWN_SERVER_ERROR, as idempotent Java producers retry only that; a
batch of more than 20,000 records whose header gives no credible greatest timestamp answers INVALID_TIMESTAMP.
On topics with kawal.dedup=seqno repetitions are dropped: offsets stay empty, or the base offset is -1.  With
kawal.session.headers records of the producers named get headers.  With kawal.schema.validation a value that
does not fit answers INVALID_RECORD; REQUEST_TIMED_OUT: the registry did not answer, and nothing was stored.
With kawal.partition.autosplit.mode records with keys are stored in the partition that has the key; the base
offset is -1 if some of a batch were moved.  Batches that make a transaction too wide, or begin one for which
there is no memory (docs/transactions.md), answer POLICY_VIOLATION.
Version notes: versions below 3 close the connection (KAFKA-18659: min 0 is listed only so that librdkafka <
2.11 compresses); v7 zstd (KIP-110); v8 error messages (KIP-467); v9 flexible; v10 current leader (KIP-951);
v13 topic ids (KIP-516).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from broker.catalogue.appending import check_may_append
from broker.catalogue.outlets import open_outlet_of, outlet_of, router_of
from broker.catalogue.queue_lengths import check_length, has_length
from broker.catalogue.view_admin import check_writable
from broker.coordinators.enlistment import Admission, Batch, NotAdmitted
from broker.coordinators.transactional_rights import denial, is_denied
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import ITEMS_PER_STEP, Until, WaitingSteps, emptied, in_slices, in_thread
from broker.security.authorized_operations import Operation
from broker.storage.append import any_length, append_batch, before_leader
from broker.storage.batch_changes import Rewriting
from broker.storage.deduplication import Placement, targets_of
from broker.storage.inspection import Inspection, inspect_here, inspection_takes_long
from broker.storage.pending_produce import (
    ACKS_NONE,
    PARTITIONS_PER_SLICE,
    PendingProduce,
    answer_nothing,
    own_records,
    partition_count,
)
from broker.storage.produce_times import ReadTimes, UnreadTimes
from broker.storage.value_inspection import inspected
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
from protocol.records import HEADER_BYTES, read_batch_header

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.config.topic_settings import TopicSettings
    from broker.core import Broker
    from broker.storage.partition import Partition

APPENDS_PER_COMMIT = 400
"""The batches of one request that wait for the disk together, in one frame with those of others."""

TOPIC_IDS_SINCE_VERSION = 13

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


def handle(broker: Broker, call: Call[ProduceRequest]) -> Parked | WaitingSteps:
    """Append each partition's batch, then answer as `acks` asks."""
    count = partition_count(call.request)
    if count > PARTITIONS_PER_SLICE and not call.data_owned:
        own_records(call)
    steps = _append_all(broker, call)
    answer: Parked | WaitingSteps = in_slices(steps, count, per_slice=PARTITIONS_PER_SLICE)
    return answer


def _append_all(broker: Broker, call: Call[ProduceRequest]) -> WaitingSteps:
    transactional_id = call.request.transactional_id
    if call.rights is not None and (yield from is_denied(call.rights, call.request)):
        if call.request.acks == ACKS_NONE:
            answer_nothing(call, failed=True)
            return PARKED
        return (yield from denial(call.request))
    if transactional_id is None:
        return (yield from _append_admitted(broker, call, None))
    admission = Admission(broker.coordinators, transactional_id, call.version)
    try:
        batches = yield from _transactional_batches(broker, call)
        yield from admission.ask(batches, lambda: None if call.data_owned else own_records(call))
        answer = yield from _append_admitted(broker, call, admission)
        yield from admission.released()
        yield from emptied(batches)
        return answer
    finally:
        admission.release()


def _transactional_batches(
    broker: Broker, call: Call[ProduceRequest]
) -> Generator[Until | None, None, list[Batch]]:
    """Return the batches of the request that say they are part of a transaction; they are not checked yet."""
    found: list[Batch] = []
    done = 0
    for topic_data in call.request.topic_data:
        done += 1
        if not done % ITEMS_PER_STEP:
            yield None
        topic = _find_topic(broker, call, topic_data)
        for data in topic_data.partition_data:
            done += 1
            if not done % ITEMS_PER_STEP:
                yield None
            records = data.records
            if records is None or len(records) < HEADER_BYTES:
                continue
            header = read_batch_header(records)
            if not header.is_transactional:
                continue
            with suppress(RequestError):
                # What cannot be written to is refused below, whatever the transaction.
                partition = _find_partition(broker, call, topic, data.index)
                found.append(Batch(partition, header.producer_id, header.producer_epoch))
    return found


def _append_admitted(broker: Broker, call: Call[ProduceRequest], admission: Admission | None) -> WaitingSteps:
    request = call.request
    response = ProduceResponse(responses=[])
    pending = PendingProduce(call, response, broker.scheduler.offload)
    failed, done = False, 0
    for number, topic_data in enumerate(request.topic_data):
        if not topic_data.partition_data:
            if not number % ITEMS_PER_STEP:
                yield None
            continue
        topic = _find_topic(broker, call, topic_data)
        answers: list[PartitionProduceResponse] = []
        for data in topic_data.partition_data:
            inspection = None
            routed = False
            if not isinstance(topic, RequestError) and topic.view is None:
                settings = broker.topics.settings(topic)
                routed = settings.routes_records
                # Nothing is imported for topics whose partitions do not split.
                reads_keys = routed and broker.splits.reads_keys(topic, data.index, settings)
                opens = settings.opens_batches or reads_keys
                if settings.checks_values or (opens and inspection_takes_long(data.records, settings)):
                    pending.await_appends()
                    if not call.data_owned:
                        own_records(call)
                    inspection = yield from inspected(broker, data.records, settings)
                    # It may have been deleted meanwhile.
                    topic = _find_topic(broker, call, topic_data)
                    routed = True  # its settings may be others by now
            if routed:
                inspection = yield from _until_routed(
                    broker, call, topic_data, data, pending, inspection, admission
                )
                topic = _find_topic(broker, call, topic_data)
            answer = _produce(broker, call, topic, data, pending, inspection, admission)
            if not isinstance(answer, PartitionProduceResponse):
                answer = yield from _made_and_produced(
                    broker, call, topic_data, data, pending, inspection, admission, answer
                )
                topic = _find_topic(broker, call, topic_data)
            answers.append(answer)
            failed = failed or answer.error_code != 0
            data.records = None  # the log has them until they are written
            done += 1
            if not done % ITEMS_PER_STEP:
                pending.await_appends()
                # Small requests of others have their records in the frames between.
                yield pending.until_settled() if not done % APPENDS_PER_COMMIT else None
                topic = _find_topic(broker, call, topic_data)
        response.responses.append(
            TopicProduceResponse(
                name=topic_data.name, topic_id=topic_data.topic_id, partition_responses=answers
            )
        )
    if request.acks == ACKS_NONE and failed:
        answer_nothing(call, failed=True)
        return PARKED
    pending.await_appends()
    pending.settled()
    return PARKED


def _made_and_produced(
    broker: Broker,
    call: Call[ProduceRequest],
    topic_data: TopicProduceData,
    data: PartitionProduceData,
    pending: PendingProduce,
    inspection: Inspection | None,
    admission: Admission | None,
    unmade: Rewriting | UnreadTimes,
) -> WaitingSteps:
    """Append a batch after what threads have to do for it."""
    rewriting: Rewriting | None = None
    times: ReadTimes | None = None
    if not call.data_owned:
        own_records(call)
    while True:
        pending.await_appends()
        if isinstance(unmade, Rewriting):
            rewriting = yield from in_thread(broker.scheduler.offload, unmade.made)
        else:
            times = yield from in_thread(broker.scheduler.offload, unmade.made)
        # What is a repetition, or belongs elsewhere, may have changed; then it is made once more.
        topic = _find_topic(broker, call, topic_data)
        if not isinstance(topic, RequestError) and broker.topics.settings(topic).routes_records:
            inspection = yield from _until_routed(
                broker, call, topic_data, data, pending, inspection, admission
            )
            topic = _find_topic(broker, call, topic_data)
        answer = _produce(broker, call, topic, data, pending, inspection, admission, rewriting, times)
        if isinstance(answer, PartitionProduceResponse):
            return answer
        unmade = answer


def _until_routed(
    broker: Broker,
    call: Call[ProduceRequest],
    topic_data: TopicProduceData,
    data: PartitionProduceData,
    pending: PendingProduce,
    inspection: Inspection | None,
    admission: Admission | None,
) -> WaitingSteps:
    """Wait until a batch can be stored in all partitions that its records belong to; return what it has.

    No split of the topic is on its way then, and a transaction has all of these partitions.
    """

    def pause() -> None:
        pending.await_appends()
        if not call.data_owned:
            own_records(call)

    while True:
        topic = _find_topic(broker, call, topic_data)
        if isinstance(topic, RequestError) or data.records is None or len(data.records) < HEADER_BYTES:
            return inspection
        settings, header = broker.topics.settings(topic), read_batch_header(data.records)
        if not settings.routes_records:
            return inspection
        if (until := broker.splits.until_writable(topic)) is not None:
            pause()
            yield until
            continue
        if inspection is None or inspection.settings != settings:
            if not settings.opens_batches and not broker.splits.reads_keys(topic, data.index, settings):
                return None
            inspection = inspect_here(data.records, settings)
            if inspection is None:
                pause()
                inspection = yield from inspected(broker, data.records, settings)
                continue
        if admission is None or not header.is_transactional or not 0 <= data.index < topic.partition_count:
            return inspection
        partition = broker.topics.partition(topic, data.index)
        outlet = outlet_of(partition, broker.topics)
        found = targets_of(inspection, _place(broker, outlet, settings)) | {outlet.index}
        targets = [
            Batch(broker.topics.partition(topic, target), header.producer_id, header.producer_epoch)
            for target in found
            if target != partition.index
        ]
        if admission.has_all(Batch(partition, header.producer_id, header.producer_epoch), targets):
            return inspection
        pause()
        yield from admission.add(targets, pause)


def _find_topic(broker: Broker, call: Call[ProduceRequest], data: TopicProduceData) -> Topic | RequestError:
    by_id = call.version >= TOPIC_IDS_SINCE_VERSION
    topic = broker.catalogue.find_id(data.topic_id) if by_id else broker.catalogue.find(data.name)
    if by_id and topic is None:
        return RequestError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {data.topic_id}")
    name = data.name if topic is None else topic.name
    if call.rights is not None and not call.rights.may_topic(Operation.WRITE, name):
        return RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return topic or RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {data.name!r}")


def _produce(
    broker: Broker,
    call: Call[ProduceRequest],
    topic: Topic | RequestError,
    data: PartitionProduceData,
    pending: PendingProduce,
    inspection: Inspection | None,
    admission: Admission | None,
    rewriting: Rewriting | None = None,
    times: ReadTimes | None = None,
) -> PartitionProduceResponse | Rewriting | UnreadTimes:
    answer = PartitionProduceResponse(index=data.index, base_offset=-1)
    partition = None
    try:
        partition = _find_partition(broker, call, topic, data.index)
        settings = broker.topics.settings(partition.topic)
        outlet = open_outlet_of(partition, broker.topics) if settings.routes_records else partition
        result = append_batch(
            call,
            outlet,
            data.records,
            settings=settings,
            wall_ms=broker.clock.wall_ms(call.received_ms),
            inspection=inspection,
            admission=admission,
            place=_place(broker, outlet, settings) if settings.dedups else None,
            router=router_of(partition, broker.topics, settings),
            rewriting=rewriting,
            read_times=times,
            check_length=_length_check(broker, partition.topic),
        )
    except RequestError as error:
        # With a traceback it would refer, in a circle, to frames that keep the whole request in memory.
        error.__traceback__ = None
        if isinstance(error, UnreadTimes):
            return error
        error = before_leader(call, data.records, error)
        if partition is not None and _tells_log_start(error):
            answer.log_start_offset = partition.log_start
        answer.error_code, answer.error_message = error.code, error.message
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=why)
            for index, why in error.record_errors
        ]
        return answer
    if isinstance(result, Rewriting):
        return result
    answer.base_offset = result.base_offset
    answer.log_append_time_ms = result.append_time_ms
    answer.log_start_offset = partition.log_start
    pending.add(outlet.vnode, result.version, answer)
    if settings.kawal_partition_write_bytes_per_sec > 0 and data.records is not None:
        from broker.storage.write_speed import count_write

        here = max(0, len(data.records) - sum(size for _, size in result.moved))
        for written, size_bytes in ((outlet, here), *result.moved):
            count_write(broker, call, pending.response, written, settings, size_bytes)
        if settings.routes_records:
            broker.splits.stored(outlet, here, result.moved, inspection, settings)
    return answer


def _length_check(broker: Broker, topic: Topic) -> Callable[[int], None]:
    return partial(check_length, broker, topic) if has_length(broker, topic) else any_length


def _place(broker: Broker, partition: Partition, settings: TopicSettings) -> Placement:
    vnodes = broker.topics.vnodes_of(partition.topic)
    router = router_of(partition, broker.topics, settings)
    return Placement(partition, vnodes, settings, broker.clock.settled_wall_ms, router)


def _tells_log_start(error: RequestError) -> bool:
    return error.code in _TELLING_LOG_START and not isinstance(error, NotAdmitted)


def _find_partition(
    broker: Broker, call: Call[ProduceRequest], topic: Topic | RequestError, index: int
) -> Partition:
    if isinstance(topic, RequestError):
        # A copy: an error that the caller keeps would keep, by its traceback, the caller's frame and request.
        raise RequestError(topic.code, topic.message)
    if 0 <= index < topic.partition_count:
        check_may_append(topic, call.request.acks, call.client_id)
    partition = broker.topics.partition(topic, index)
    check_writable(topic)
    return partition
