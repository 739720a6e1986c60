"""Headers added to every record of a batch: the records are spliced, not decoded and encoded again.

A view over many topics says in them where a record comes from. Keys, values and the records' own headers are
copied unchanged; only lengths, the header counts and the batch's header change.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from protocol.compression import OUTPUT_BYTES_MAX, Readable
from protocol.errors import Malformed
from protocol.record_reader import open_batch, read_varint, record_heads
from protocol.record_writer import VARINTS
from protocol.records import (
    APPEND_TIME,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    PREFIX_BYTES,
    BatchHeader,
    read_batch_header,
    renew_crc,
)

RECORDS_PER_STEP: Final = 200
"""Records between two looks at the time: 0.4 to 0.8 ms."""

BYTES_PER_STEP: Final = 512 << 10
"""Bytes of larger records, whose copies take as long."""

_NO_HEADER: Final = bytes(HEADER_BYTES)


def encoded_header(name: str, value: bytes) -> bytes:
    """Return one header as it is encoded in a record."""
    key = name.encode()
    return VARINTS[len(key)] + key + VARINTS[len(value)] + value


def with_headers(
    batch: Readable,
    headers_of: Callable[[int], bytes],
    count: int,
    *,
    base_offset: int,
    leader_epoch: int = 0,
    limit_bytes: int = OUTPUT_BYTES_MAX,
) -> bytearray:
    """Return the batch at the start of `batch` uncompressed, with `count` headers added to each record.

    `headers_of(offset)` gives the encoded headers for the record at an offset; they come after the record's
    own. The result begins at `base_offset` and keeps the distances between records and to its end, the
    timestamps and their type; it belongs to no producer and no transaction.
    Raises: Malformed; DecompressedTooLarge.
    """
    steps = with_headers_steps(
        batch,
        headers_of,
        count,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        limit_bytes=limit_bytes,
    )
    while True:
        try:
            next(steps)
        except StopIteration as done:
            made: bytearray = done.value
            return made


def with_headers_steps(
    batch: Readable,
    headers_of: Callable[[int], bytes],
    count: int,
    *,
    base_offset: int,
    leader_epoch: int = 0,
    limit_bytes: int = OUTPUT_BYTES_MAX,
    records: bytes | Malformed | None = None,
) -> Generator[None, None, bytearray]:
    """Return a batch as `with_headers` does, in steps: about 1.7 µs for a record of 100 bytes.

    `records`: what is in the batch, if it was opened already, or why it cannot be.
    Raises: Malformed; DecompressedTooLarge.
    """
    if isinstance(records, Malformed):
        raise records.with_traceback(None)
    header, body = open_batch(batch, limit_bytes) if records is None else (read_batch_header(batch), records)
    # All parts at once would take a turn of the event loop to join, and another to free.
    parts: list[bytes] = []
    varints, made = VARINTS, bytearray(_NO_HEADER)
    start, left, join_at = 0, RECORDS_PER_STEP, BYTES_PER_STEP
    try:
        for offset, _, at, end in record_heads(header, body):
            content = start + (1 if body[start] < 128 else 2 if body[start + 1] < 128 else 3)
            if content > start + 2:
                content = read_varint(body, start)[1]
            if (length := body[at]) < 128:
                at += 1 if length & 1 else 1 + (length >> 1)
            else:
                length, at = read_varint(body, at)
                at += max(0, length)
            if (length := body[at]) < 128:
                at += 1 if length & 1 else 1 + (length >> 1)
            else:
                length, at = read_varint(body, at)
                at += max(0, length)
            if body[at]:
                own, after = read_varint(body, at)
            else:
                own, after = 0, at + 1
            if not (after <= end and own >= 0):
                raise Malformed(at, f"record of offset {offset}", f"its headers begin after its end, {end}")
            more = headers_of(offset)
            number = varints[own + count]
            parts.append(varints[at - content + len(number) + end - after + len(more)])
            parts += (body[content:at], number, body[after:end], more)
            start = end
            left -= 1
            if not left or start >= join_at:
                made += b"".join(parts)
                parts.clear()
                left, join_at = RECORDS_PER_STEP, start + BYTES_PER_STEP
                yield
    except IndexError:
        raise Malformed(
            len(body), f"batch at offset {header.base_offset}", "cut: a record ends here"
        ) from None
    made += b"".join(parts)
    return _with_header(made, header, base_offset, leader_epoch)


def _with_header(made: bytearray, header: BatchHeader, base_offset: int, leader_epoch: int) -> bytearray:
    """Give encoded records, which follow room for it, a header that is otherwise like this one."""
    HEADER.pack_into(
        made,
        0,
        base_offset,
        len(made) - PREFIX_BYTES,
        leader_epoch,
        MAGIC,
        0,
        header.attributes & APPEND_TIME,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        header.record_count,
    )
    renew_crc(made)
    return made
