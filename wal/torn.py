"""The torn, unacknowledged end of a log: distinguished from room never written, copied aside, cut."""

from __future__ import annotations

from wal.disk import Disk, DiskFull, File
from wal.segment import Segment
from wal.unreadable import PatientReader

STEP_BYTES = 1 << 20


def is_never_written(file: File | PatientReader, position: int) -> bool:
    """Return whether there are only zeros from `position` on."""
    zeros = bytes(STEP_BYTES)
    while data := file.read_at(file.next_data(position), len(zeros)):
        if data != zeros[: len(data)]:
            return False
        position = file.next_data(position) + len(data)
    return True


def written_bytes(file: File, position: int) -> bytes:
    """Return the bytes from `position` on, without the zeros at the end; those unreadable are zeros, too."""
    return PatientReader(file).read_at(position, file.size() - position).rstrip(b"\0")


def keep_copy(disk: Disk, path: str, data: bytes) -> None:
    """Write bytes about to be lost to a file of their own and sync it; its name is not durable yet."""
    copy = disk.open(path, create=True)
    try:
        copy.truncate(0)
        copy.write_at(0, [data])
        copy.sync()
    finally:
        copy.close()


def cut_torn_tail(disk: Disk, directory: str, segment: Segment, limit_bytes: int) -> tuple[int, str]:
    """Cut the segment after its last frame; keep a copy of at most `limit_bytes` if there is room for it.

    Returns the number of bytes cut and the path of the copy, "" without one.
    """
    assert segment.shared is not None
    file = segment.shared.file
    position = segment.end_position
    torn = written_bytes(file, position)
    path = f"{directory}/torn-{segment.base_version:020d}-{position}.bin"
    try:
        keep_copy(disk, path, torn[:limit_bytes])
    except DiskFull:
        if disk.exists(path):  # there may have been no room for its name either
            disk.remove(path)
        path = ""
    file.truncate(position)
    try:
        file.allocate(segment.capacity)
    except DiskFull:
        segment.capacity = position  # the next frame begins a new segment, once there is room
    file.sync()
    disk.sync_directory(directory)
    return len(torn), path
