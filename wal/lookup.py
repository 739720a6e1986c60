"""The search for records by their time: it finds the batch to look into, not the record in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wal.extents import extent_ref, extents_from, slots_from
from wal.locate import index_of
from wal.reader import batches, extent_bytes
from wal.scan import NO_TIMESTAMP
from wal.state import LogState
from wal.stream import Stream


class TimeHit(NamedTuple):
    """A batch whose largest timestamp is at least the one searched for."""

    base_offset: int
    next_offset: int
    max_timestamp: int
    batch: memoryview


def find_timestamp(state: LogState, stream: Stream, timestamp_ms: int, from_offset: int) -> TimeHit | None:
    """Return the first visible batch at or after `from_offset` with a record at or after `timestamp_ms`.

    Largest timestamps are compared, of blocks of extents and of the extents in one block, so usually only one
    extent is opened.
    """
    start = max(from_offset, stream.log_start)
    for found in slots_from(state, stream, start, since_ms=timestamp_ms):
        index, place = found.index, found.place
        start = max(start, found.data_start)
        while (place := index.place_since(found.stream_id, place, timestamp_ms)) < len(found.rows):
            row = found.rows[place]
            data = memoryview(extent_bytes(state, extent_ref(state, stream, found, row)))
            base = index.base[row]
            for position, size, next_offset, max_timestamp in batches(data):
                if next_offset > start and max_timestamp >= timestamp_ms:
                    return TimeHit(base, next_offset, max_timestamp, data[position : position + size])
                base = next_offset
            place += 1
    return None


def next_extent_since(
    state: LogState, stream: Stream, timestamp_ms: int, from_offset: int
) -> StreamExtent | int | None:
    """Return the first extent with data from an offset on that may have a record at or after the time.

    If there is none in the first segment that has any data from there on, return the offset at which to go
    on; None at the end.  Only indexes are asked, at most those of the segments up to that one.
    """
    start = max(from_offset, stream.log_start)
    for found in slots_from(state, stream, start, since_ms=timestamp_ms):
        index, rows = found.index, found.rows
        place = index.place_since(found.stream_id, found.place, timestamp_ms)
        if place == len(rows):
            end = index.base[rows[-1]] + index.count[rows[-1]]
            if end <= start:
                continue
            return end
        row = rows[place]
        base = max(index.base[row], found.data_start)
        return StreamExtent(
            base, index.base[row] + index.count[row], index.size[row], index.max_timestamp[row]
        )
    return None


def offset_since(state: LogState, stream: Stream, timestamp_ms: int, from_offset: int) -> int:
    """Return the first offset from `from_offset` on whose extent has a record at or after the time.

    It is the high watermark when there is none.
    """
    start = max(from_offset, stream.log_start)
    for found in slots_from(state, stream, start, since_ms=timestamp_ms):
        place = found.index.place_since(found.stream_id, found.place, timestamp_ms)
        if place < len(found.rows):
            return max(start, found.index.base[found.rows[place]], found.data_start)
    return stream.high_watermark


def max_timestamp(state: LogState, stream: Stream) -> tuple[int, int] | None:
    """Return the largest timestamp of the stream's visible batches and an offset in its extent.

    None when the stream is empty. Of equal timestamps the first one counts, as in Kafka.
    """
    if stream.high_watermark <= stream.log_start:
        return None
    if stream.max_timestamp_offset >= stream.log_start:
        return stream.max_timestamp, stream.max_timestamp_offset
    best: tuple[int, int] | None = None
    for slots in slots_from(state, stream, stream.log_start):
        index, rows, place = slots.index, slots.rows, slots.place
        start = max(stream.log_start, slots.data_start)
        found = []
        if place < len(rows) and index.base[rows[place]] < start:
            # Part of this extent is deleted; the rest may have a lower maximum.
            row = rows[place]
            data = extent_bytes(state, extent_ref(state, stream, slots, row))
            visible = [timestamp for _, _, next_offset, timestamp in batches(data) if next_offset > start]
            found.append((max(visible, default=NO_TIMESTAMP), start))
            place += 1
        if place < len(rows):
            timestamp, at = index.newest_from(slots.stream_id, place)
            found.append((timestamp, index.base[rows[at]]))
        for timestamp, offset in found:
            if best is None or timestamp > best[0]:
                best = timestamp, offset
    if best is not None:
        stream.max_timestamp, stream.max_timestamp_offset = best
    return best


class StreamExtent(NamedTuple):
    """A run of a stream's batches."""

    base_offset: int
    next_offset: int
    size_bytes: int
    max_timestamp: int


def stream_extents(state: LogState, stream: Stream, from_offset: int) -> Iterator[StreamExtent]:
    """Yield the visible extents from the one with `from_offset` on, which may begin below the log start."""
    for _, index, row, data_start in extents_from(state, stream, max(from_offset, stream.log_start)):
        base = index.base[row]
        next_offset = base + index.count[row]
        yield StreamExtent(max(base, data_start), next_offset, index.size[row], index.max_timestamp[row])


def end_of_data(state: LogState, stream_id: int) -> int:
    """Return the offset after the stream's last stored batch; 0 when there is none."""
    stream = state.streams.get(stream_id)
    clean_end = stream.clean_end if stream is not None else 0
    for segment in reversed(state.segments.all):
        offsets = index_of(state, segment).range_of(stream_id)
        if offsets is not None:
            return max(offsets[1], clean_end)
    return clean_end


def bytes_between(state: LogState, stream: Stream, start: int, offset: int) -> int:
    """Return the total size of the extents from the one with `start` on that end at or below `offset`."""
    total = 0
    for found in slots_from(state, stream, start):
        index, rows, place = found.index, found.rows, found.place
        end = index.place(rows, offset) + 1
        if end and index.base[rows[end - 1]] + index.count[rows[end - 1]] > offset:
            end -= 1
        if end > place:
            total += index.bytes_of(rows[place:end])
        if index.base[rows[-1]] + index.count[rows[-1]] >= offset:
            break  # the next segment has none of them: its index need not be opened to learn that
    return total
