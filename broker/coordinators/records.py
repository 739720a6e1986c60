"""Appending a coordinator's records to its internal topic."""

from __future__ import annotations

from broker.storage.partition import Partition
from groups.effects import EncodedRecord, EndMarker, StagedRecords, Stamp
from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from protocol.records import NO_SEQUENCE, patch_append_time
from wal.format import EntryKind
from wal.stream_producers import ProducerStamp


def append_records(
    partition: Partition, records: list[EncodedRecord], wall_ms: int, stamp: Stamp | None = None
) -> None:
    """Append the records as one batch, using the space that is reserved for commits on a full disk.

    With a stamp, or StagedRecords, they are part of a producer's transaction.
    Raises: WalError, DiskError; nothing was appended.
    """
    if isinstance(records, StagedRecords):
        stamp = records.stamp
    numbered = [Record(number, wall_ms, key, value) for number, (key, value) in enumerate(records)]
    vnode = partition.vnode
    if stamp is None:
        appended = vnode.log.append(partition.stream_id, encode_batch(numbered), reserved=True)
    else:
        batch = encode_batch(
            numbered, producer_id=stamp.producer_id, producer_epoch=stamp.epoch, transactional=True
        )
        producer = ProducerStamp(
            stamp.producer_id, stamp.epoch, NO_SEQUENCE, len(numbered), is_transactional=True
        )
        appended = vnode.log.append(partition.stream_id, batch, producer=producer, reserved=True)
    vnode.last_version = appended.version


def append_marker(
    partition: Partition, marker: EndMarker, wall_ms: int, *, append_time: bool = False
) -> None:
    """Append the end of a producer's transaction, with the topic's kind of timestamps.

    Raises: WalError, DiskError; nothing was appended.
    """
    batch = transaction_marker_batch(
        commit=marker.commit,
        offset=0,
        timestamp_ms=wall_ms,
        producer_id=marker.producer_id,
        producer_epoch=marker.epoch,
        coordinator_epoch=marker.coordinator_epoch,
    )
    if append_time:
        patch_append_time(memoryview(batch), wall_ms)
    vnode = partition.vnode
    appended = vnode.log.append(partition.stream_id, batch, kind=EntryKind.CONTROL, reserved=True)
    vnode.last_version = appended.version
