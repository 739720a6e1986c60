"""Read a vnode in the order of its versions: every batch and meta entry, of all streams, as they arrived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wal.format import ENTRY, HEADER_BYTES, EntryKind, MetaKind, decode_frame_header
from wal.locate import index_of
from wal.segment import Segment
from wal.state import LogState


class VersionedEntry(NamedTuple):
    """A batch, or a meta entry, with the vnode's version of its first record."""

    version: int
    stream_id: int
    kind: int
    """An `EntryKind`."""
    base_offset: int
    record_count: int
    """Versions it takes: [version, version + record_count)."""
    data: memoryview
    """The batch as stored; of a meta entry its payload, `MetaKind` byte first."""

    @property
    def opaque(self) -> memoryview | None:
        """The caller's bytes of an opaque meta entry."""
        if self.kind == EntryKind.META and self.data[0] == MetaKind.OPAQUE:
            return self.data[1:]
        return None


def read_versions(state: LogState, from_version: int, max_bytes: int) -> list[VersionedEntry]:
    """Entries from the one that holds `from_version` on, in version order, whole frames until `max_bytes`.

    Returns at least one frame's entries when there is one; reads the file, so it may block.
    """
    entries: list[VersionedEntry] = []
    size = 0
    for segment, position in _frames_from(state, from_version):
        found, frame_bytes = _frame_entries(state, segment, position)
        entries += [entry for entry in found if entry.version + entry.record_count > from_version]
        size += frame_bytes
        if size >= max_bytes and entries:
            break
    return entries


def _frames_from(state: LogState, version: int) -> Iterator[tuple[Segment, int]]:
    """The data frames from the one that holds `version` on: segment and position."""
    first = max(0, state.segments.row_of(version))
    for segment in list(state.segments.all[first:]):
        index = index_of(state, segment)
        row = max(0, index.frame_of(version))
        for position in list(index.frame_position[row:]):
            yield segment, position


def _frame_entries(state: LogState, segment: Segment, position: int) -> tuple[list[VersionedEntry], int]:
    file = segment.open_shared(state.disk).file
    decoded = decode_frame_header(file.read_at(position, HEADER_BYTES), 0, segment.seed)
    assert decoded is not None, f"{segment.path}: no frame at byte {position}, where the index has one"
    header = decoded[0]
    data = memoryview(file.read_at(position + HEADER_BYTES, header.table_bytes + header.payload_bytes))
    start = header.table_bytes
    found = []
    for stream_id, kind, _, _, base_offset, count, size, _, _, delta in ENTRY.iter_unpack(data[:start]):
        batch = data[start : start + size]
        start += size
        if kind != EntryKind.COPY:  # what it holds was there before, and has its version there
            version = header.base_version + delta
            found.append(VersionedEntry(version, stream_id, kind, base_offset, count, batch))
    found.sort()
    return found, header.size_bytes
