"""The records that dead letters are copies of, read once more from where they lie."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from functools import partial

from broker.fetching.pieces import PIECE_BYTES, read_piece
from broker.loop.loop import Loop
from broker.loop.slices import Until, in_thread
from broker.storage.partition import Partition
from broker.view_topics.view_partition import ViewRead
from groups.share.record_range import StoredRange
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records
from protocol.records import iter_batches, read_batch_header

logger = logging.getLogger("kawal.broker")

Found = tuple[list[StoredRange], dict[int, Record]]


def originals_of(
    source: Partition, ranges: Sequence[StoredRange], max_bytes: int, loop: Loop
) -> Generator[Until | None, None, Found]:
    """Return as many of these ranges, from the first record on, as `max_bytes` allow, and their records.

    Records that the log no longer has, or that cannot be read, are missing; their offsets are not.
    Raises: WalError, DiskError.
    """
    found: dict[int, Record] = {}
    looked_at: list[StoredRange] = []
    size_bytes = 0
    for part in ranges:
        offset = max(part.first, source.log_start)
        end = min(part.last + 1, source.high_watermark)
        while offset < end:
            read = ViewRead(offset, PIECE_BYTES, minimum_one=True, now_ms=loop.clock.turn_ms)
            # The batch with the last one may go on after it.
            piece = yield from read_piece(source, read, source.high_watermark, loop.scheduler.offload)
            if piece.end <= offset:
                break
            first, last = offset, min(piece.end, end) - 1
            between = partial(_between, piece.data, first, last)
            records = yield from in_thread(loop.scheduler.offload, between)
            found.update((record.offset, record) for record in records)
            size_bytes += sum(_size_of(record) for record in records)
            offset = piece.end
            if size_bytes >= max_bytes and offset < end:
                looked_at.append(part._replace(last=offset - 1))
                return looked_at, found
        looked_at.append(part)
        if size_bytes >= max_bytes:
            break
    return looked_at, found


def _between(data: memoryview, first: int, last: int) -> list[Record]:
    """Return the records between two offsets; batches that cannot be read have none."""
    records: list[Record] = []
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        if header.is_control or header.last_offset < first or header.base_offset > last:
            continue
        try:
            records += [record for record in iter_records(batch) if first <= record.offset <= last]
        except ProtocolError as error:
            logger.error(
                "dead letters of a batch at offset %d have no content: %s", header.base_offset, error
            )
    return records


def _size_of(record: Record) -> int:
    headers = sum(len(value or b"") for _, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
