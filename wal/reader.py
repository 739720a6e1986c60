"""Reads of a stream: whole batches, gathered from the extent that holds an offset on.

Extents are cut so that a reader that continues where it stopped is always at the beginning of one; only an
offset inside an extent costs a walk over the heads of its batches. Large runs are handed out as file
ranges. Small ones are the bytes that arrived if they are still in memory; otherwise they are read from the
file, neighbours together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wal.disk import Buffer
from wal.errors import LogDamaged, OffsetOutOfRange
from wal.format import BATCH_PREFIX
from wal.index import EXTENT_BYTES, SegmentIndex
from wal.locate import index_of, locate, next_with
from wal.scan import NO_TIMESTAMP
from wal.segment import FileRange, Segment
from wal.state import LogState
from wal.stream import Stream
from wal.tail import WASTE_MAX, pinned_bytes

FILE_RANGE_BYTES = 64 << 10
"""Runs of at least this size are handed out as file ranges: below it, sendfile costs more than it saves."""

SPAN_GAP_BYTES = 16 << 10
"""Extents on disk at most this far apart are read with one call."""

SPAN_BYTES = 1 << 20
"""The largest such read."""

JOIN_BELOW_BYTES = 4 << 10
"""Cached batches smaller than this on average are joined once: one buffer is sent faster than many."""

Part = Buffer | FileRange


class ReadResult(NamedTuple):
    """Whole batches of a stream; `parts` are bytes and file ranges in order."""

    parts: list[Part]
    size_bytes: int
    next_offset: int
    """The offset at which to continue."""


@dataclass(slots=True)
class Piece:
    """A part of one extent to hand out."""

    segment: Segment
    position: int
    size: int
    extent_position: int


def read(
    state: LogState, stream_id: int, offset: int, max_bytes: int, *, minimum_one: bool = True
) -> ReadResult:
    """Return whole batches from the one that holds `offset`; see VnodeLog.read."""
    stream = state.streams.get(stream_id)
    log_start, end = (stream.log_start, stream.high_watermark) if stream is not None else (0, 0)
    if not log_start <= offset <= end:
        raise OffsetOutOfRange(stream_id, offset, log_start, end)
    if stream is None or offset == end:
        return ReadResult([], 0, offset)
    pieces, next_offset = _gather(state, stream, offset, max_bytes, minimum_one=minimum_one)
    if not pieces and state.damage is not None and minimum_one:
        raise state.damage.with_traceback(None)
    size_bytes = sum(piece.size for piece in pieces)
    return ReadResult(_parts(state, pieces), size_bytes, next_offset)


def _gather(
    state: LogState, stream: Stream, offset: int, max_bytes: int, *, minimum_one: bool
) -> tuple[list[Piece], int]:
    """Return the pieces to hand out, and the offset after them."""
    pieces: list[Piece] = []
    total = 0
    for segment, index, row, start in extents_from(state, stream, offset):
        offset = max(offset, start)
        base, size, position = index.base[row], index.size[row], index.position[row]
        # Below the clean end, gaps are normal.
        if base > offset >= stream.clean_end and state.damage is not None:
            break
        damage = segment.damage
        if damage is not None and position < damage.end and position + size > damage.start:
            if total:
                break
            raise damage.with_traceback(None)
        next_offset = base + index.count[row]
        room = max_bytes - total
        if base >= offset and size <= room:
            pieces.append(Piece(segment, position, size, position))
            total += size
            offset = next_offset
            continue
        if base >= offset and (room <= max_bytes // 2 and total):
            break
        start, stop, reached = _cut(
            state, segment, position, size, offset=offset, end=next_offset, room=room,
            must=minimum_one and not total,
        )  # fmt: skip
        if stop > start:
            pieces.append(Piece(segment, position + start, stop - start, position))
            total += stop - start
            offset = reached
        if stop < size or total >= max_bytes:
            break
    return pieces, offset


def _cut(
    state: LogState,
    segment: Segment,
    position: int,
    size: int,
    *,
    offset: int,
    end: int,
    room: int,
    must: bool,
) -> tuple[int, int, int]:
    """Find the whole batches of an extent from `offset` on that fit into `room`, at least one if `must`.

    Returns their start and end in the extent, and the offset after them.
    """
    if size > EXTENT_BYTES:  # a single batch, by construction
        return (0, size, end) if must or size <= room else (0, 0, offset)
    start = stop = 0
    reached = offset
    for batch_start, batch_size, next_offset, _ in batches(extent_bytes(state, segment, position, size)):
        if next_offset <= offset:
            start = stop = batch_start + batch_size
            continue
        if batch_start + batch_size - start > room and not (must and stop == start):
            break
        stop = batch_start + batch_size
        reached = next_offset
        if stop - start >= room:
            break
    return start, stop, reached


def batches(data: Buffer) -> Iterator[tuple[int, int, int, int]]:
    """Yield start, size, next offset and max timestamp of every batch of an extent."""
    position = 0
    while position < len(data):
        prefix = BATCH_PREFIX.unpack_from(data, position)
        yield position, prefix[1] + 12, prefix[0] + prefix[6] + 1, prefix[8]
        position += prefix[1] + 12


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
        offset = clean_end
    yield from _slots_from(state, stream, offset, clean_end, since_ms)


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
        segment = next_with(state, stream.stream_id, segment, since_ms=since_ms)


Extents = Iterator[tuple[Segment, SegmentIndex, int, int]]
"""Extents: segment, its index, the row in it, and the offset below which its batches do not count."""


def extents_from(state: LogState, stream: Stream, offset: int) -> Extents:
    """Yield the same extents one by one."""
    for found in slots_from(state, stream, offset):
        segment, index, start = found.segment, found.index, found.data_start
        for row in found.rows[found.place :]:
            yield segment, index, row, start


def extent_bytes(state: LogState, segment: Segment, position: int, size: int) -> Buffer:
    """Return an extent's bytes, from memory if they are there."""
    cached = segment.tail.get(position)
    if cached is not None:
        if len(cached) > 1:
            cached = segment.tail[position] = [b"".join(cached)]
        return cached[0]
    data = segment.open_shared(state.disk).file.read_at(position, size)
    if len(data) < size:
        raise _too_short(segment, position + len(data), position + size)
    return data


def _too_short(segment: Segment, start: int, end: int) -> LogDamaged:
    return LogDamaged(segment.path, start, end, "the file ends too early")


def _parts(state: LogState, pieces: list[Piece]) -> list[Part]:
    """Return bytes or file ranges for the pieces, contiguous ones together."""
    parts: list[Part] = []
    start = 0
    while start < len(pieces):
        stop, size = start + 1, pieces[start].size
        while stop < len(pieces) and _contiguous(pieces[stop - 1], pieces[stop]):
            size += pieces[stop].size
            stop += 1
        if size >= FILE_RANGE_BYTES:
            parts.append(_range(state, pieces[start], size))
        elif all(piece.extent_position in piece.segment.tail for piece in pieces[start:stop]):
            for piece in pieces[start:stop]:
                parts += _cached(piece)
        else:
            stop = _span(pieces, start, stop)
            parts += _from_disk(state, pieces[start:stop])
        start = stop
    return parts


def _contiguous(one: Piece, other: Piece) -> bool:
    return one.segment is other.segment and one.position + one.size == other.position


def _range(state: LogState, piece: Piece, size: int) -> FileRange:
    shared = piece.segment.open_shared(state.disk)
    return FileRange(shared, piece.position, size, maybe_cold=piece.extent_position not in piece.segment.tail)


def _cached(piece: Piece) -> list[Buffer]:
    """Return the bytes of a piece as they arrived."""
    tail = piece.segment.tail
    buffers = tail[piece.extent_position]
    whole = piece.position == piece.extent_position and piece.size == sum(map(len, buffers))
    joins = len(buffers) > 1 and (not whole or piece.size < JOIN_BELOW_BYTES * len(buffers))
    if joins or pinned_bytes(buffers) > WASTE_MAX * piece.size + FILE_RANGE_BYTES:
        # In the latter case a client that is slow to take them would keep whole requests in memory.
        buffers = tail[piece.extent_position] = [b"".join(buffers)]
    if whole:
        return buffers
    start = piece.position - piece.extent_position
    return [memoryview(buffers[0])[start : start + piece.size]]


def _span(pieces: list[Piece], start: int, stop: int) -> int:
    """Return the end of the pieces from `start` on that lie close enough together for one read."""
    first = pieces[start]
    while stop < len(pieces):
        last, piece = pieces[stop - 1], pieces[stop]
        gap = piece.position - (last.position + last.size)
        if (
            piece.segment is not first.segment
            or not 0 <= gap <= SPAN_GAP_BYTES
            or piece.size >= FILE_RANGE_BYTES
            or piece.position + piece.size - first.position > SPAN_BYTES
            or piece.extent_position in piece.segment.tail
        ):
            break
        stop += 1
    return stop


def _from_disk(state: LogState, pieces: list[Piece]) -> list[Part]:
    """Read the pieces with one call when they are in the page cache; else hand out file ranges."""
    first, last = pieces[0], pieces[-1]
    shared = first.segment.open_shared(state.disk)
    size = last.position + last.size - first.position
    data = shared.file.read_at_if_cached(first.position, size)
    if data is not None and len(data) < size:
        raise _too_short(first.segment, first.position + len(data), first.position + size)
    if data is None:
        return [FileRange(shared, piece.position, piece.size, maybe_cold=True) for piece in pieces]
    if len(pieces) == 1:
        return [data]
    view = memoryview(data)
    starts = [piece.position - first.position for piece in pieces]
    return [view[start : start + piece.size] for start, piece in zip(starts, pieces, strict=True)]
