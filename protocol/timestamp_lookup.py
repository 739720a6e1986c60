"""Lookup of a batch's records by timestamp: the last step of ListOffsets, after the log's own index.

Only the first three fields of each record are read, a part of the batch at a time: 0.4 µs per record, plus
decompression, whatever the batch expands to.  A lookup is made of steps of RECORDS_PER_STEP records, so that
it can be put aside for others.

Source: Kafka 4.3, FileRecords.searchForTimestamp and RecordBatch.offsetOfMaxTimestamp; KIP-79, KIP-734.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeVar

from protocol.compression import Readable
from protocol.record_times import record_times
from protocol.records import read_batch_header

RECORDS_PER_STEP = 5_000
"""About 2 ms of a thread."""

T = TypeVar("T")


class TimestampedOffset(NamedTuple):
    """The result of a lookup by timestamp."""

    timestamp_ms: int
    offset: int


Lookup = Generator[None, None, TimestampedOffset | None]
"""The steps of a lookup; it ends with its result."""


def find_timestamp(batch: Readable, timestamp_ms: int, *, from_offset: int = 0) -> TimestampedOffset | None:
    """Do all steps of `timestamp_steps` at once."""
    return _at_once(timestamp_steps(batch, timestamp_ms, from_offset=from_offset))


def timestamp_steps(batch: Readable, timestamp_ms: int, *, from_offset: int = 0) -> Lookup:
    """Find the first record at or after `from_offset` whose timestamp is `timestamp_ms` or later, if any.

    ListOffsets answers this for a timestamp. It costs nothing when the header's greatest
    timestamp is earlier.

    Raises: Malformed.
    """
    if read_batch_header(batch).max_timestamp < timestamp_ms:
        return None
    for offsets, timestamps in record_times(batch, RECORDS_PER_STEP):
        if timestamps and max(timestamps) >= timestamp_ms and max(offsets) >= from_offset:
            for offset, timestamp in zip(offsets, timestamps, strict=True):
                if timestamp >= timestamp_ms and offset >= from_offset:
                    return TimestampedOffset(timestamp, offset)
        yield
    return None


def find_max_timestamp(batch: Readable, *, from_offset: int = 0) -> TimestampedOffset | None:
    """Do all steps of `max_timestamp_steps` at once."""
    return _at_once(max_timestamp_steps(batch, from_offset=from_offset))


def max_timestamp_steps(batch: Readable, *, from_offset: int = 0) -> Lookup:
    """Find the first record with the greatest timestamp of those at or after `from_offset`, if any.

    ListOffsets answers this for timestamp -3 (KIP-734). The records count, not what the header says of them.

    Raises: Malformed.
    """
    found: TimestampedOffset | None = None
    for offsets, timestamps in record_times(batch, RECORDS_PER_STEP):
        if found is None or max(timestamps, default=0) > found.timestamp_ms:
            for offset, timestamp in zip(offsets, timestamps, strict=True):
                if offset >= from_offset and (found is None or timestamp > found.timestamp_ms):
                    found = TimestampedOffset(timestamp, offset)
        yield
    return found


def _at_once(steps: Generator[None, None, T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
