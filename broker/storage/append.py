"""Appending one producer's batch to a partition: all that is checked, stamped and remembered per batch.

Source: the order of checks is that of Kafka 4.3's UnifiedLog.append (records, timestamps, producer state).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker.config.session_headers import session_headers
from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError, code_of, storage_error
from broker.loop.call import Call
from broker.storage.batch_changes import BatchChanges, Changed, Rewriting
from broker.storage.closed import alias_of, all_moved, check_sequence
from broker.storage.deduplication import Judged, Placement, judge
from broker.storage.inspection import Inspection, inspect, inspect_keys, takes_long
from broker.storage.moved_parts import Targets, TransactionCheck, append_parts
from broker.storage.partition import Partition
from broker.storage.produce_guards import check_produce
from broker.storage.produce_times import ReadTimes, stamp_times
from broker.storage.routing import Router, moved_by_key
from protocol.batch_check import ZSTD_SINCE_VERSION, BatchRefused, check_batch, check_shape
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest
from protocol.record_reader import Headers
from protocol.records import BatchHeader
from wal.disk import DiskError
from wal.errors import StreamDropped, WalError
from wal.producer_errors import (
    InvalidProducerEpoch,
    InvalidSequence,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerError,
)
from wal.stream_producers import Duplicate, New, ProducerStamp

NO_RECORDS = "no records for the partition"

_PRODUCER_CODES: dict[type[ProducerError], ErrorCode] = {
    InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    InvalidSequence: ErrorCode.INVALID_RECORD,
    InvalidTransactionState: ErrorCode.INVALID_TXN_STATE,
    OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
}


ALL_NEW = Judged(frozenset(), None)
"""The verdict on a batch of a topic without kawal.dedup=seqno."""


class AppendResult(NamedTuple):
    """The producer's answer about its batch, due only when `version` is as safe as it asked for.

    `base_offset` is -1 for a batch of nothing but repetitions, of which nothing was stored, and for one of
    which records were stored in other partitions.
    """

    base_offset: int
    append_time_ms: int
    version: int
    moved: tuple[tuple[Partition, int], ...] = ()
    """The partitions that others of its records were stored in, and the bytes that they take there."""


def any_length(_count: int) -> None:
    """Accept so many more records: the topic's length is not limited."""


def append_batch(
    call: Call[ProduceRequest],
    partition: Partition,
    records: bytes | bytearray | memoryview | None,
    *,
    settings: TopicSettings,
    wall_ms: int,
    inspection: Inspection | None = None,
    admission: TransactionCheck | None = None,
    place: Placement | None = None,
    router: Router | None = None,
    rewriting: Rewriting | None = None,
    read_times: ReadTimes | None = None,
    check_length: Callable[[int], None] = any_length,
) -> AppendResult | Rewriting:
    """Check the batch against its topic's settings and add it to its vnode's open frame.

    `wall_ms` is the time of day. `inspection` is what `inspect` has found, if that was called already.
    `admission` tells which transactional batches may be stored; without it none. A topic with
    kawal.dedup=seqno needs the `place`, one whose partitions split the `router`. `check_length(count)`
    refuses what a queue has no room for. What was sent to a closed partition goes to `partition`, its outlet.
    A Rewriting is returned when nothing was appended yet; `rewriting` is the last one, made.
    Raises: RequestError, with Kafka's code; nothing was appended. Of an UnreadTimes `read_times` is made.
    """
    header, batch = _checked_batch(records, settings, owned=call.data_owned, zstd=_knows_zstd(call))
    check_produce(partition, header, settings)
    closed = router.closed if router is not None else None
    if header.is_transactional:
        _check_transaction(admission, closed or partition, header)
    inspection = _inspected(batch, settings, inspection, router)
    append_time_ms = _check_content(batch, header, partition, settings, wall_ms, inspection, read_times)
    stamp = _stamp(header)
    try:
        if stamp is not None:
            known = _sequence_known(partition, closed, stamp)
            if isinstance(known, Duplicate):
                # The original may still be on its way to the disk: wait for everything appended so far.
                return AppendResult(known.base_offset, known.timestamp_ms, partition.vnode.last_version)
        check_length(header.last_offset_delta + 1)
        new = _judged(header, partition, inspection, place, router)
        if new.dropped and not new.is_new and stamp is None:
            # All of it is stored already, in an append that may still be on its way to the disk.
            partition.vnode.repeated_records += len(new.dropped)
            return AppendResult(-1, append_time_ms, partition.vnode.last_version)
        changed = _changed(call, batch, new, settings, rewriting)
        if isinstance(changed, Rewriting):
            return changed
        if isinstance(changed, Changed) or (closed is not None and stamp is not None):
            assert router is not None, "only in topics whose partitions split are records moved"
            targets = Targets(router, admission, settings)
            stored = append_parts(partition, header, changed, new, stamp, targets)
            return AppendResult(-1, append_time_ms, partition.vnode.last_version, stored)
        appended = partition.vnode.log.append(partition.stream_id, changed, producer=stamp, named=new.write)
    except ProducerError as error:
        raise RequestError(_PRODUCER_CODES[type(error)], str(error)) from error
    except (WalError, DiskError) as error:
        raise _not_stored(partition, stamp, closed, error) from error
    partition.vnode.last_version = appended.version
    partition.vnode.repeated_records += len(new.dropped)
    return AppendResult(appended.base_offset if closed is None else -1, append_time_ms, appended.version)


def append_plain(
    partition: Partition,
    records: memoryview,
    settings: TopicSettings,
    wall_ms: int,
    *,
    owned: bool,
    zstd: bool,
) -> AppendResult:
    """Do as `append_batch` with a batch outside of transactions, for a topic with none of the settings that
    refuse batches, open them, add to them or move them.

    `owned`: the bytes may be kept, and patched; `zstd`: that codec is known to the client.
    Raises: RequestError, as there; nothing was appended.
    """
    header, batch = _checked_batch(records, settings, owned=owned, zstd=zstd)
    append_time_ms = stamp_times(batch, header, settings, wall_ms, None)
    _check_size(header, settings)
    vnode, stream_id = partition.vnode, partition.stream_id
    stamp = None if header.producer_id < 0 else _stamp(header)
    try:
        if stamp is not None:
            known = vnode.log.producers(stream_id).check(stamp)
            if isinstance(known, Duplicate):
                # As there: the original may still be on its way to the disk.
                return AppendResult(known.base_offset, known.timestamp_ms, vnode.last_version)
        appended = vnode.log.append(stream_id, batch, producer=stamp)
    except ProducerError as error:
        raise RequestError(_PRODUCER_CODES[type(error)], str(error)) from error
    except (WalError, DiskError) as error:
        raise _not_stored(partition, stamp, None, error) from error
    vnode.last_version = appended.version
    return AppendResult(appended.base_offset, append_time_ms, appended.version)


def _sequence_known(partition: Partition, closed: Partition | None, stamp: ProducerStamp) -> New | Duplicate:
    if closed is not None:
        return check_sequence(closed, partition, stamp)
    return partition.vnode.log.producers(partition.stream_id).check(stamp)


def _check_content(
    batch: memoryview,
    header: BatchHeader,
    partition: Partition,
    settings: TopicSettings,
    wall_ms: int,
    inspection: Inspection | None,
    read_times: ReadTimes | None,
) -> int:
    """Check the records, as far as they were read, the times and the size; return the append time."""
    if inspection is not None:
        _refuse_flaws(inspection, partition)
    times = inspection.times if inspection is not None else None
    append_time_ms = stamp_times(batch, header, settings, wall_ms, times, read_times)
    _check_size(header, settings)
    return append_time_ms


def _check_size(header: BatchHeader, settings: TopicSettings) -> None:
    if header.size_bytes > settings.segment_bytes:
        raise RequestError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"the batch has {header.size_bytes} bytes, but a segment of the topic has at most"
            f" {settings.segment_bytes} (segment.bytes)",
        )


def _judged(
    header: BatchHeader,
    partition: Partition,
    inspection: Inspection | None,
    place: Placement | None,
    router: Router | None,
) -> Judged:
    if inspection is None or inspection.numbered is None:
        new = ALL_NEW
        if router is not None and inspection is not None and inspection.keys is not None:
            new = new._replace(moved=moved_by_key(inspection.keys, partition.index, router.tree))
    else:
        assert place is not None, "a topic with kawal.dedup=seqno needs the logs of its other partitions"
        new = judge(inspection.numbered, header, place)
    if router is not None and router.closed is not None and header.producer_id >= 0:
        return all_moved(new, partition.index, header.record_count)
    return new


def _stamp(header: BatchHeader) -> ProducerStamp | None:
    if header.producer_id < 0:
        return None
    return ProducerStamp(
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
        header.is_transactional,
    )


def _not_stored(
    partition: Partition,
    stamp: ProducerStamp | None,
    closed: Partition | None,
    error: WalError | DiskError,
) -> RequestError:
    """Return the refusal of a batch that the log has not taken; later ones must not come before it."""
    if isinstance(error, StreamDropped):
        return RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if stamp is not None:
        kept = stamp if closed is None else alias_of(stamp)
        partition.vnode.log.append_refused(partition.stream_id, kept)
    return storage_error(error)


def _inspected(
    batch: memoryview, settings: TopicSettings, found: Inspection | None, router: Router | None
) -> Inspection | None:
    """Return what is in a batch, by the settings in effect; None: nothing is asked.  Raises: RequestError."""
    if found is not None and found.settings == settings:
        return found
    if not settings.opens_batches:
        return inspect_keys(batch, settings) if router is not None and router.tree.divides else None
    if settings.checks_values:
        raise RequestError(
            ErrorCode.REQUEST_TIMED_OUT, "the topic's settings changed while its values were checked"
        )
    return inspect(batch, settings)


def _changed(
    call: Call[ProduceRequest],
    batch: memoryview,
    new: Judged,
    settings: TopicSettings,
    made: Rewriting | None,
) -> memoryview | Changed | Rewriting:
    """Return the batch to store, as several where records are moved, or what a thread has to do for it.

    Raises: RequestError.
    """
    added: Headers = ()
    if settings.kawal_session_headers:
        added = session_headers(settings.kawal_session_headers, call.client_id, call.request.transactional_id)
    if not new.dropped and not added and not new.moved:
        return batch
    changes = BatchChanges(new.dropped, added, new.moved)
    if made is not None and made.fits(changes):
        return made.result(settings)
    asked = Rewriting(changes, batch)
    return asked if takes_long(batch) else asked.made().result(settings)


def _checked_batch(
    records: bytes | bytearray | memoryview | None, settings: TopicSettings, *, owned: bool, zstd: bool
) -> tuple[BatchHeader, memoryview]:
    """Return the batch's header and its bytes, which may be kept and patched."""
    if records is None:
        raise RequestError(ErrorCode.INVALID_RECORD, NO_RECORDS)
    try:
        header = check_batch(records, size_limit_bytes=settings.max_message_bytes, zstd_allowed=zstd)
    except BatchRefused as error:
        raise RequestError(code_of(error.error_code), str(error)) from error
    batch = memoryview(records)[: header.size_bytes]
    # The next receive overwrites the shared receive buffer: a batch that lies there is copied.
    return header, batch if owned else memoryview(bytearray(batch))


def before_leader(
    call: Call[ProduceRequest], records: bytes | bytearray | memoryview | None, error: RequestError
) -> RequestError:
    """Return why a batch is refused at another node than its leader.

    What is no batch, or needs a transactional id and has none, is refused before the leader is looked for.
    """
    if error.code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return error
    if records is None:
        return RequestError(ErrorCode.INVALID_RECORD, NO_RECORDS)
    try:
        header = check_shape(records, zstd_allowed=_knows_zstd(call))
    except BatchRefused as refused:
        return RequestError(code_of(refused.error_code), str(refused))
    if call.request.transactional_id is None and header.is_transactional:
        return _without_id()
    return error


def _knows_zstd(call: Call[ProduceRequest]) -> bool:
    return call.version >= ZSTD_SINCE_VERSION


def _without_id() -> RequestError:
    return RequestError(
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch needs a transactional id"
    )


def _check_transaction(admission: TransactionCheck | None, partition: Partition, header: BatchHeader) -> None:
    if admission is None:
        raise _without_id()
    admission.check(partition, header)


def _refuse_flaws(inspection: Inspection, partition: Partition) -> None:
    """Refuse a batch that cannot be read, values that do not fit and, on compacted topics, keyless records.

    Raises: RequestError.
    """
    if inspection.flaw:
        raise RequestError(ErrorCode.INVALID_RECORD, inspection.flaw)
    if inspection.undecided:
        raise RequestError(ErrorCode.REQUEST_TIMED_OUT, inspection.undecided)
    if inspection.misfits:
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            f"{len(inspection.misfits)} records do not fit {partition.topic.name} (kawal.schema.validation)",
            record_errors=inspection.misfits,
        )
    if inspection.keyless:
        why = (
            "Compacted topic cannot accept message without key in topic partition"
            f" {partition.topic.name}-{partition.index}."
        )
        raise RequestError(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected",
            record_errors=tuple((index, why) for index in inspection.keyless),
        )
