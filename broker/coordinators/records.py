"""Appending a coordinator's records to its internal topic."""

from __future__ import annotations

from broker.storage.partition import Partition
from groups.effects import EncodedRecord, EndMarker, StagedRecords, Stamp
from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from protocol.records import NO_SEQUENCE, patch_append_time
from wal.format import EntryKind
from wal.stream_producers import ProducerStamp
from wal.transactions import TransactionMarker


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


class MarkerBatch:
    """The end of a producer's transaction as a control batch: made once, copied for each partition."""

    __slots__ = ("_batch", "_stamped", "_wall_ms", "marker")

    def __init__(self, end: EndMarker, wall_ms: int) -> None:
        """Make the batch with this time."""
        self.marker = TransactionMarker(*end)
        self._wall_ms = wall_ms
        self._batch = transaction_marker_batch(
            commit=end.commit,
            offset=0,
            timestamp_ms=wall_ms,
            producer_id=end.producer_id,
            producer_epoch=end.epoch,
            coordinator_epoch=end.coordinator_epoch,
        )
        self._stamped: bytearray | None = None

    def append(self, partition: Partition, *, append_time: bool = False) -> None:
        """Append it to a partition, with the topic's kind of timestamps.

        Raises: WalError, DiskError; nothing was appended.
        """
        batch = bytearray(self._with_append_time() if append_time else self._batch)
        vnode = partition.vnode
        appended = vnode.log.append(
            partition.stream_id, batch, kind=EntryKind.CONTROL, producer=self.marker, reserved=True
        )
        vnode.last_version = appended.version

    def _with_append_time(self) -> bytearray:
        if self._stamped is None:
            self._stamped = self._batch[:]
            patch_append_time(memoryview(self._stamped), self._wall_ms)
        return self._stamped
