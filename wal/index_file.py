"""The stored index of a segment, its `.idx`: written in pieces, and read without copying its columns.

    .idx    := header[64] columns crc[4]
    columns := stream_ids u64[S]                    sorted
               base i64[E]  version u64[E]  max_timestamp i64[E]
               frame_version u64[F]
               starts u32[S + 1]                    extents of stream i are starts[i] .. starts[i + 1]
               count u32[E]  position u32[E]  size u32[E]
               frame_position u32[F]

All is little endian; the header counts S streams, E extents and F frames. Extents are sorted by stream, then
offset. Header and crc are seeded with the segment's salt.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import chain
from typing import Final, Literal

from crc32c import crc32c

from wal.format import HEADER_BYTES
from wal.index import BLOCK_EXTENTS, ActiveIndex, SegmentIndex

INDEX_MAGIC = b"KAWALIDX"
INDEX_FORMAT = 1
INDEX_HEADER = struct.Struct("<8sHxxIQQIIIQq4x")
# magic, format, vnode, base version, end position, streams, extents, frames, next version, max timestamp
INDEX_CRC = struct.Struct("<I")
assert INDEX_HEADER.size == HEADER_BYTES

PIECE_ROWS: Final = 8 << 10
"""The rows of a column that are put into order at a time: what they take beside the index is not noticed."""

PIECE_BYTES: Final = 256 << 10
"""The most that is written at once: the index of ordinary segments has fewer bytes, and takes one write."""


class FileIndex(SegmentIndex):
    """The index of a sealed segment, straight from the bytes of its `.idx`."""

    __slots__ = ("_starts", "_stream_ids", "end_position", "size_bytes")

    def __init__(self, data: bytes) -> None:
        _, _, _, _, self.end_position, streams, extents, frames, _, _ = INDEX_HEADER.unpack_from(data)
        self.size_bytes = len(data)
        columns = _Cutter(data)
        self._stream_ids = columns.take("Q", streams)
        self.base = columns.take("q", extents)
        self.version = columns.take("Q", extents)
        self.max_timestamp = columns.take("q", extents)
        self.frame_version = columns.take("Q", frames)
        self._starts = columns.take("I", streams + 1)
        self.count = columns.take("I", extents)
        self.position = columns.take("I", extents)
        self.size = columns.take("I", extents)
        self.frame_position = columns.take("I", frames)
        self.newest = {}
        self.checked = bytearray(extents)

    def block_times(self, stream_id: int) -> Sequence[int]:
        """Return the largest timestamp of each whole block of a stream's extents."""
        known = self.newest.get(stream_id)
        if known is None:
            slots = self.slots(stream_id) or range(0)
            starts = range(slots.start, slots.stop - BLOCK_EXTENTS + 1, BLOCK_EXTENTS)
            known = array("q", [max(self.max_timestamp[row : row + BLOCK_EXTENTS]) for row in starts])
            self.newest[stream_id] = known
        return known

    def slots(self, stream_id: int) -> range | None:
        """Return the rows of a stream's extents: a range, since they are adjacent."""
        row = bisect_left(self._stream_ids, stream_id)
        if row == len(self._stream_ids) or self._stream_ids[row] != stream_id:
            return None
        return range(self._starts[row], self._starts[row + 1])

    def stream_ids(self) -> Sequence[int]:
        """Return the streams that have data here, sorted."""
        return self._stream_ids

    def newest_versions(self) -> Iterator[tuple[int, int]]:
        """Yield the streams that have data here, each with the version of its last extent."""
        version = self.version
        return (
            (stream_id, version[end - 1])
            for stream_id, end in zip(self._stream_ids, self._starts[1:], strict=True)
        )

    def memory_bytes(self) -> int:
        """Return about how much memory the index takes: its file, and the verdicts on its extents."""
        return self.size_bytes + len(self.base)

    def bytes_of(self, slots: Sequence[int]) -> int:
        """Return the total size of the extents in these rows, which are adjacent."""
        return sum(self.size[slots[0] : slots[-1] + 1]) if slots else 0


class _Cutter:
    """A cutter of typed columns from the bytes of an index, in order."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._position = HEADER_BYTES

    def take(self, code: Literal["Q", "q", "I"], count: int) -> memoryview[int]:
        """Return the next `count` items of the type `code`."""
        end = self._position + count * (8 if code in "Qq" else 4)
        column = self._data[self._position : end].cast(code)
        self._position = end
        return column


def index_pieces(
    index: ActiveIndex, *, vnode_id: int, base_version: int, end_position: int, next_version: int, seed: int
) -> Iterator[bytes]:
    """Yield the bytes of the `.idx` of a segment that no longer grows, in pieces of up to `PIECE_BYTES`.

    Beyond a piece, this takes 4 bytes for each extent and 12 for each stream.
    """
    stream_ids = array("Q", sorted(index.by_stream))
    order, starts = array("I"), array("I", [0])
    for stream_id in stream_ids:
        order.extend(index.by_stream[stream_id])
        starts.append(len(order))
    header = INDEX_HEADER.pack(
        INDEX_MAGIC, INDEX_FORMAT, vnode_id, base_version, end_position, len(stream_ids), len(order),
        len(index.frame_version), next_version, index.highest_timestamp(),
    )  # fmt: skip
    pieces = chain(
        [header],
        _in_pieces(stream_ids),
        _reordered(index.base, order),
        _reordered(index.version, order),
        _reordered(index.max_timestamp, order),
        _in_pieces(index.frame_version),
        _in_pieces(starts),
        _reordered(index.count, order),
        _reordered(index.position, order),
        _reordered(index.size, order),
        _in_pieces(index.frame_position),
    )
    crc = seed
    gathered = bytearray()
    for piece in pieces:
        crc = crc32c(piece, crc)
        if len(gathered) + len(piece) > PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
        gathered += piece
    yield bytes(gathered + INDEX_CRC.pack(crc))


def _in_pieces(column: array[int]) -> Iterator[bytes]:
    for start in range(0, len(column), PIECE_ROWS):
        yield column[start : start + PIECE_ROWS].tobytes()


def _reordered(column: array[int], order: array[int]) -> Iterator[bytes]:
    for start in range(0, len(order), PIECE_ROWS):
        rows = order[start : start + PIECE_ROWS]
        yield array(column.typecode, map(column.__getitem__, rows)).tobytes()


def encode_index(
    index: ActiveIndex, *, vnode_id: int, base_version: int, end_position: int, next_version: int, seed: int
) -> bytes:
    """Return the same bytes in one."""
    whole = BytesIO()
    whole.writelines(
        index_pieces(
            index, vnode_id=vnode_id, base_version=base_version, end_position=end_position,
            next_version=next_version, seed=seed,
        )
    )  # fmt: skip
    return whole.getvalue()


def decode_index(data: bytes, *, base_version: int, seed: int) -> FileIndex | None:
    """Return the index in `data`, or None when it is not a whole one of this segment."""
    if len(data) < HEADER_BYTES + INDEX_CRC.size:
        return None
    magic, version, _, base, _, streams, extents, frames, _, _ = INDEX_HEADER.unpack_from(data)
    size = (
        HEADER_BYTES + 8 * streams + 24 * extents + 8 * frames + 4 * (streams + 1) + 12 * extents + 4 * frames
    )
    end = len(data) - INDEX_CRC.size
    if magic != INDEX_MAGIC or version != INDEX_FORMAT or base != base_version or size != end:
        return None
    if crc32c(memoryview(data)[:end], seed) != INDEX_CRC.unpack_from(data, end)[0]:
        return None
    return FileIndex(data)
