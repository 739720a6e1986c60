"""The unacknowledged end of a log is distinguished from room never written, kept aside, and cut."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import DIRECTORY, new_state
from wal.disk_errors import DiskError, DiskFull
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL
from wal.segment import Segment, SharedFile
from wal.torn import STEP_BYTES, cut_torn_tail, is_never_written, keep_copy, written_bytes

END = 1_100
CAPACITY = 4_096
TORN = b"half a frame\0\0and more"
COPY = f"{DIRECTORY}/torn-00000000000000000042-{END}.bin"


def torn_segment(disk: MemoryDisk) -> Segment:
    """Return a segment of CAPACITY bytes whose last frame ends at END, with TORN after it."""
    segment = new_state(disk).new_segment(42, 3)
    file = disk.open(segment.path, create=True)
    file.allocate(CAPACITY)
    file.write_at(1_024, [b"f" * (END - 1_024), TORN])
    file.sync()
    disk.sync_directory(DIRECTORY)
    segment.shared = SharedFile(file)
    segment.end_position = END
    segment.capacity = CAPACITY
    return segment


def contents(disk: MemoryDisk, segment: Segment) -> bytes:
    return disk.contents(segment.path)


def test_a_full_disk_takes_no_copy_and_does_not_stop_the_cut() -> None:
    disk = MemoryDisk(capacity_bytes=CAPACITY + 5)
    segment = torn_segment(disk)

    assert cut_torn_tail(disk, DIRECTORY, segment, 1_000) == (len(TORN), "")

    assert not disk.exists(COPY)
    assert contents(disk, segment) == contents(disk, segment)[:END] + bytes(CAPACITY - END)


def test_a_disk_without_room_for_another_name_does_not_stop_the_cut_either() -> None:
    disk = MemoryDisk()
    segment = torn_segment(disk)
    disk.faults.append(failing("open", errno.ENOSPC, path="torn-"))

    assert cut_torn_tail(disk, DIRECTORY, segment, 1_000) == (len(TORN), "")


def test_without_room_to_write_on_the_next_frame_begins_a_new_segment() -> None:
    disk = MemoryDisk()
    segment = torn_segment(disk)
    disk.faults.append(failing("allocate", errno.ENOSPC))

    cut_torn_tail(disk, DIRECTORY, segment, 1_000)

    assert (segment.capacity, disk.open(segment.path).size()) == (END, END)


@pytest.mark.parametrize("kind", ["write", "truncate", "allocate"])
def test_a_disk_that_fails_otherwise_stops_the_cut(kind: str) -> None:
    disk = MemoryDisk()
    segment = torn_segment(disk)
    disk.faults.append(failing(kind, errno.EIO))

    with pytest.raises(DiskError) as raised:
        cut_torn_tail(disk, DIRECTORY, segment, 1_000)

    assert not isinstance(raised.value, DiskFull)


def test_the_tail_is_copied_aside_then_cut_and_both_survive_a_power_cut() -> None:
    disk = MemoryDisk()
    segment = torn_segment(disk)

    assert cut_torn_tail(disk, DIRECTORY, segment, 1_000) == (len(TORN), COPY)

    after = disk.crash(DROP_ALL)
    assert after.contents(COPY) == TORN
    assert contents(after, segment)[END:] == bytes(CAPACITY - END)
    assert contents(after, segment)[1_024:END] == b"f" * (END - 1_024)


def test_the_copy_is_synced_before_the_tail_is_cut() -> None:
    disk = MemoryDisk()
    segment = torn_segment(disk)
    calls: list[tuple[str, str]] = []
    disk.faults.append(lambda call: calls.append((call.kind, call.path)))

    cut_torn_tail(disk, DIRECTORY, segment, 1_000)

    assert calls.index(("sync", COPY)) < calls.index(("truncate", segment.path))
    assert calls[-2:] == [("sync", segment.path), ("sync_directory", DIRECTORY)]


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_no_more_is_copied_than_wanted_and_all_is_counted(limit: int) -> None:
    disk = MemoryDisk()
    segment = torn_segment(disk)

    cut, path = cut_torn_tail(disk, DIRECTORY, segment, limit)

    assert (cut, disk.contents(path)) == (len(TORN), TORN[:limit])


def test_an_older_copy_is_replaced_as_a_whole() -> None:
    disk = MemoryDisk()

    keep_copy(disk, "copy", b"long and old")
    keep_copy(disk, "copy", b"new")

    assert disk.contents("copy") == b"new"


@pytest.mark.parametrize("size", [0, 1, STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, 2 * STEP_BYTES])
def test_zeros_to_the_end_were_never_written(size: int) -> None:
    disk = MemoryDisk()
    file = disk.open("a", create=True)
    file.write_at(0, [b"frame"])
    file.truncate(5 + size)

    assert is_never_written(file, 5)
    assert not is_never_written(file, 4)
    assert written_bytes(file, 5) == b""


@pytest.mark.parametrize("position", [5, STEP_BYTES + 4, STEP_BYTES + 5, 2 * STEP_BYTES + 5])
def test_one_byte_anywhere_was_written(position: int) -> None:
    disk = MemoryDisk()
    file = disk.open("a", create=True)
    file.truncate(2 * STEP_BYTES + 10)
    file.write_at(position, [b"x"])

    assert not is_never_written(file, 5)
    assert written_bytes(file, 5) == bytes(position - 5) + b"x"


def test_nothing_lies_behind_the_end_of_the_file() -> None:
    file = MemoryDisk().open("a", create=True)

    assert is_never_written(file, 0)
    assert written_bytes(file, 0) == b""
