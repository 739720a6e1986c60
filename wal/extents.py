"""The extents of a stream, in order: the copies that compaction made up to the clean end, then the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wal.checking import ExtentRef
from wal.index import SegmentIndex
from wal.locate import index_of, locate, next_with
from wal.scan import NO_TIMESTAMP
from wal.segment import Segment
from wal.state import LogState
from wal.stream import Stream


@dataclass(frozen=True, slots=True)
class Slots:
    """The extents of a stream in one segment, from a place on."""

    segment: Segment
    index: SegmentIndex
    stream_id: int
    """The stream that they are written under: of the compacted part, that of the copies."""
    rows: Sequence[int]
    """The rows of all its extents in the index."""
    place: int
    """The place in `rows` to begin at; it may be their number."""
    data_start: int
    """The offset below which its batches do not count."""


def slots_from(
    state: LogState, stream: Stream, offset: int, *, since_ms: int = NO_TIMESTAMP
) -> Iterator[Slots]:
    """Yield the extents from the one that holds `offset` on, by segment.

    First come the copies up to the clean end, then the extents as they were written. Segments after the first
    one may be left out when they have no record at or after the time `since_ms`.
    """
    if not stream.copies_id:
        yield from _slots_from(state, stream, offset, 0, since_ms)
        return
    clean_end = stream.clean_end
    if offset < clean_end:
        copies = state.streams.get(stream.copies_id)
        if copies is not None:
            yield from _slots_from(state, copies, offset, 0, since_ms)
            if state.damage is not None and not _is_whole(state, copies):
                return  # what follows is not the next record
        offset = clean_end
    yield from _slots_from(state, stream, offset, clean_end, since_ms)


def _is_whole(state: LogState, copies: Stream) -> bool:
    """Return whether the newest copies lie below the damage, and with them all others."""
    for segment in reversed(state.segments.all):
        found = index_of(state, segment).range_of(copies.stream_id)
        if found is not None:
            return found[1] == copies.high_watermark
    return False


def _slots_from(state: LogState, stream: Stream, offset: int, start: int, since_ms: int) -> Iterator[Slots]:
    segment = locate(state, stream, offset)
    while segment is not None:
        index = index_of(state, segment)
        rows: Sequence[int] | None = index.slots(stream.stream_id)
        if rows:
            place = max(0, index.place(rows, offset))
            row = rows[place]
            if index.base[row] + index.count[row] <= offset:
                place += 1
            yield Slots(segment, index, stream.stream_id, rows, place, start)
            last = rows[-1]
            if index.base[last] + index.count[last] >= stream.high_watermark:
                return  # no later segment has any: its index need not be opened to learn that
        segment = next_with(state, stream.stream_id, segment, since_ms=since_ms)


Extents = Iterator[tuple[Segment, SegmentIndex, int, int]]
"""Extents: segment, its index, the row in it, and the offset below which its batches do not count."""


def extents_from(state: LogState, stream: Stream, offset: int) -> Extents:
    """Yield the same extents one by one."""
    for found in slots_from(state, stream, offset):
        segment, index, start = found.segment, found.index, found.data_start
        for row in found.rows[found.place :]:
            yield segment, index, row, start


def owner(state: LogState, stream: Stream, data_start: int) -> Stream:
    """Return the stream under which an extent with this start was written: the copies', or the stream."""
    if stream.copies_id and stream.clean_end and not data_start:
        return state.streams.get(stream.copies_id, stream)
    return stream


def extent_ref(state: LogState, stream: Stream, slots: Slots, row: int) -> ExtentRef:
    """Return one of the extents."""
    return ExtentRef(slots.segment, slots.index, row, owner(state, stream, slots.data_start))
