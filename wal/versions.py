"""Reads of a vnode in order of versions: every batch and meta entry of all streams, as they arrived."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from operator import itemgetter
from typing import Final, NamedTuple

from crc32c import crc32c

from wal.disk import Buffer
from wal.errors import LogDamaged
from wal.extents import extents_from
from wal.format import (
    ENTRY,
    HEADER_BYTES,
    EntryKind,
    FrameHeader,
    MetaKind,
    decode_frame_header,
    table_seed,
)
from wal.index import SegmentIndex
from wal.locate import index_of
from wal.scan import NO_TIMESTAMP, payload_problem
from wal.segment import Segment, SharedFile
from wal.state import LogState
from wal.stream import Stream

NO_FRAME = "no frame where the index has one"


class VersionedEntry(NamedTuple):
    """A batch, or a meta entry, with the vnode's version of its first record."""

    version: int
    stream_id: int
    kind: int
    """An `EntryKind`."""
    base_offset: int
    record_count: int
    """The number of versions that it takes: [version, version + record_count)."""
    data: memoryview
    """The batch as stored, or a meta entry's payload, `MetaKind` byte first."""

    @property
    def opaque(self) -> memoryview | None:
        """The caller's bytes of an opaque meta entry."""
        if self.kind == EntryKind.META and self.data[0] == MetaKind.OPAQUE:
            return self.data[1:]
        return None


NO_DATA: Final = memoryview(b"")


class FrameRef(NamedTuple):
    """A reference to a data frame; its bytes are read with `read`, in a thread where that may take long."""

    segment: Segment
    file: SharedFile
    position: int
    size_bytes: int
    """The size of the frame, and perhaps of some padding after it."""
    base_version: int
    next_version: int
    """The first version of the next frame."""
    trusted: bool
    """Whether this process wrote the frame, or has read it whole: then its CRCs are not checked again."""

    def read(self) -> bytes:
        """Return the bytes of the frame, which may have to come from the device."""
        return self.file.file.read_at(self.position, self.size_bytes)

    def read_if_cached(self) -> bytes | None:
        """Return the same, or None when they would have to come from the device."""
        data = self.file.file.read_at_if_cached(self.position, self.size_bytes)
        return data if data is None or len(data) == self.size_bytes else None

    def read_kinds(self) -> list[tuple[int, int]]:
        """Return stream and kind of every entry, from the frame's table alone; may block."""
        return [entry[:2] for entry in ENTRY.iter_unpack(self._table()[1])]

    def read_table(self) -> list[VersionedEntry]:
        """Return the entries in version order as `frame_entries`, without their bytes; may block."""
        header, table = self._table()
        found = [
            VersionedEntry(header.base_version + entry[9], entry[0], entry[1], entry[4], entry[5], NO_DATA)
            for entry in ENTRY.iter_unpack(table)
            if entry[1] != EntryKind.COPY
        ]
        found.sort(key=_version)
        return found

    def _table(self) -> tuple[FrameHeader, bytes]:
        file = self.file.file
        decoded = decode_frame_header(file.read_at(self.position, HEADER_BYTES), 0, self.segment.seed)
        if decoded is None:
            raise _damaged(self, NO_FRAME)
        table = file.read_at(self.position + HEADER_BYTES, decoded[0].table_bytes)
        _check_table(self, decoded[0], table)
        return decoded[0], table


def read_versions(state: LogState, from_version: int, max_bytes: int) -> list[VersionedEntry]:
    """Return entries from the one that holds `from_version` on, in order, in frames up to `max_bytes`.

    Returns at least one frame's entries when there is one; reads the file, so it may block.
    """
    entries: list[VersionedEntry] = []
    size = 0
    for frame in frames_from(state, from_version):
        found = frame_entries(frame, frame.read())
        entries += [entry for entry in found if entry.version + entry.record_count > from_version]
        size += frame.size_bytes
        if size >= max_bytes and entries:
            break
    return entries


def frames_from(state: LogState, version: int) -> Iterator[FrameRef]:
    """Yield the data frames from the one that holds `version` on, oldest first.

    If its segment was deleted, none holds it: the next frame is the first.  A segment may be deleted, too,
    while the caller rests between two frames, and has lost its name then.
    """
    first = max(0, state.segments.row_of(version))
    for segment in list(state.segments.all[first:]):
        if _is_gone(segment) or segment.next_version <= version:
            continue
        index = index_of(state, segment)
        for row in range(max(0, index.frame_of(version)), len(index.frame_version)):
            if _is_gone(segment):
                break
            yield _frame_at(state, segment, index, row)


def _is_gone(segment: Segment) -> bool:
    """Whether the segment is retired; it may become so at any rest of a reader."""
    return segment.retired


def _frame_at(state: LogState, segment: Segment, index: SegmentIndex, row: int) -> FrameRef:
    is_last = row + 1 == len(index.frame_version)
    position = index.frame_position[row]
    end = segment.end_position if is_last else index.frame_position[row + 1]
    following = segment.next_version if is_last else index.frame_version[row + 1]
    file = segment.open_shared(state.disk)
    trusted = index.checked is None
    return FrameRef(segment, file, position, end - position, index.frame_version[row], following, trusted)


def frame_entries(frame: FrameRef, data: bytes) -> list[VersionedEntry]:
    """Return the entries of a frame from its bytes, in version order.

    Raises: LogDamaged when the bytes are not those that were written.
    """
    decoded = decode_frame_header(data[:HEADER_BYTES], 0, frame.segment.seed)
    if decoded is None or len(data) < decoded[0].size_bytes:
        raise _damaged(frame, NO_FRAME)
    header = decoded[0]
    view = memoryview(data)[HEADER_BYTES : header.size_bytes]
    start = header.table_bytes
    if not frame.trusted:
        _check_table(frame, header, view[:start])
        problem = payload_problem(view[:start], view[start:])
        if problem:
            raise _damaged(frame, f"frame {header.sequence}: {problem}")
    found = []
    for stream_id, kind, _, _, base_offset, count, size, _, _, delta in ENTRY.iter_unpack(view[:start]):
        batch = view[start : start + size]
        start += size
        if kind != EntryKind.COPY:  # its batch was written before, and has its version there
            version = header.base_version + delta
            found.append(VersionedEntry(version, stream_id, kind, base_offset, count, batch))
    found.sort(key=_version)
    return found


_version = itemgetter(0)


def _check_table(frame: FrameRef, header: FrameHeader, table: Buffer) -> None:
    if crc32c(table, table_seed(frame.segment.seed, header.sequence)) != header.table_crc:
        raise _damaged(frame, f"the entry table of frame {header.sequence} has a wrong crc")


def _damaged(frame: FrameRef, problem: str) -> LogDamaged:
    return LogDamaged(frame.segment.path, frame.position, frame.position + frame.size_bytes, problem)


def end_of_frames_with(state: LogState, wanted: Callable[[int], bool]) -> int:
    """Return the version after the newest frame with records of a wanted stream, or the first version.

    A deleted segment before the others may have had such a frame: then it is the version after that segment.
    """
    later = state.segments.all[-1] if state.segments.all else None
    for segment in reversed(state.segments.all):
        if later is not None and segment is not later and segment.next_version < later.base_version:
            return later.base_version
        later = segment
        index = index_of(state, segment)
        newest = index.newest_with(wanted)
        if newest >= 0:
            return _frame_at(state, segment, index, index.frame_of(newest)).next_version
    return state.segments.all[0].base_version if state.segments.all else state.written_version


STREAMS_PER_STEP: Final = 200
"""The streams of a segment that are asked for their times between two pauses, in 0.5 ms."""


def first_frame_since(
    state: LogState, wanted: Callable[[int], bool], timestamp_ms: int, from_version: int
) -> Generator[None, None, FrameRef | None]:
    """Return the first frame from `from_version` on that may hold a wanted record at or after the time.

    The largest timestamps of segments and extents are compared; only indexes are read.  It pauses after some
    streams, as a segment may have 100,000 of them.
    """
    first = max(0, state.segments.row_of(from_version))
    for segment in list(state.segments.all[first:]):
        if segment.totals.max_timestamp < timestamp_ms or segment.next_version <= from_version:
            continue
        index = index_of(state, segment)
        first_of_frame = index.frame_version[max(0, index.frame_of(from_version))]
        best = -1
        for number, stream_id in enumerate(list(index.stream_ids()), 1):
            if not number % STREAMS_PER_STEP:
                yield
            if not wanted(stream_id):
                continue
            slots = index.slots(stream_id) or ()
            first_place = bisect_left(slots, first_of_frame, key=index.version.__getitem__)
            place = index.place_since(stream_id, first_place, timestamp_ms)
            if place < len(slots):
                version = index.version[slots[place]]
                best = version if best < 0 else min(best, version)
        if best >= 0:
            return _frame_at(state, segment, index, index.frame_of(best))
    return None


def newest_frames(
    state: LogState, wanted: Callable[[int], bool], first: int, end: int
) -> Iterator[tuple[int, FrameRef] | None]:
    """Yield (timestamp, frame) for frames with versions from `first` up to `end`, by largest timestamp.

    No wanted record of the frame is newer than the timestamp. The largest comes first; of equal ones, the
    older frame. Indexes are read only as far as the caller iterates.  None is a pause.
    """
    overlapping = [
        segment
        for segment in state.segments.all
        if segment.base_version < end and segment.next_version > first
    ]
    segments = sorted(overlapping, key=lambda segment: (-segment.totals.max_timestamp, segment.base_version))
    heap: list[tuple[int, int, int]] = []
    for number, segment in enumerate(segments):
        while heap and heap[0][:2] < (-segment.totals.max_timestamp, segment.base_version):
            yield _frame_of(state, segments, heapq.heappop(heap))
        newest = yield from _newest_by_frame(index_of(state, segment), wanted, first, end)
        for version, timestamp in newest.items():
            heapq.heappush(heap, (-timestamp, version, number))
    while heap:
        yield _frame_of(state, segments, heapq.heappop(heap))


def _frame_of(state: LogState, segments: list[Segment], found: tuple[int, int, int]) -> tuple[int, FrameRef]:
    negated, version, number = found
    index = index_of(state, segments[number])
    return -negated, _frame_at(state, segments[number], index, index.frame_of(version))


def _newest_by_frame(
    index: SegmentIndex, wanted: Callable[[int], bool], first: int, end: int
) -> Generator[None, None, dict[int, int]]:
    """Return the largest timestamp of each frame's wanted extents, by the frame's first version."""
    newest: dict[int, int] = {}
    start = max(0, index.frame_of(first))
    for number, stream_id in enumerate(list(index.stream_ids()), 1):
        if not number % STREAMS_PER_STEP:
            yield
        for row in (index.slots(stream_id) or ()) if wanted(stream_id) else ():
            if index.version[row] >= end or (frame := index.frame_of(index.version[row])) < start:
                continue
            version = index.frame_version[frame]
            newest[version] = max(newest.get(version, NO_TIMESTAMP), index.max_timestamp[row])
    return newest


def version_of(state: LogState, stream: Stream, offset: int) -> int | None:
    """Return the version of a stream's record, or None if it was deleted.

    The table of its frame is read, which may block.
    """
    for segment, index, row, _ in extents_from(state, stream, offset):
        frame = _frame_at(state, segment, index, index.frame_of(index.version[row]))
        for entry in frame.read_table():
            end_offset = entry.base_offset + entry.record_count
            if (
                entry.stream_id == stream.stream_id
                and entry.kind != EntryKind.META
                and entry.base_offset <= offset < end_offset
            ):
                return entry.version + offset - entry.base_offset
        return None
    return None


def extent_version(state: LogState, stream: Stream, offset: int) -> int | None:
    """Return the version of the first record of the extent that holds an offset, or of the next one.

    None if there is none.  Only indexes are asked.
    """
    for _, index, row, _ in extents_from(state, stream, offset):
        return index.version[row]
    return None


def offset_at_version(state: LogState, stream: Stream, version: int) -> int:
    """Return the first offset of a stream whose record has that version or a later one; may block.

    If the version is below that of all that compaction has not copied, it is the log start. Takes half a
    microsecond for each extent, and reads the table of one frame.
    """
    found: tuple[Segment, SegmentIndex, int] | None = None
    for segment, index, row, _ in extents_from(state, stream, max(stream.clean_end, stream.log_start)):
        if index.version[row] > version:
            break
        found = segment, index, row
    if found is None:
        return stream.log_start
    segment, index, row = found
    frame = _frame_at(state, segment, index, index.frame_of(index.version[row]))
    for entry in frame.read_table():
        is_data = entry.stream_id == stream.stream_id and entry.kind != EntryKind.META
        if is_data and entry.version + entry.record_count > version:
            return max(stream.log_start, entry.base_offset + max(0, version - entry.version))
    return index.base[row] + index.count[row]
