"""A producer's batch without some of its records, as kawal.dedup=seqno stores it.

The rest keeps its offsets, timestamps, codec and producer: the sequence numbers of an idempotent producer
count the records that were dropped, and so do the offsets that the answer gives to its records. Compaction
leaves such gaps, too, and every client steps over them.
"""

from __future__ import annotations

from collections.abc import Container

from protocol.record_reader import iter_records
from protocol.record_writer import empty_batch, encode_batch
from protocol.records import read_batch_header


def without(batch: bytes | bytearray | memoryview, dropped: Container[int]) -> bytearray:
    """Return the batch without the records at these indexes; about 2 µs for each record of 100 bytes.

    Raises: Malformed.
    """
    header = read_batch_header(batch)
    records = [record for index, record in enumerate(iter_records(batch)) if index not in dropped]
    if not records:
        return empty_batch(
            header.base_offset,
            header.last_offset,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
        )
    return encode_batch(
        records,
        codec=header.codec,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        append_time_ms=header.max_timestamp if header.is_append_time else None,
        transactional=header.is_transactional,
    )
