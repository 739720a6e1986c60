"""The index of a segment: the extents of each stream, as columns, in memory or from the segment's `.idx`.

An extent is a run of one stream's batches inside one frame, cut so that it has at most `EXTENT_BYTES` or is a
single batch: a reader that continues where it stopped is always at the beginning of an extent.

    .idx    := header[64] columns crc[4]
    columns := stream_ids u64[S]                    sorted
               base i64[E]  version u64[E]  max_timestamp i64[E]
               frame_version u64[F]
               starts u32[S + 1]                    extents of stream i are starts[i] .. starts[i + 1]
               count u32[E]  position u32[E]  size u32[E]
               frame_position u32[F]

All is little endian; the header counts S streams, E extents and F frames. Extents are sorted by stream, then
offset. Header and crc are seeded with the segment's salt.

An index is derived data: a missing or invalid one is rebuilt from the segment, and it never decides anything.

For searches by time, each stream's extents are taken in blocks of `BLOCK_EXTENTS`, with the largest timestamp
of each block. Timestamps need not ascend, so blocks are compared one after another. The blocks are made from
`max_timestamp`: as the segment grows, or at the first search in a stored index; they are not stored.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Literal

from crc32c import crc32c

from wal.format import HEADER_BYTES
from wal.scan import NO_TIMESTAMP
from wal.verdicts import Verdicts

EXTENT_BYTES = 128 << 10
"""The largest extent of more than one batch: a reader that begins inside one may have to walk that much."""

EXTENT_OFFSETS = (1 << 32) - 1
"""The most offsets of an extent: compaction's copies may lie far apart, and a count has 32 bits."""

BLOCK_EXTENTS = 256
"""The extents of a block: 400,000 of them are searched in 0.1 ms, and a block takes 8 bytes."""

INDEX_MAGIC = b"KAWALIDX"
INDEX_FORMAT = 1
INDEX_HEADER = struct.Struct("<8sHxxIQQIIIQq4x")
# magic, format, vnode, base version, end position, streams, extents, frames, next version, max timestamp
INDEX_CRC = struct.Struct("<I")
assert INDEX_HEADER.size == HEADER_BYTES

Column = Sequence[int]


class SegmentIndex(Verdicts):
    """The extents of a segment as parallel columns; `slots` gives the rows of a stream."""

    __slots__ = (
        "base",
        "count",
        "frame_position",
        "frame_version",
        "max_timestamp",
        "newest",
        "position",
        "size",
        "version",
    )

    base: Column
    count: Column
    position: Column
    size: Column
    max_timestamp: Column
    version: Column
    frame_version: Column
    frame_position: Column
    newest: dict[int, array[int]]
    """The largest timestamps of whole blocks, by stream; of a stored index, as far as they were needed."""

    def slots(self, stream_id: int) -> Sequence[int] | None:
        """Return the rows of a stream's extents, oldest first; None when it has none here."""
        raise NotImplementedError

    def block_times(self, stream_id: int) -> Sequence[int]:
        """Return the largest timestamp of each whole block of a stream's extents."""
        raise NotImplementedError

    def stream_ids(self) -> Sequence[int]:
        """Return the streams that have data here."""
        raise NotImplementedError

    def range_of(self, stream_id: int) -> tuple[int, int] | None:
        """Return the stream's offsets here, first and next; None when it has none."""
        slots = self.slots(stream_id)
        if not slots:
            return None
        last = slots[-1]
        return self.base[slots[0]], self.base[last] + self.count[last]

    def place(self, slots: Sequence[int], offset: int) -> int:
        """Return the place in `slots` of the last extent at or before `offset`; -1 when all come after it."""
        return bisect_right(slots, offset, key=self.base.__getitem__) - 1

    def place_since(self, stream_id: int, place: int, timestamp_ms: int) -> int:
        """Return the place, from `place` on, of the first extent with a record at or after the time.

        When there is none, it is the number of the stream's extents.
        """
        slots = self.slots(stream_id) or ()
        newest = self.block_times(stream_id)
        while place < len(slots):
            block, inside = divmod(place, BLOCK_EXTENTS)
            if not inside:
                while block < len(newest) and newest[block] < timestamp_ms:
                    block += 1
                place = block * BLOCK_EXTENTS
            end = min((block + 1) * BLOCK_EXTENTS, len(slots))
            for candidate in range(place, end):
                if self.max_timestamp[slots[candidate]] >= timestamp_ms:
                    return candidate
            place = end
        return len(slots)

    def newest_from(self, stream_id: int, place: int) -> tuple[int, int]:
        """Return the largest timestamp from `place` on, and the place of the first extent that has it.

        There must be an extent at `place`.
        """
        slots = self.slots(stream_id) or ()
        newest = self.block_times(stream_id)
        whole = -(-place // BLOCK_EXTENTS)
        first = min(whole * BLOCK_EXTENTS, len(slots))
        last = max(len(newest) * BLOCK_EXTENTS, first)
        best = max(
            max(newest[whole:], default=NO_TIMESTAMP),
            max((self.max_timestamp[row] for row in slots[place:first]), default=NO_TIMESTAMP),
            max((self.max_timestamp[row] for row in slots[last:]), default=NO_TIMESTAMP),
        )
        return best, self.place_since(stream_id, place, best)

    def bytes_of(self, slots: Sequence[int]) -> int:
        """Return the total size of the extents in these rows."""
        return sum(map(self.size.__getitem__, slots))

    def frame_of(self, version: int) -> int:
        """Return the row of the last frame that begins at or before `version`; -1 when all come after it."""
        return bisect_right(self.frame_version, version) - 1


class ActiveIndex(SegmentIndex):
    """The index of a segment that still grows."""

    __slots__ = ("by_stream", "stream")

    stream: array[int]
    """The stream of each extent."""

    base: array[int]
    count: array[int]
    position: array[int]
    size: array[int]
    max_timestamp: array[int]
    version: array[int]
    frame_version: array[int]
    frame_position: array[int]

    def __init__(self) -> None:
        self.stream = array("Q")
        self.base = array("q")
        self.count = array("I")
        self.position = array("I")
        self.size = array("I")
        self.max_timestamp = array("q")
        self.version = array("Q")
        self.frame_version = array("Q")
        self.frame_position = array("I")
        self.by_stream: dict[int, array[int]] = {}
        self.newest = {}
        self.checked = None

    def slots(self, stream_id: int) -> Sequence[int] | None:
        """Return the rows of a stream's extents; the array grows with the segment."""
        return self.by_stream.get(stream_id)

    def stream_ids(self) -> Sequence[int]:
        """Return the streams that have data here, in no order."""
        return list(self.by_stream)

    def block_times(self, stream_id: int) -> Sequence[int]:
        """Return the largest timestamp of each whole block of a stream's extents."""
        return self.newest.get(stream_id, ())

    def add_frame(self, position: int, version: int) -> None:
        """Add a data frame: its position and first version."""
        self.frame_position.append(position)
        self.frame_version.append(version)

    def add(
        self,
        stream_id: int,
        *,
        base: int,
        count: int,
        position: int,
        size: int,
        max_timestamp: int,
        version: int,
    ) -> None:
        """Add a stream's next extent."""
        slots = self.by_stream.get(stream_id)
        if slots is None:
            slots = self.by_stream[stream_id] = array("I")
        slots.append(len(self.base))
        self.stream.append(stream_id)
        self.base.append(base)
        self.count.append(count)
        self.position.append(position)
        self.size.append(size)
        self.max_timestamp.append(max_timestamp)
        self.version.append(version)
        if not len(slots) % BLOCK_EXTENTS:
            newest = max(map(self.max_timestamp.__getitem__, slots[-BLOCK_EXTENTS:]))
            self.newest.setdefault(stream_id, array("q")).append(newest)

    def extend(self, rows: Sequence[array[int]], frames: Sequence[array[int]]) -> None:
        """Add extents and frames as columns: stream, base, version, largest timestamp, count, position, size.

        Those of frames are version and position.
        """
        first = len(self.base)
        own = (
            self.stream, self.base, self.version, self.max_timestamp, self.count, self.position, self.size,
        )  # fmt: skip
        for column, more in zip(
            (*own, self.frame_version, self.frame_position), (*rows, *frames), strict=True
        ):
            column.extend(more)
        by_stream = self.by_stream
        for row, stream_id in enumerate(rows[0], start=first):
            slots = by_stream.get(stream_id)
            if slots is None:
                slots = by_stream[stream_id] = array("I")
            slots.append(row)
        for stream_id in set(rows[0]):
            self._extend_blocks(stream_id, by_stream[stream_id])

    def _extend_blocks(self, stream_id: int, slots: array[int]) -> None:
        if len(slots) < BLOCK_EXTENTS:
            return
        newest = self.newest.setdefault(stream_id, array("q"))
        for start in range(len(newest) * BLOCK_EXTENTS, len(slots) - BLOCK_EXTENTS + 1, BLOCK_EXTENTS):
            block = slots[start : start + BLOCK_EXTENTS]
            newest.append(max(map(self.max_timestamp.__getitem__, block)))

    def highest_timestamp(self) -> int:
        """Return the highest timestamp of all extents."""
        return max(self.max_timestamp, default=NO_TIMESTAMP)


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


def encode_index(
    index: ActiveIndex, *, vnode_id: int, base_version: int, end_position: int, next_version: int, seed: int
) -> bytes:
    """Return the bytes of the `.idx` of a segment that no longer grows."""
    stream_ids = array("Q", sorted(index.by_stream))
    order: list[int] = []
    starts = array("I", [0])
    for stream_id in stream_ids:
        order.extend(index.by_stream[stream_id])
        starts.append(len(order))
    header = INDEX_HEADER.pack(
        INDEX_MAGIC, INDEX_FORMAT, vnode_id, base_version, end_position, len(stream_ids), len(order),
        len(index.frame_version), next_version, index.highest_timestamp(),
    )  # fmt: skip
    parts = [
        header,
        stream_ids,
        _reordered(index.base, order),
        _reordered(index.version, order),
        _reordered(index.max_timestamp, order),
        index.frame_version,
        starts,
        _reordered(index.count, order),
        _reordered(index.position, order),
        _reordered(index.size, order),
        index.frame_position,
    ]
    data = b"".join(bytes(part) for part in parts)
    return data + INDEX_CRC.pack(crc32c(data, seed))


def _reordered(column: array[int], order: list[int]) -> array[int]:
    if len(order) < 2:
        return array(column.typecode, [column[row] for row in order])
    return array(column.typecode, itemgetter(*order)(column))


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
