"""Files of a backup: segments measured frame by frame, and copied with a checksum of the whole file."""

from __future__ import annotations

import errno
from collections.abc import Generator
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Disk, DiskFull, File
from wal.format import FIRST_FRAME_POSITION, FrameKind, SegmentHeader, decode_segment_start, seed_of
from wal.scan import Scan

CHUNK_BYTES = 4 << 20
"""The bytes copied between two looks at other work."""

COMPARED_BYTES = 128
"""The end of a sealed segment: its footer's CRC covers the headers of all frames, and so the whole file."""


class KnownFile(NamedTuple):
    """A file of a backup."""

    size_bytes: int
    crc: int


class Piece(NamedTuple):
    """A segment, or its part before the point in time."""

    header: SegmentHeader
    end_position: int
    next_sequence: int
    last_crc: int | None
    """The header CRC of the last frame; None after a repair's, which no successor repeats."""
    finished: bool
    """Whether it ends with a footer."""
    passed: bool
    """Whether frames written after the point in time follow."""
    last_ms: int
    """The time of the last frame, by the clock of the server that wrote it; 0 without one."""


def measured(file: File, *, skim: bool, floor: int = 0, point_ms: int | None = None) -> Piece | None:
    """Return what the file holds, up to the first frame from `floor` on that was written after `point_ms`.

    None: it does not begin with a segment header.
    """
    header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
    if header is None:
        return None
    scan = Scan(
        file,
        seed=seed_of(header.salt),
        position=FIRST_FRAME_POSITION,
        sequence=header.base_sequence,
        skim=skim,
    )
    end, due, passed, last_ms = FIRST_FRAME_POSITION, header.base_sequence, False, 0
    crc: int | None = 0
    for frame in scan:
        head = frame.header
        passed = point_ms is not None and head.sequence >= floor and head.ingest_ms > point_ms
        if passed:
            break
        end, due, last_ms = frame.next_position, frame.next_sequence, head.ingest_ms
        crc = None if head.kind == FrameKind.LOST else frame.header_crc
    return Piece(header, end, due, crc, scan.finished and not passed, passed, last_ms)


def no_room(operation: str, path: str, needed_bytes: int, free_bytes: int) -> DiskFull:
    """Return the error for a copy that cannot fit, made before anything is copied."""
    detail = f"{free_bytes} bytes are free and {needed_bytes} are needed; free some space"
    return DiskFull(operation, path, errno.ENOSPC, detail)


def copy_bytes(disk: Disk, source: File, target: str, size_bytes: int) -> Generator[int, None, KnownFile]:
    """Copy the first bytes of an open file to a new one and sync it; yield the bytes of each step.

    Raises: DiskError; DiskFull when there is no room.
    """
    file = disk.open(target, create=True, exclusive=True)
    try:
        position = crc = 0
        while position < size_bytes:
            data = source.read_at(position, min(CHUNK_BYTES, size_bytes - position))
            if not data:
                break  # the file was cut meanwhile: the check of the copy will find it
            file.write_at(position, [data])
            crc = crc32c(data, crc)
            position += len(data)
            yield len(data)
        file.sync()
        # What is verified afterwards shall be what the device holds.
        file.drop_cache()
    finally:
        file.close()
    return KnownFile(position, crc)


def same_segment(disk: Disk, source: File, path: str, size_bytes: int) -> bool:
    """Whether a sealed segment of this size is the file at `path`, judged by its header and its footer."""
    if not disk.exists(path):
        return False
    file = disk.open(path, read_only=True)
    try:
        end = max(0, size_bytes - COMPARED_BYTES)
        return (
            file.size() == size_bytes
            and file.read_at(0, FIRST_FRAME_POSITION) == source.read_at(0, FIRST_FRAME_POSITION)
            and file.read_at(end, COMPARED_BYTES) == source.read_at(end, COMPARED_BYTES)
        )
    finally:
        file.close()
