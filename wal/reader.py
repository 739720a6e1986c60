"""Reads of a stream: whole batches, gathered from the extent that holds an offset on.

Extents are cut so that a reader that continues where it stopped is always at the beginning of one; only an
offset inside an extent costs a walk over the heads of its batches. Large runs are handed out as file
ranges. Small ones are the bytes that arrived if they are still in memory; otherwise they are read from the
file, neighbours together.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from wal.checking import ExtentRef, compare, damage_of_extent, load, read_again
from wal.disk import Buffer, DiskError, File
from wal.errors import IndexNotLoaded, LogDamaged, OffsetOutOfRange, RemoteReadError
from wal.extents import Extents, owner, slots_from
from wal.format import BATCH_PREFIX
from wal.index import EXTENT_BYTES
from wal.pieces import FILE_RANGE_BYTES, Piece, cached, run_end, span, stored_elsewhere
from wal.remote_reads import remote_extent
from wal.segment import FileRange, Segment
from wal.state import LogState
from wal.stream import Stream
from wal.verdicts import BAD

LOOP_CHECK_BYTES = 256 << 10
"""The most bytes that one read compares with their CRCs on the event loop: about 0.3 ms."""

INDEXES_OPENED = 2
"""The most indexes of sealed segments that one read opens once it has found something: one of 64 MiB in small
batches has 2 MB, which takes some milliseconds of the event loop, and many more from a cold disk."""

PIECES_MAX = 300
"""The extents of one read: about 9 µs each, where batches are small and lie apart."""

Part = Buffer | FileRange


class ReadResult(NamedTuple):
    """Whole batches of a stream; `parts` are bytes and file ranges in order."""

    parts: list[Part]
    size_bytes: int
    next_offset: int
    """The offset at which to continue."""
    piece_count: int = 0
    """The extents that were gathered, at most `PIECES_MAX`: the measure of the time it took."""


def read(
    state: LogState,
    stream_id: int,
    offset: int,
    max_bytes: int,
    *,
    minimum_one: bool = True,
    below: int | None = None,
    may_wait: bool = True,
) -> ReadResult:
    """Return whole batches from the one that holds `offset`; see VnodeLog.read."""
    stream = state.streams.get(stream_id)
    log_start, end = (stream.log_start, stream.high_watermark) if stream is not None else (0, 0)
    if not log_start <= offset <= end:
        if offset > end and state.damage is not None:
            raise state.damage.with_traceback(None)  # it may lie behind the damage
        raise OffsetOutOfRange(stream_id, offset, log_start, end)
    if stream is None or offset == end:
        return ReadResult([], 0, offset)
    below = end if below is None else below
    state.must_not_wait = not may_wait
    try:
        pieces, next_offset, size_bytes = _gather(
            state, stream, offset, max_bytes, minimum_one=minimum_one, below=below
        )
    finally:
        state.must_not_wait = False
    if not pieces and state.damage is not None and minimum_one:
        raise state.damage.with_traceback(None)
    return ReadResult(_parts(state, pieces), size_bytes, next_offset, len(pieces))


def _gather(
    state: LogState, stream: Stream, offset: int, max_bytes: int, *, minimum_one: bool, below: int
) -> tuple[list[Piece], int, int]:
    """Return the pieces to hand out, the offset after them, and their size."""
    pieces: list[Piece] = []
    total = loop_bytes = 0
    for segment, index, row, start in _few_segments(state, stream, offset, pieces):
        if len(pieces) == PIECES_MAX:
            break
        offset = max(offset, start)
        base, size, position = index.base[row], index.size[row], index.position[row]
        # Below the clean end, gaps are normal.
        if base >= below or (base > offset >= stream.clean_end and state.damage is not None):
            break
        extent = ExtentRef(segment, index, row, owner(state, stream, start) if stream.copies_id else stream)
        data, unchecked = None, False
        if (
            segment.remote is not None
            or (index.checked is not None and index.is_unchecked(row))
            or segment.damage is not None
        ):
            if total and loop_bytes > LOOP_CHECK_BYTES:
                break
            try:
                data, unchecked = _looked_at(state, extent)
            except (LogDamaged, IndexNotLoaded, RemoteReadError):
                if total:
                    break
                raise
            loop_bytes += size
        next_offset = base + index.count[row]
        room = max_bytes - total
        if base >= offset and size <= room and next_offset <= below:
            pieces.append(Piece(segment, position, size, position, extent, unchecked, data))
            total += size
            offset = next_offset
            continue
        if base >= offset and (room <= max_bytes // 2 and total):
            break
        start, stop, reached = _cut(
            state,
            extent,
            size,
            offset=offset,
            end=next_offset,
            room=room,
            must=minimum_one and not total,
            below=below,
        )
        if stop > start:
            unchecked = data is None and index.is_unchecked(row)
            pieces.append(Piece(segment, position + start, stop - start, position, extent, unchecked, data))
            total += stop - start
            offset = reached
        if stop < size or total >= max_bytes:
            break
    return pieces, offset, total


def _looked_at(state: LogState, extent: ExtentRef) -> tuple[bytes | None, bool]:
    """Return an extent's bytes if its segment is in the object store, and whether it is still to be checked.

    Raises: LogDamaged; RemoteNotLoaded, RemoteWaits, RemoteReadError.
    """
    if extent.segment.remote is not None:
        return remote_extent(state, extent), False
    _refuse_damaged(state, extent)
    return None, not check_if_cached(state, extent)


def _few_segments(state: LogState, stream: Stream, offset: int, found: list[Piece]) -> Extents:
    """Yield the extents from the one with `offset` on, until enough indexes were opened for one read."""
    opened = state.index_cache.opened
    try:
        for slots in slots_from(state, stream, offset):
            for row in slots.rows[slots.place :]:
                yield slots.segment, slots.index, row, slots.data_start
            if found and state.index_cache.opened - opened >= INDEXES_OPENED:
                return
    except IndexNotLoaded:
        if not found:
            raise


def _refuse_damaged(state: LogState, extent: ExtentRef) -> None:
    """Raise LogDamaged if the extent's bytes are known to be damaged."""
    if extent.index.is_bad(extent.row):
        damage = damage_of_extent(extent)
        state.found_damage(extent.segment, damage)
        raise damage
    known, (start, end) = extent.segment.damage, extent.range
    if known is not None and start < known.end and end > known.start:
        raise known.with_traceback(None)


def check_if_cached(state: LogState, extent: ExtentRef) -> bool:
    """Compare a small extent with its CRCs if it is in memory; return whether it may be handed out.

    Raises: LogDamaged, which refuses appends from now on.
    """
    if not extent.index.is_unchecked(extent.row):
        return True
    start, end = extent.range
    if end - start >= FILE_RANGE_BYTES:
        return False
    file = extent.segment.open_shared(state.disk).file
    try:
        data = file.read_at_if_cached(start, end - start)
    except DiskError:
        return False  # the thread that loads it decides whether it is readable
    if data is None:
        return False
    _compare(state, extent, data, file)
    return True


def _compare(state: LogState, extent: ExtentRef, data: Buffer, file: File) -> None:
    try:
        compare(extent, data, file)
    except LogDamaged as damage:
        state.found_damage(extent.segment, damage)
        raise
    except DiskError as error:
        raise _unreadable(state, extent, error) from error


def _unreadable(state: LogState, extent: ExtentRef, error: DiskError) -> LogDamaged:
    extent.index.mark(extent.row, BAD)
    damage = LogDamaged(extent.segment.path, *extent.range, str(error))
    state.found_damage(extent.segment, damage)
    return damage


def _cut(
    state: LogState,
    extent: ExtentRef,
    size: int,
    *,
    offset: int,
    end: int,
    room: int,
    must: bool,
    below: int,
) -> tuple[int, int, int]:
    """Find the whole batches of an extent from `offset` on that fit into `room`, at least one if `must`.

    Batches that reach beyond `below` are left out.

    Returns their start and end in the extent, and the offset after them.
    """
    if size > EXTENT_BYTES:  # a single batch, by construction
        return (0, size, end) if must or size <= room else (0, 0, offset)
    start = stop = 0
    reached = offset
    for batch_start, batch_size, next_offset, _ in batches(extent_bytes(state, extent)):
        if next_offset <= offset:
            start = stop = batch_start + batch_size
            continue
        if next_offset > below:
            break
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


def extent_bytes(state: LogState, extent: ExtentRef) -> Buffer:
    """Return an extent's bytes, from memory if they are there; they are those that were written.

    Raises: LogDamaged.
    """
    segment = extent.segment
    start, end = extent.range
    kept = segment.tail.get(start)
    if kept is not None:
        if len(kept) > 1:
            kept = segment.tail[start] = [b"".join(kept)]
        return kept[0]
    if segment.remote is not None:
        return remote_extent(state, extent)
    _refuse_damaged(state, extent)
    file = segment.open_shared(state.disk).file
    try:
        data = read_again(file, start, end - start)
    except DiskError as error:
        raise _unreadable(state, extent, error) from error
    if extent.index.is_unchecked(extent.row):
        _compare(state, extent, data, file)
    elif len(data) < end - start:
        raise _too_short(segment, start + len(data), end)
    return data


def _too_short(segment: Segment, start: int, end: int) -> LogDamaged:
    return LogDamaged(segment.path, start, end, "the file ends too early")


def _parts(state: LogState, pieces: list[Piece]) -> list[Part]:
    """Return bytes or file ranges for the pieces, contiguous ones together."""
    parts: list[Part] = []
    start = 0
    while start < len(pieces):
        if pieces[start].data is not None:
            parts.append(stored_elsewhere(pieces[start]))
            start += 1
            continue
        stop = run_end(pieces, start)
        last = pieces[stop - 1]
        must_load = any(piece.unchecked for piece in pieces[start:stop])
        if last.position + last.size - pieces[start].position >= FILE_RANGE_BYTES or must_load:
            parts.append(_range(state, pieces[start:stop], must_load=must_load))
        elif all(piece.extent_position in piece.segment.tail for piece in pieces[start:stop]):
            for piece in pieces[start:stop]:
                parts += cached(piece)
        else:
            stop = span(pieces, start, stop)
            parts += _from_disk(state, pieces[start:stop])
        start = stop
    return parts


def _range(state: LogState, pieces: list[Piece], *, must_load: bool) -> FileRange:
    """Return contiguous pieces as a range of their file."""
    first, last = pieces[0], pieces[-1]
    shared = first.segment.open_shared(state.disk)
    return FileRange(
        shared,
        first.position,
        last.position + last.size - first.position,
        maybe_cold=must_load or first.extent_position not in first.segment.tail,
        must_load=must_load,
        load=partial(load, shared.file, [piece.extent for piece in pieces]),
    )


def _read_or_refuse(state: LogState, pieces: list[Piece], file: File, size: int) -> bytes:
    """Read once more what could not be read.  Raises: LogDamaged, which refuses appends from now on."""
    try:
        return file.read_at(pieces[0].position, size)
    except DiskError as error:
        raise _unreadable(state, pieces[0].extent, error) from error


def _from_disk(state: LogState, pieces: list[Piece]) -> list[Part]:
    """Read the pieces with one call when they are in the page cache; else hand out file ranges."""
    first, last = pieces[0], pieces[-1]
    shared = first.segment.open_shared(state.disk)
    size = last.position + last.size - first.position
    try:
        data = shared.file.read_at_if_cached(first.position, size)
    except DiskError:
        data = _read_or_refuse(state, pieces, shared.file, size)
    if data is not None and len(data) < size:
        raise _too_short(first.segment, first.position + len(data), first.position + size)
    if data is None:
        return [_range(state, [piece], must_load=piece.unchecked) for piece in pieces]
    if len(pieces) == 1:
        return [data]
    view = memoryview(data)
    starts = [piece.position - first.position for piece in pieces]
    return [view[start : start + piece.size] for start, piece in zip(starts, pieces, strict=True)]
