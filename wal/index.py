"""The index of a segment: the extents of each stream, as columns in memory; `wal.index_file` stores it.

An extent is a run of one stream's batches inside one frame, cut so that it has at most `EXTENT_BYTES` or is a
single batch: a reader that continues where it stopped is always at the beginning of an extent.

An index is derived data: a missing or invalid one is rebuilt from the segment, and it never decides anything.

For searches by time, each stream's extents are taken in blocks of `BLOCK_EXTENTS`, with the largest timestamp
of each block. Timestamps need not ascend, so blocks are compared one after another. The blocks are made from
`max_timestamp`: as the segment grows, or at the first search in a stored index; they are not stored.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wal.scan import NO_TIMESTAMP
from wal.verdicts import Verdicts

EXTENT_BYTES = 128 << 10
"""The largest extent of more than one batch: a reader that begins inside one may have to walk that much."""

EXTENT_OFFSETS = (1 << 32) - 1
"""The most offsets of an extent: compaction's copies may lie far apart, and a count has 32 bits."""

BLOCK_EXTENTS = 256
"""The extents of a block: 400,000 of them are searched in 0.1 ms, and a block takes 8 bytes."""

GROWN_EXTENT_BYTES: Final = 52
"""The memory of an extent while the index grows: 44 bytes in columns, 4 in the rows of its stream, 1 for the
verdict on it, and what the columns have in advance."""

GROWN_STREAM_BYTES: Final = 160
"""The memory of a stream while the index grows: its number, its rows, its place in a dict (measured)."""

FRAME_BYTES: Final = 12

NEWEST_LOOKED_AT: Final = 2_000
"""The newest extents that are asked one by one which of them is wanted, before all streams are."""

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

    def newest_versions(self) -> Iterator[tuple[int, int]]:
        """Yield the streams that have data here, each with the version of its last extent."""
        raise NotImplementedError

    def newest_with(self, wanted: Callable[[int], bool]) -> int:
        """Return a version in the newest frame with records of a wanted stream; -1 if there is none."""
        newest = -1
        # A segment may have 100,000 streams: few of them are newer than all before, and asked about.
        for stream_id, version in self.newest_versions():
            if version > newest and wanted(stream_id):
                newest = version
        return newest

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

    def memory_bytes(self) -> int:
        """Return about how much memory the index takes."""
        raise NotImplementedError

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

    def newest_versions(self) -> Iterator[tuple[int, int]]:
        """Yield the streams that have data here, each with the version of its last extent; new ones first."""
        version = self.version
        return ((stream_id, version[slots[-1]]) for stream_id, slots in reversed(self.by_stream.items()))

    def newest_with(self, wanted: Callable[[int], bool]) -> int:
        """Return a version in the newest frame with records of a wanted stream; -1 if there is none.

        Its extents are in the order of their frames: mostly one of the last is wanted.
        """
        for row in range(len(self.stream) - 1, max(-1, len(self.stream) - 1 - NEWEST_LOOKED_AT), -1):
            if wanted(self.stream[row]):
                return self.version[row]
        return super().newest_with(wanted)

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

    def memory_bytes(self) -> int:
        """Return about how much memory the index takes."""
        return (
            GROWN_EXTENT_BYTES * len(self.base)
            + GROWN_STREAM_BYTES * len(self.by_stream)
            + FRAME_BYTES * len(self.frame_version)
        )

    def highest_timestamp(self) -> int:
        """Return the highest timestamp of all extents."""
        return max(self.max_timestamp, default=NO_TIMESTAMP)
