"""Both disks, the operating system's and the simulated one, behave alike in all that the engine uses."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from wal.disk import (
    AlreadyExists,
    Disk,
    DiskError,
    File,
    LockHeld,
    NoSuchFile,
    OsDisk,
)
from wal.memory_disk import MemoryDisk


@pytest.fixture(params=["os", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    monkeypatch.chdir(tmp_path)
    return OsDisk() if request.param == "os" else MemoryDisk()


@pytest.fixture
def file(disk: Disk) -> File:
    return disk.open("a", create=True)


def test_buffers_are_written_one_after_the_other(file: File) -> None:
    file.write_at(2, [b"ab", b"", bytearray(b"cd"), memoryview(b"xefx")[1:3]])
    assert file.read_at(0, 100) == b"\0\0abcdef"


def test_writing_nothing_changes_nothing(file: File) -> None:
    file.write_at(10, [])
    file.write_at(10, [b"", b""])
    assert file.size() == 0


def test_more_buffers_than_one_call_takes_are_all_written(file: File) -> None:
    file.write_at(1, [b"%04d" % number for number in range(5000)])
    assert file.read_at(1, 20000) == b"".join(b"%04d" % number for number in range(5000))


def test_a_read_is_cut_at_the_end_of_the_file(file: File) -> None:
    file.write_at(0, [b"0123456789"])
    assert file.read_at(8, 100) == b"89"
    assert file.read_at(10, 1) == b""
    assert file.read_at(1000, 1) == b""
    assert file.read_at(3, 0) == b""


def test_a_cached_read_gives_what_a_read_gives(file: File) -> None:
    file.write_at(0, [b"0123456789"])
    assert file.read_at_if_cached(2, 3) in (b"234", None)
    assert file.read_at_if_cached(8, 100) in (b"89", None)
    assert file.read_at_if_cached(10, 5) in (b"", None)


def test_allocated_room_reads_as_zeros_and_is_never_taken_back(file: File) -> None:
    file.write_at(0, [b"abc"])
    file.allocate(10000)
    assert (file.size(), file.read_at(0, 20000)) == (10000, b"abc" + bytes(9997))
    file.allocate(10)
    assert file.size() == 10000


def test_truncate_cuts_and_what_grows_back_is_zero(file: File) -> None:
    file.write_at(0, [b"abcdef"])
    file.truncate(3)
    assert file.read_at(0, 10) == b"abc"
    file.truncate(6)
    assert file.read_at(0, 10) == b"abc\0\0\0"


def test_sync_and_drop_cache_leave_the_bytes_alone(disk: Disk, file: File) -> None:
    file.write_at(0, [b"abc"])
    file.sync()
    disk.sync_directory(".")
    file.drop_cache()
    assert file.read_at(0, 10) == b"abc"


def test_an_open_file_outlives_its_name(disk: Disk, file: File) -> None:
    file.write_at(0, [b"abc"])
    disk.rename("a", "b")
    assert (disk.exists("a"), disk.exists("b"), file.path) == (False, True, "a")
    disk.remove("b")
    assert (disk.list("."), file.read_at(0, 3)) == ([], b"abc")


def test_a_file_has_its_bytes_under_each_of_its_names(disk: Disk, file: File) -> None:
    file.write_at(0, [b"one"])
    disk.link("a", "b")
    file.write_at(3, [b" more"])
    assert disk.open("b").read_at(0, 100) == b"one more"
    disk.remove("a")
    assert disk.open("b").read_at(0, 100) == b"one more"
    with pytest.raises(NoSuchFile):
        disk.link("a", "c")
    disk.open("d", create=True).close()
    with pytest.raises(AlreadyExists):
        disk.link("b", "d")


def test_a_rename_replaces_the_file_that_had_the_name(disk: Disk, file: File) -> None:
    file.write_at(0, [b"new"])
    disk.open("b", create=True).write_at(0, [b"old"])
    disk.rename("a", "b")
    assert (disk.list("."), disk.open("b").read_at(0, 3)) == (["b"], b"new")


def test_renaming_to_the_same_name_changes_nothing(disk: Disk, file: File) -> None:
    file.write_at(0, [b"abc"])
    disk.rename("a", "a")
    assert disk.open("a").read_at(0, 3) == b"abc"


def test_directories_hold_files_and_move_with_them(disk: Disk) -> None:
    disk.make_directory("d")
    disk.make_directory("d")
    disk.open("d/x", create=True).write_at(0, [b"abc"])
    disk.sync_directory("d")
    disk.rename("d", "e")
    assert (disk.list("."), disk.list("e"), disk.open("e/x").read_at(0, 3)) == (["e"], ["x"], b"abc")
    disk.remove("e/x")
    disk.remove_directory("e")
    assert disk.list(".") == []


def test_names_are_listed_in_order(disk: Disk) -> None:
    for name in ("c", "a", "b"):
        disk.open(name, create=True)
    assert disk.list(".") == ["a", "b", "c"]


def test_free_bytes_are_more_than_none(disk: Disk) -> None:
    assert 0 < disk.free_bytes(".") <= disk.total_bytes(".")


@pytest.mark.parametrize(
    "use",
    [
        lambda file: file.write_at(0, [b"x"]),
        lambda file: file.read_at(0, 1),
        lambda file: file.truncate(0),
        lambda file: file.allocate(1),
        lambda file: file.sync(),
        lambda file: file.drop_cache(),
    ],
)
def test_closing_twice_is_allowed_and_using_a_closed_file_is_not(
    file: File, use: Callable[[File], object]
) -> None:
    file.close()
    file.close()
    with pytest.raises(DiskError, match="EBADF"):
        use(file)


def test_a_file_opened_read_only_refuses_writes(disk: Disk, file: File) -> None:
    file.write_at(0, [b"abc"])
    reader = disk.open("a", read_only=True)
    assert reader.read_at(0, 3) == b"abc"
    with pytest.raises(DiskError):
        reader.write_at(0, [b"x"])
    with pytest.raises(DiskError):
        reader.truncate(0)
    with pytest.raises(DiskError):
        reader.allocate(10)
    assert file.read_at(0, 10) == b"abc"


def test_an_exclusive_open_refuses_what_exists(disk: Disk, file: File) -> None:
    with pytest.raises(AlreadyExists, match=r"create 'a' failed: file exists \(EEXIST, errno 17\)"):
        disk.open(file.path, create=True, exclusive=True)
    assert disk.open("b", create=True, exclusive=True).size() == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda disk: disk.open("none"),
        lambda disk: disk.list("none"),
        lambda disk: disk.rename("none", "new"),
        lambda disk: disk.remove("none"),
        lambda disk: disk.remove_directory("none"),
        lambda disk: disk.make_directory("none/d"),
        lambda disk: disk.sync_directory("none"),
        lambda disk: disk.free_bytes("none"),
        lambda disk: disk.total_bytes("none"),
        lambda disk: disk.open("none/x", create=True),
    ],
)
def test_what_is_missing_is_named(disk: Disk, use: Callable[[Disk], object]) -> None:
    with pytest.raises(NoSuchFile, match="none") as caught:
        use(disk)
    assert caught.value.path.startswith("none")


@pytest.mark.parametrize(
    "use",
    [
        lambda disk: disk.make_directory("a"),
        lambda disk: disk.remove("d"),
        lambda disk: disk.list("a"),
        lambda disk: disk.open("d"),
        lambda disk: disk.remove_directory("full"),
        lambda disk: disk.remove_directory("a"),
        lambda disk: disk.sync_directory("a"),
        lambda disk: disk.rename("a", "full"),
    ],
)
def test_files_and_directories_are_not_mixed_up(disk: Disk, use: Callable[[Disk], object]) -> None:
    disk.open("a", create=True)
    disk.make_directory("d")
    disk.make_directory("full")
    disk.open("full/x", create=True)
    with pytest.raises(DiskError):
        use(disk)
    assert disk.list(".") == ["a", "d", "full"]


def test_a_lock_is_held_until_it_is_released(disk: Disk) -> None:
    lock = disk.lock("LOCK")
    with pytest.raises(LockHeld) as caught:
        disk.lock("LOCK")
    assert caught.value.holder_pid > 0
    assert f"it is held by process {caught.value.holder_pid}; stop it or use" in str(caught.value)
    lock.release()
    lock.release()
    disk.lock("LOCK").release()
    assert disk.exists("LOCK")


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_what_it_makes_is_the_owner_s_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    disk = OsDisk()
    before = os.umask(umask)
    try:
        disk.make_directory(str(tmp_path / "d"))
        disk.open(str(tmp_path / "d/f"), create=True).close()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "d", tmp_path / "d/f")]
    assert modes == [0o700, 0o600]
