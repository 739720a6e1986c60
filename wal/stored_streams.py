"""The streams of a log, read from its files without opening it: a server may be writing meanwhile."""

from __future__ import annotations

from wal.checkpoint import load_checkpoints
from wal.disk import Disk, NoSuchFile
from wal.format import (
    COPIES_BIT,
    ENTRY,
    FIRST_FRAME_POSITION,
    EntryKind,
    FrameKind,
    MetaKind,
    decode_segment_start,
    seed_of,
)
from wal.scan import FoundFrame, Scan
from wal.segment import base_version_of, segment_name


def stored_streams(disk: Disk, directory: str) -> set[int]:
    """Return the streams that were not dropped, without compaction's own; records that go on are missing.

    Raises: DiskError.
    """
    checkpoints, _ = load_checkpoints(disk, directory)
    found = set(checkpoints[0].streams[0]) if checkpoints else set()
    covered = checkpoints[0].sequence if checkpoints else 0
    sealed = max(checkpoints[0].segments[0], default=-1) if checkpoints else -1
    bases = (base for name in disk.list(directory) if (base := base_version_of(name)) is not None)
    for base in sorted(base for base in bases if base > sealed):
        _follow(disk, f"{directory}/{segment_name(base)}", covered, found)
    return {stream_id for stream_id in found if not stream_id & COPIES_BIT}


def _follow(disk: Disk, path: str, covered: int, found: set[int]) -> None:
    """Apply the frames of a segment that the checkpoint does not cover."""
    try:
        file = disk.open(path, read_only=True)
    except NoSuchFile:
        return  # retention was faster
    try:
        header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
        if header is None:
            return
        start, sequence = FIRST_FRAME_POSITION, header.base_sequence
        for frame in Scan(file, seed=seed_of(header.salt), position=start, sequence=sequence):
            if frame.header.kind == FrameKind.DATA and frame.header.sequence >= covered:
                _apply(frame, found)
    finally:
        file.close()


def _apply(frame: FoundFrame, found: set[int]) -> None:
    assert frame.payload is not None
    start = 0
    for entry in ENTRY.iter_unpack(frame.table):
        stream_id, kind, size_bytes = entry[0], entry[1], entry[6]
        if kind != EntryKind.META:
            found.add(stream_id)
        elif frame.payload[start] == MetaKind.DROP:
            found.discard(stream_id)
        start += size_bytes
