"""The records that a partition of the simulation has, read without a client."""

from __future__ import annotations

from collections.abc import Iterator

from broker.storage.partition import Partition
from protocol.record_reader import Record, iter_records
from protocol.records import iter_batches, read_batch_header
from wal.segment import FileRange


def records_in(partition: Partition) -> Iterator[Record]:
    """Yield all records of a partition but for markers."""
    if partition.log_start == partition.high_watermark:
        return
    parts = partition.read(partition.log_start, 1 << 24).parts
    data = b"".join(part.read() if isinstance(part, FileRange) else bytes(part) for part in parts)
    for batch in iter_batches(data):
        if not read_batch_header(batch).is_control:
            yield from (
                record
                for record in iter_records(batch)
                if partition.log_start <= record.offset < partition.high_watermark
            )


def data_in(partition: Partition) -> Iterator[tuple[int, bytes]]:
    """Yield offset and value of all records of a partition but for markers."""
    return ((record.offset, bytes(record.value or b"")) for record in records_in(partition))
