"""Small files: read whole, and replaced so that any crash or failing call leaves the old or the new."""

from __future__ import annotations

import errno
from typing import NamedTuple

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.logs import put
from wal.disk_errors import DiskError, NoSuchFile
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.whole_files import load_generations, read_file, replace_file

NAMES = ("a.0", "a.1")


class Content(NamedTuple):
    generation: int
    text: bytes


def decode(data: bytes) -> Content | None:
    number, colon, text = data.partition(b":")
    return Content(int(number), text) if colon else None


def directory_with(data: bytes) -> MemoryDisk:
    """Return a disk whose file d/name has this content durably."""
    disk = MemoryDisk()
    disk.make_directory("d")
    disk.sync_directory("")
    replace_file(disk, "d", "name", data, temporary="name.tmp")
    return disk


def test_a_missing_file_is_told() -> None:
    with pytest.raises(NoSuchFile, match="'gone'"):
        read_file(MemoryDisk(), "gone")


@pytest.mark.parametrize("data", [b"", b"x", bytes(100_000)])
def test_all_of_a_file_is_read(data: bytes) -> None:
    disk = MemoryDisk()
    put(disk, "a", data)

    assert read_file(disk, "a") == data


def test_a_file_is_closed_though_it_could_not_be_read() -> None:
    disk = MemoryDisk()
    put(disk, "a", b"data")
    disk.faults.append(failing("read", errno.EIO))

    with pytest.raises(DiskError):
        read_file(disk, "a")

    disk.remove("a")
    assert disk.used_bytes() == 0, "the file is not open"


@pytest.mark.parametrize("kind", ["open", "write", "sync", "rename"])
def test_a_failed_replacement_leaves_the_old_content(kind: str) -> None:
    disk = directory_with(b"old")
    disk.faults.append(failing(kind, errno.EIO))

    with pytest.raises(DiskError):
        replace_file(disk, "d", "name", b"new", temporary="name.tmp")

    disk.faults.clear()
    assert read_file(disk, "d/name") == b"old"
    replace_file(disk, "d", "name", b"newer", temporary="name.tmp")
    assert read_file(disk, "d/name") == b"newer"
    assert disk.list("d") == ["name"]


def test_a_temporary_file_left_by_a_crash_is_not_built_upon() -> None:
    disk = directory_with(b"old")
    put(disk, "d/name.tmp", b"left over, and longer")

    replace_file(disk, "d", "name", b"new", temporary="name.tmp")

    assert read_file(disk, "d/name") == b"new"


def test_every_crash_leaves_the_old_content_or_the_new_one() -> None:
    disk = RecordingDisk()
    disk.make_directory("d")
    disk.sync_directory("")
    contents = [b"%d" % number * 3_000 for number in range(4)]
    for number, content in enumerate(contents):
        replace_file(disk, "d", "name", content, temporary="name.tmp")
        disk.trace.mark(number)

    def check(state: CrashState) -> None:
        promised = [mark for mark in state.marks if isinstance(mark, int)]
        if not state.disk.exists("d/name"):
            assert not promised
            return
        found = contents.index(read_file(state.disk, "d/name"))
        assert found >= max(promised, default=0)

    assert check_every_crash(disk.trace, check) > 100


def test_generations_come_newest_first_and_odd_files_are_named() -> None:
    disk = MemoryDisk()
    put(disk, "a.0", b"4:older")
    put(disk, "a.1", b"5:newer")

    both = load_generations(disk, "", NAMES, decode)
    put(disk, "a.1", b"odd....")
    one = load_generations(disk, "", NAMES, decode)

    assert both == ([Content(5, b"newer"), Content(4, b"older")], [])
    assert one == ([Content(4, b"older")], ["a.1"])


def test_without_files_there_are_no_generations() -> None:
    assert load_generations(MemoryDisk(), "", NAMES, decode) == ([], [])
