"""Find records of a batch by timestamp: the last step of ListOffsets, behind the log's own index.

A batch is read only as far as the first three fields of its records, 0.8 µs each, plus decompression.

Source: Kafka 4.3, FileRecords.searchForTimestamp and RecordBatch.offsetOfMaxTimestamp; KIP-79, KIP-734.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from protocol.compression import OUTPUT_BYTES_MAX, Readable
from protocol.errors import Malformed
from protocol.record_reader import (
    INT64_MAX,
    INT64_MIN,
    VARLONG_BITS,
    ZIGZAG,
    check_end,
    open_batch,
    read_varint,
    refuse_record,
)
from protocol.records import NO_TIMESTAMP, read_batch_header


class TimestampedOffset(NamedTuple):
    """What a lookup by timestamp found."""

    timestamp_ms: int
    offset: int


def find_timestamp(
    batch: Readable, timestamp_ms: int, *, from_offset: int = 0, limit_bytes: int = OUTPUT_BYTES_MAX
) -> TimestampedOffset | None:
    """Return the first record at or behind `from_offset` whose timestamp is `timestamp_ms` or later, if any.

    What ListOffsets answers for a timestamp.  Costs 0.8 µs per record plus decompression, nothing when the
    header's greatest timestamp is earlier.

    Raises: Malformed.
    """
    if read_batch_header(batch).max_timestamp < timestamp_ms:
        return None
    for offset, timestamp in _timestamps(batch, limit_bytes):
        if timestamp >= timestamp_ms and offset >= from_offset:
            return TimestampedOffset(timestamp, offset)
    return None


def find_max_timestamp(
    batch: Readable, *, from_offset: int = 0, limit_bytes: int = OUTPUT_BYTES_MAX
) -> TimestampedOffset | None:
    """Return the first record with the greatest timestamp of those at or behind `from_offset`, if any.

    What ListOffsets answers for timestamp -3 (KIP-734).  The records count, not what the header says of them.

    Raises: Malformed.
    """
    found: TimestampedOffset | None = None
    for offset, timestamp in _timestamps(batch, limit_bytes):
        if offset >= from_offset and (found is None or timestamp > found.timestamp_ms):
            found = TimestampedOffset(timestamp, offset)
    return found


def corrected_max_timestamp(batch: Readable, limit_bytes: int = OUTPUT_BYTES_MAX) -> int:
    """Return the max timestamp that the header should carry: that of its records, at least -1.

    Kafka does this for every batch produced.  It costs 0.8 µs per record and decompression, so it is for
    headers that contradict themselves (`BatchHeader.has_plausible_max_timestamp`) and for tools.

    A broker that corrects must do so before it holds the greatest timestamp against its clock: Kafka accepts
    a batch whose header alone is in the future.

    Raises: Malformed.
    """
    if read_batch_header(batch).is_append_time:
        return read_batch_header(batch).max_timestamp
    greatest = max((timestamp for _, timestamp in _timestamps(batch, limit_bytes)), default=NO_TIMESTAMP)
    return max(greatest, NO_TIMESTAMP)


def _timestamps(batch: Readable, limit_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield (offset, timestamp) of each record; keys, values and headers are skipped and not checked."""
    header, body = open_batch(batch, limit_bytes)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.is_append_time else None
    last_delta = header.last_offset_delta
    at = number = 0
    try:
        for number in range(header.record_count):
            # As in record_reader, varints of one and two bytes are read in place.
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
            else:
                timestamp, at = read_varint(body, at, VARLONG_BITS)
                timestamp += base_timestamp
            if (low := body[at]) < 128:
                delta = ZIGZAG[low]
                at += 1
            elif (high := body[at + 1]) < 128:
                delta = (pair := high << 7 | low & 127) >> 1 ^ -(pair & 1)
                at += 2
            else:
                delta, at = read_varint(body, at)
            whole = at <= end <= len(body)
            if not (whole and 0 <= delta <= last_delta and INT64_MIN <= timestamp <= INT64_MAX):
                refuse_record(number, at, end, delta, timestamp)
            yield base_offset + delta, timestamp if append_time is None else append_time
            at = end
    except IndexError:
        raise Malformed(len(body), f"record {number}", "cut: the batch ends here") from None
    check_end(header, body, at)
