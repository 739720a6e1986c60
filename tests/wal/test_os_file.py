"""Calls of the operating system that stop half way, refuse or fail are continued or reported."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from wal.disk import DiskError, DiskFull, LockHeld, OsDisk, OsFile, SyncFailed
from wal.os_file import Buffer


@pytest.fixture
def file(tmp_path: Path) -> OsFile:
    return OsDisk().open(str(tmp_path / "a"), create=True)


def raising(number: int) -> Callable[..., int]:
    def call(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_a_short_write_is_gone_on_with(file: OsFile, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    def pwritev(descriptor: int, buffers: Sequence[Buffer], position: int) -> int:
        return os.pwrite(descriptor, b"".join(buffers)[:most], position)

    monkeypatch.setattr(os, "pwritev", pwritev)
    file.write_at(3, [b"ab", b"", b"cdef", bytearray(b"g"), memoryview(b"hij"), b""])
    assert file.read_at(0, 100) == b"\0\0\0abcdefghij"


def test_a_write_that_fills_the_disk_half_way_is_disk_full(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([lambda: 2, raising(errno.ENOSPC)])
    monkeypatch.setattr(os, "pwritev", lambda *_: next(answers)())
    with pytest.raises(
        DiskFull, match=r"write to '.*a' failed: no space left on device \(ENOSPC, errno 28\)"
    ):
        file.write_at(0, [b"abcdef"])


def test_a_write_that_stores_nothing_without_an_error_does_not_loop(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwritev", lambda *_: 0)
    with pytest.raises(DiskError, match="EIO"):
        file.write_at(0, [b"abcdef"])


def test_a_file_size_limit_is_disk_full_after_a_short_write(tmp_path: Path) -> None:
    """RLIMIT_FSIZE gives one short write and then EFBIG; the interpreter ignores SIGXFSZ."""
    script = (
        "import resource, sys; from wal.disk import OsDisk, DiskFull\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "file = OsDisk().open(sys.argv[1], create=True)\n"
        "try: file.write_at(0, [b'x' * 600, b'y' * 600])\n"
        "except DiskFull as error: print(error.errno, file.size())\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.split() == [str(errno.EFBIG), "1000"]


def test_a_short_read_is_gone_on_with(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_at(0, [b"abcdefghij"])
    pread = os.pread
    monkeypatch.setattr(
        os, "pread", lambda descriptor, size, position: pread(descriptor, min(size, 3), position)
    )
    assert file.read_at(1, 7) == b"bcdefgh"
    assert file.read_at(5, 100) == b"fghij"


def test_a_failed_read_is_reported(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pread", raising(errno.EIO))
    with pytest.raises(DiskError, match=r"read from '.*a' failed"):
        file.read_at(0, 1)


def test_a_cached_read_answers_none_instead_of_waiting(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_at(0, [b"abcdef"])
    monkeypatch.setattr(os, "preadv", raising(errno.EAGAIN))
    assert file.read_at_if_cached(0, 3) is None


def test_a_cached_read_of_which_half_is_cached_answers_none(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_at(0, [b"abcdef"])
    answers = iter([lambda: 3, raising(errno.EAGAIN)])
    monkeypatch.setattr(os, "preadv", lambda *_: next(answers)())
    assert file.read_at_if_cached(0, 6) is None


def test_a_file_system_without_cached_reads_is_asked_once(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_at(0, [b"abcdef"])
    monkeypatch.setattr(os, "preadv", raising(errno.EOPNOTSUPP))
    assert file.read_at_if_cached(0, 3) is None
    monkeypatch.setattr(os, "preadv", raising(errno.EIO))
    assert file.read_at_if_cached(0, 3) is None


def test_a_cached_read_that_fails_is_reported(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "preadv", raising(errno.EIO))
    with pytest.raises(DiskError, match="EIO"):
        file.read_at_if_cached(0, 3)


def test_a_failed_allocation_leaves_the_size_as_it_was(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def half_done(descriptor: int, position: int, size_bytes: int) -> None:
        os.ftruncate(descriptor, size_bytes // 2)
        raise OSError(errno.ENOSPC, "no space")

    file.write_at(0, [b"abc"])
    monkeypatch.setattr(os, "posix_fallocate", half_done)
    with pytest.raises(DiskFull, match="allocate room for"):
        file.allocate(1000)
    assert file.size() == 3


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_any_failed_sync_is_sync_failed(file: OsFile, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "fdatasync", raising(number))
    with pytest.raises(SyncFailed) as caught:
        file.sync()
    assert (caught.value.errno, caught.value.path) == (number, file.path)


def test_a_failed_directory_sync_is_sync_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", raising(errno.EIO))
    with pytest.raises(SyncFailed, match=str(tmp_path)):
        OsDisk().sync_directory(str(tmp_path))


def test_a_failed_close_is_reported_and_not_repeated(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor = file.descriptor
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", raising(errno.EIO))
        with pytest.raises(DiskError, match="close"):
            file.close()
        file.close()
    os.close(descriptor)


def test_files_are_not_inherited_and_not_for_everybody(file: OsFile) -> None:
    assert not os.get_inheritable(file.descriptor)
    assert os.fstat(file.descriptor).st_mode & 0o007 == 0


def test_a_lock_of_another_process_names_it_and_ends_with_it(tmp_path: Path) -> None:
    path = str(tmp_path / "LOCK")
    script = (
        "import sys; from wal.disk import OsDisk\n"
        "OsDisk().lock(sys.argv[1]); print('held', flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(LockHeld) as caught:
            OsDisk().lock(path)
        assert caught.value.holder_pid == other.pid
        other.kill()
    OsDisk().lock(path).release()


@pytest.mark.parametrize("content", [b"", b"not a number\n"])
def test_a_lock_file_without_a_process_id_is_still_a_lock(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "LOCK"
    lock = OsDisk().lock(str(path))
    path.write_bytes(content)
    with pytest.raises(LockHeld) as caught:
        OsDisk().lock(str(path))
    assert caught.value.holder_pid == 0
    lock.release()


def test_a_lock_is_taken_without_room_for_the_process_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug: on a full disk a server might not start again, as it had cut the file before it wrote."""
    path = str(tmp_path / "LOCK")
    OsDisk().lock(path).release()

    def full(descriptor: int, data: bytes, position: int) -> int:
        assert os.fstat(descriptor).st_size > 1, "the room that the file had was given up"
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    lock = OsDisk().lock(path)
    with pytest.raises(LockHeld) as held:
        OsDisk().lock(path)
    assert held.value.holder_pid == 0
    lock.release()


def test_a_lock_that_cannot_be_written_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "LOCK")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", raising(errno.EIO))
        with pytest.raises(DiskError):
            OsDisk().lock(path)
    OsDisk().lock(path).release()
