"""The extents of a scanned frame: the same as when it was written."""

from __future__ import annotations

from wal.format import ENTRY, EntryKind, FrameKind
from wal.index import EXTENT_BYTES, EXTENT_OFFSETS, ActiveIndex
from wal.scan import NO_TIMESTAMP, FoundFrame


def index_frame(index: ActiveIndex, frame: FoundFrame) -> int:
    """Add a scanned frame, with the same extents as when it was written; return its largest timestamp."""
    header = frame.header
    if header.kind != FrameKind.DATA:
        return NO_TIMESTAMP
    index.add_frame(frame.position, header.base_version)
    position = frame.payload_position
    open_stream = -1
    newest = NO_TIMESTAMP
    base = count = start = size = max_timestamp = version = 0
    for stream_id, kind, _, _, offset, records, size_bytes, timestamp, _, delta in ENTRY.iter_unpack(
        frame.table
    ):
        if (
            stream_id != open_stream
            or kind == EntryKind.META
            or size + size_bytes > EXTENT_BYTES
            or offset + records - base > EXTENT_OFFSETS
        ):
            if open_stream >= 0:
                index.add(
                    open_stream, base=base, count=count, position=start, size=size,
                    max_timestamp=max_timestamp, version=version,
                )  # fmt: skip
            open_stream = -1 if kind == EntryKind.META else stream_id
            base, count, start, size = offset, records, position, size_bytes
            max_timestamp, version = timestamp, header.base_version + delta
        else:
            count = offset + records - base
            size += size_bytes
            if timestamp > max_timestamp:
                max_timestamp = timestamp
        if timestamp > newest and kind != EntryKind.META:
            newest = timestamp
        position += size_bytes
    if open_stream >= 0:
        index.add(
            open_stream, base=base, count=count, position=start, size=size,
            max_timestamp=max_timestamp, version=version,
        )  # fmt: skip
    return newest
