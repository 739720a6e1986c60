"""The pieces of extents that a read hands out: which lie together, and their bytes if these are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from wal.checking import ExtentRef
from wal.disk import Buffer
from wal.segment import Segment
from wal.tail import WASTE_MAX, pinned_bytes

FILE_RANGE_BYTES = 64 << 10
"""Runs of at least this size are handed out as file ranges: below it, sendfile costs more than it saves."""

SPAN_GAP_BYTES = 16 << 10
"""Extents on disk at most this far apart are read with one call."""

SPAN_BYTES = 1 << 20
"""The largest such read."""

JOIN_BELOW_BYTES = 4 << 10
"""Cached batches smaller than this on average are joined once: one buffer is sent faster than many."""


@dataclass(slots=True)
class Piece:
    """A part of one extent to hand out."""

    segment: Segment
    position: int
    size: int
    extent_position: int
    extent: ExtentRef
    unchecked: bool
    """Whether its bytes must be loaded and compared with their CRCs first."""
    data: bytes | None = None
    """All bytes of the extent, of a segment in the object store; they were compared with their CRCs."""


def run_end(pieces: list[Piece], start: int) -> int:
    """Return the end of the pieces from `start` on that lie one after the other in one file."""
    segment, position = pieces[start].segment, pieces[start].position
    for index in range(start, len(pieces)):
        piece = pieces[index]
        if piece.position != position or piece.segment is not segment:
            return index
        position += piece.size
    return len(pieces)


def cached(piece: Piece) -> list[Buffer]:
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


def span(pieces: list[Piece], start: int, stop: int) -> int:
    """Return the end of the pieces from `start` on that lie close enough together for one read."""
    first = pieces[start]
    while stop < len(pieces):
        last, piece = pieces[stop - 1], pieces[stop]
        gap = piece.position - (last.position + last.size)
        if (
            piece.segment is not first.segment
            or not 0 <= gap <= SPAN_GAP_BYTES
            or piece.size >= FILE_RANGE_BYTES
            or piece.unchecked
            or piece.position + piece.size - first.position > SPAN_BYTES
            or piece.extent_position in piece.segment.tail
        ):
            break
        stop += 1
    return stop


def stored_elsewhere(piece: Piece) -> Buffer:
    """Return the bytes of a piece whose segment is in the object store."""
    assert piece.data is not None
    start = piece.position - piece.extent_position
    return memoryview(piece.data)[start : start + piece.size]
