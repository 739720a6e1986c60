"""The offsets and timestamps of a batch's records, read from a stream: a batch of any size in little memory.

`record_heads` (record_reader.py) is faster where a batch is opened anyway; here only the part of
the content that is being walked is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from protocol.compression import Readable
from protocol.decompressed_parts import decompressed_parts
from protocol.errors import Malformed
from protocol.record_reader import ZIGZAG, check_batch_header, read_varint
from protocol.records import HEADER_BYTES, BatchHeader, read_batch_header

_HEAD_BYTES_MAX = 5 + 1 + 10 + 5
"""Length, attributes, timestamp delta and offset delta of a record."""

_AT_FIRST = 64
"""Many lookups end with the first record; each time twice as many are read."""

_CUT = "cut: the batch ends here"

_VARLONG_BITS = 64
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class Times(NamedTuple):
    """The offsets of records that follow each other, and their timestamps in ms."""

    offsets: list[int]
    timestamps: list[int]


def record_times(batch: Readable, count: int) -> Iterator[Times]:
    """Yield the times of the batch at the start of `batch`, in order: of a few records, then of more.

    Takes about 0.4 µs per record, plus decompression.
    Raises: Malformed, after all records before that; DecompressedTooLarge.
    """
    header = read_batch_header(batch)
    check_batch_header(header, len(batch))
    if not header.record_count:
        return iter(())
    content = memoryview(batch)[HEADER_BYTES : header.size_bytes]
    found = _times(header, decompressed_parts(header.codec, content), count)
    if not header.is_append_time:
        return found
    return (Times(offsets, [header.max_timestamp] * len(offsets)) for offsets, _ in found)


def _times(header: BatchHeader, parts: Iterator[bytes], size_max: int) -> Iterator[Times]:
    body, at, done, size = b"", 0, 0, _AT_FIRST
    while done < header.record_count:
        part = next(parts, None)
        body, at = body[at:] + (part or b""), max(0, at - len(body))
        # The head of a record may go on in the next part.
        heads_end = len(body) if part is None else len(body) - _HEAD_BYTES_MAX
        if part is None and at >= len(body):
            raise Malformed(at, f"record {done}", _CUT)
        while at < heads_end and done < header.record_count:
            found = Times([], [])
            try:
                at = _walk(header, body, at, heads_end, min(size, header.record_count - done), done, found)
            except Malformed:
                yield found
                raise
            yield found
            done += len(found.offsets)
            size = min(2 * size, size_max)
    left = at - len(body)
    while left >= 0 and (part := next(parts, None)) is not None:
        left -= len(part)
    if left:
        follow = f"bytes follow the last of {header.record_count}"
        raise Malformed(at, "records", _CUT if left > 0 else follow)


def _walk(
    header: BatchHeader, body: bytes, at: int, heads_end: int, count: int, number: int, found: Times
) -> int:
    """Add the times of up to `count` records that begin before `heads_end`; return where they end.

    The first is the record with this `number` in its batch.  Varints are read in place where they have one
    byte or two, as they usually do.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta = header.last_offset_delta
    offsets, timestamps = found
    try:
        while at < heads_end and len(offsets) < count:
            if (low := body[at]) < 128:
                end = at + 1 + ZIGZAG[low]
                at += 2
            elif (high := body[at + 1]) < 128:
                end = at + 2 + ((pair := high << 7 | low & 127) >> 1 ^ -(pair & 1))
                at += 3
            else:
                length, at = read_varint(body, at)
                end = at + length
                at += 1
            if (low := body[at]) < 128:
                timestamp = base_timestamp + ZIGZAG[low]
                at += 1
            elif (high := body[at + 1]) < 128:
                timestamp = base_timestamp + ((pair := high << 7 | low & 127) >> 1 ^ -(pair & 1))
                at += 2
            else:
                timestamp, at = read_varint(body, at, _VARLONG_BITS)
                timestamp += base_timestamp
            delta, at = read_varint(body, at)
            if not (at <= end and 0 <= delta <= last_delta and _INT64_MIN <= timestamp <= _INT64_MAX):
                problem = f"by its length ends at byte {end}; offset delta {delta}, timestamp {timestamp}"
                raise Malformed(at, f"record {number + len(offsets)}", problem)
            at = end
            offsets.append(base_offset + delta)
            timestamps.append(timestamp)
    except IndexError:
        raise Malformed(len(body), f"record {number + len(offsets)}", _CUT) from None
    return at
