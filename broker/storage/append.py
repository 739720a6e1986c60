"""Appending one producer's batch to a partition: all that is checked, stamped and remembered per batch.

Source: the order of checks is that of Kafka 4.3's UnifiedLog.append (records, timestamps, producer state).
"""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple, Protocol

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError, code_of, storage_error
from broker.loop.call import Call
from broker.storage.partition import Partition
from broker.storage.produce_guards import check_produce
from protocol.batch_check import BatchRefused, TimestampOutOfRange, check_batch, check_timestamps
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.messages.produce import ProduceRequest
from protocol.record_reader import iter_records
from protocol.records import (
    HEADER_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
    patch_append_time,
    patch_create_time,
    read_batch_header,
)
from protocol.timestamp_lookup import corrected_max_timestamp
from wal.disk import DiskError
from wal.errors import StreamDropped, WalError
from wal.producer_errors import (
    InvalidProducerEpoch,
    InvalidSequence,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerError,
)
from wal.stream_producers import Duplicate, ProducerStamp

ZSTD_SINCE_VERSION = 7

RECORD_ERRORS_MAX = 1000
"""The most refused records named in one answer: a million wrong ones should not make an answer of 100 MB."""

DOUBTFUL_RECORDS_MAX = 20_000
"""The most records that are read because their batch's header gives no credible time: about 25 ms."""

OPENED_RECORDS_MAX: Final = 200
"""The most records of a batch for a compacted topic that are opened on the event loop: about 0.4 ms."""

OPENED_BYTES_MAX: Final = 64 << 10
"""The largest such batch."""

_PRODUCER_CODES: dict[type[ProducerError], ErrorCode] = {
    InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    InvalidSequence: ErrorCode.INVALID_RECORD,
    InvalidTransactionState: ErrorCode.INVALID_TXN_STATE,
    OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
}


Keyless = tuple[int, ...] | Malformed
"""The first records of a batch without a key, or the reason why the batch cannot be opened."""


class TransactionCheck(Protocol):
    """Says which transactional batches may be stored."""

    def check(self, partition: Partition, header: BatchHeader) -> None:
        """Check that a batch is part of its producer's open transaction.  Raises: RequestError."""


class AppendResult(NamedTuple):
    """The producer's answer about its batch, due only when `version` is as safe as it asked for."""

    base_offset: int
    append_time_ms: int
    version: int


def append_batch(
    call: Call[ProduceRequest],
    partition: Partition,
    records: bytes | bytearray | memoryview | None,
    *,
    settings: TopicSettings,
    wall_ms: int,
    keyless: Keyless | None = None,
    admission: TransactionCheck | None = None,
) -> AppendResult:
    """Check the batch against its topic's settings and add it to its vnode's open frame.

    `wall_ms` is the time of day: the batch's append time, and the present for limits on timestamps.
    `keyless` is what `look_for_keys` has found, if that was called already. `admission` tells which
    transactional batches may be stored; without it none.

    Raises: RequestError, with Kafka's code; nothing was appended.
    """
    header, batch = _checked_batch(call, settings, records)
    check_produce(partition, header, settings)
    if header.is_transactional:
        _check_transaction(admission, partition, header)
    try:
        append_time_ms = _stamp_time(batch, header, settings, wall_ms)
        if settings.compacts:
            _refuse_missing_keys(keyless_records(batch) if keyless is None else keyless, partition)
    except Malformed as error:
        raise RequestError(ErrorCode.INVALID_RECORD, str(error)) from error
    if header.size_bytes > settings.segment_bytes:
        raise RequestError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"the batch has {header.size_bytes} bytes, but a segment of the topic has at most"
            f" {settings.segment_bytes} (segment.bytes)",
        )
    log = partition.vnode.log
    stamp = None
    try:
        if header.producer_id >= 0:
            stamp = ProducerStamp(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.record_count,
                header.is_transactional,
            )
            known = log.producers(partition.stream_id).check(stamp)
            if isinstance(known, Duplicate):
                # The original may still be on its way to the disk: wait for everything appended so far.
                return AppendResult(known.base_offset, known.timestamp_ms, partition.vnode.last_version)
        appended = log.append(partition.stream_id, batch, producer=stamp)
    except ProducerError as error:
        raise RequestError(_PRODUCER_CODES[type(error)], str(error)) from error
    except StreamDropped as error:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) from error
    except (WalError, DiskError) as error:
        if stamp is not None:
            log.append_refused(partition.stream_id, stamp)
        raise storage_error(error) from error
    partition.vnode.last_version = appended.version
    return AppendResult(appended.base_offset, append_time_ms, appended.version)


def _checked_batch(
    call: Call[ProduceRequest], settings: TopicSettings, records: bytes | bytearray | memoryview | None
) -> tuple[BatchHeader, memoryview]:
    """Return the batch's header and its bytes, which may be kept and patched."""
    if records is None:
        raise RequestError(ErrorCode.INVALID_RECORD, "no records for the partition")
    try:
        header = check_batch(
            records,
            size_limit_bytes=settings.max_message_bytes,
            zstd_allowed=call.version >= ZSTD_SINCE_VERSION,
        )
    except BatchRefused as error:
        raise RequestError(code_of(error.error_code), str(error)) from error
    batch = memoryview(records)[: header.size_bytes]
    # The next receive overwrites the shared receive buffer: a batch that lies there is copied.
    return header, batch if call.data_owned else memoryview(bytearray(batch))


def _check_transaction(admission: TransactionCheck | None, partition: Partition, header: BatchHeader) -> None:
    if admission is None:
        raise RequestError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch needs a transactional id"
        )
    admission.check(partition, header)


def _stamp_time(batch: memoryview, header: BatchHeader, settings: TopicSettings, wall_ms: int) -> int:
    """Set the batch's timestamps as the topic says; return the append time, -1 with CreateTime."""
    if header.is_append_time and (settings.append_time or header.max_timestamp == NO_TIMESTAMP):
        raise _append_time_refusal(header)
    if settings.append_time:
        patch_append_time(batch, wall_ms)
        return wall_ms
    believed = header.has_plausible_max_timestamp and _is_in_time(header, settings, wall_ms)
    if not believed:
        # The header alone may be wrong: the records count.
        _refuse_many_doubtful_records(header)
        header = header._replace(max_timestamp=corrected_max_timestamp(batch))
        if not _is_in_time(header, settings, wall_ms):
            _refuse_untimely_records(batch, settings, wall_ms)
    if header.is_append_time or not believed:
        # The log reads the header's maximum, and clients the append-time bit: both must be right.
        patch_create_time(batch, header.max_timestamp)
    return -1


def _is_in_time(header: BatchHeader, settings: TopicSettings, wall_ms: int) -> bool:
    try:
        check_timestamps(
            header,
            now_ms=wall_ms,
            before_max_ms=settings.message_timestamp_before_max_ms,
            after_max_ms=settings.message_timestamp_after_max_ms,
        )
    except TimestampOutOfRange:
        return False
    return True


def _refuse_many_doubtful_records(header: BatchHeader) -> None:
    """Refuse a batch whose records would take long to read; a batch of 16 KB may have two million."""
    if header.record_count > DOUBTFUL_RECORDS_MAX:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            f"the batch gives {header.max_timestamp} as its greatest timestamp, which is out of range, and"
            f" has {header.record_count} records; the records themselves are looked at if they are at most"
            f" {DOUBTFUL_RECORDS_MAX}",
        )


def _append_time_refusal(header: BatchHeader) -> RequestError:
    """Return the error for a batch with the append-time bit, which only the log may set."""
    errors = tuple(
        (index, "Producer should not set timestamp type to LogAppendTime.")
        for index in range(min(header.record_count, RECORD_ERRORS_MAX))
    )
    return RequestError(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        record_errors=errors,
    )


def _refuse_untimely_records(batch: memoryview, settings: TopicSettings, wall_ms: int) -> None:
    """Name the records whose time the topic does not accept (KIP-467); only now is the batch opened."""
    earliest = wall_ms - settings.message_timestamp_before_max_ms
    latest = wall_ms + settings.message_timestamp_after_max_ms
    errors = [
        (
            index,
            f"Timestamp {record.timestamp_ms} of message with offset {record.offset} is out of range. The"
            f" timestamp should be within [{earliest}, {latest}]",
        )
        for index, record in enumerate(iter_records(batch))
        if record.timestamp_ms != NO_TIMESTAMP and not earliest <= record.timestamp_ms <= latest
    ]
    if errors:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            "One or more records have been rejected due to invalid timestamp",
            record_errors=tuple(errors[:RECORD_ERRORS_MAX]),
        )


def takes_long(records: bytes | bytearray | memoryview | None) -> bool:
    """Whether to look for the keys of a batch, which is not checked yet, in a thread."""
    if records is None or len(records) < HEADER_BYTES:
        return False
    return len(records) > OPENED_BYTES_MAX or read_batch_header(records).record_count > OPENED_RECORDS_MAX


def look_for_keys(
    records: bytes | bytearray | memoryview, settings: TopicSettings, *, zstd_allowed: bool
) -> Keyless:
    """Do what `append_batch` does up to looking for keys, for a thread; a batch that it refuses gets ()."""
    try:
        header = check_batch(records, size_limit_bytes=settings.max_message_bytes, zstd_allowed=zstd_allowed)
    except BatchRefused:
        return ()
    return keyless_records(memoryview(records)[: header.size_bytes])


def keyless_records(batch: bytes | bytearray | memoryview) -> Keyless:
    """Return which records of a batch have no key, the first ones; the batch is opened for it."""
    try:
        numbered = enumerate(iter_records(batch))
        return tuple(islice((index for index, record in numbered if record.key is None), RECORD_ERRORS_MAX))
    except Malformed as error:
        return error


def _refuse_missing_keys(keyless: Keyless, partition: Partition) -> None:
    """Refuse records without a key, as a compacted topic keeps records by key."""
    if isinstance(keyless, Malformed):
        raise keyless
    if keyless:
        why = (
            "Compacted topic cannot accept message without key in topic partition"
            f" {partition.topic.name}-{partition.index}."
        )
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected",
            record_errors=tuple((index, why) for index in keyless),
        )
