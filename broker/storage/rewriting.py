"""A producer's batch written anew, without some of its records (kawal.dedup=seqno) or with more headers.

What is left keeps its offsets, timestamps, codec and producer: the sequence numbers of an idempotent producer
count the records that were dropped, and so do the offsets that the answer gives to its records. Compaction
leaves such gaps, too, and every client steps over them.

Records that are moved to another partition are left out like dropped ones, and make a batch of their own
there (broker/storage/routing.py).

Headers that are added (kawal.session.headers) stand in place of a record's own of the same name.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import pairwise
from typing import NamedTuple

from protocol.compression import OUTPUT_BYTES_MAX
from protocol.errors import Malformed
from protocol.record_reader import Headers, Record, open_batch, records_in
from protocol.record_writer import empty_batch, encode_batch
from protocol.records import HEADER_BYTES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, BatchHeader

HEADER_LENGTHS_BYTES = 10
"""The most bytes that the lengths of a header take, and the longer length of its record."""


class Opened(NamedTuple):
    """A batch's header and records, each with the headers added."""

    header: BatchHeader
    records: list[Record]


def rewritten(opened: Opened, dropped: Container[int]) -> bytearray:
    """Return the batch without the records at these indexes. About 1 µs for each that is left."""
    header, every = opened
    records = [record for index, record in enumerate(every) if index not in dropped]
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


def moved_batches(opened: Opened, moved: Iterable[tuple[int, Iterable[int]]]) -> list[bytearray]:
    """Return a batch for each partition to which records are moved, with consecutive offsets from 0.

    A transactional batch stays one of its transaction; none has a sequence.
    """
    header, records = opened
    return [
        encode_batch(
            [records[index]._replace(offset=offset) for offset, index in enumerate(indexes)],
            codec=header.codec,
            producer_id=header.producer_id if header.is_transactional else NO_PRODUCER_ID,
            producer_epoch=header.producer_epoch if header.is_transactional else NO_PRODUCER_EPOCH,
            append_time_ms=header.max_timestamp if header.is_append_time else None,
            transactional=header.is_transactional,
        )
        for _, indexes in moved
    ]


def opened_with(batch: bytes | bytearray | memoryview, added: Headers = ()) -> Opened | None:
    """Return a batch's records, each with the headers added; 1 µs for each of 100 bytes.

    None if readers would refuse it with them, because it expands to too much.  Raises: Malformed.
    """
    header, body = open_batch(batch, OUTPUT_BYTES_MAX)
    grows_by = sum(len(name.encode()) + len(value or b"") + HEADER_LENGTHS_BYTES for name, value in added)
    if added and len(body) + header.record_count * grows_by > OUTPUT_BYTES_MAX:
        return None
    records = list(records_in(header, body))
    if any(later.offset <= earlier.offset for earlier, later in pairwise(records)):
        raise Malformed(HEADER_BYTES, "record offsets", "do not ascend")
    if added:
        names = {name for name, _ in added}
        records = [_with_headers(record, names, added) for record in records]
    return Opened(header, records)


def _with_headers(record: Record, names: Container[str], added: Headers) -> Record:
    own = tuple(header for header in record.headers if header[0] not in names)
    return record._replace(headers=(*own, *added))
