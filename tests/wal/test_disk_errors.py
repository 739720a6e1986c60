"""Errors of the disk name the operation, its path, and the reason of its failure."""

from __future__ import annotations

import errno

import pytest

from wal.disk_errors import (
    AlreadyExists,
    DiskError,
    DiskFull,
    LockHeld,
    NoSuchFile,
    SyncFailed,
    disk_error,
    sync_failed,
)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EFBIG, DiskFull),
        (errno.ENOENT, NoSuchFile),
        (errno.EEXIST, AlreadyExists),
        (errno.EIO, DiskError),
        (errno.EACCES, DiskError),
    ],
)
def test_each_errno_has_its_kind(number: int, kind: type[DiskError]) -> None:
    error = disk_error("write to", "v/1.wal", number)
    assert (type(error), error.errno, error.path, error.operation) == (kind, number, "v/1.wal", "write to")


def test_a_message_names_the_call_the_path_and_the_errno() -> None:
    assert str(disk_error("write to", "v/1.wal", errno.EIO)) == (
        "write to 'v/1.wal' failed: input/output error (EIO, errno 5)"
    )
    assert str(disk_error("write to", "v/1.wal", errno.ENOSPC)) == (
        "write to 'v/1.wal' failed: no space left on device (ENOSPC, errno 28); "
        "free some space or add a larger disk"
    )


def test_a_full_disk_at_a_sync_is_a_failed_sync_because_bytes_are_lost() -> None:
    error = sync_failed("v/1.wal", errno.ENOSPC)
    assert isinstance(error, SyncFailed)
    assert not isinstance(error, DiskFull)
    assert "bytes written to it before may be lost" in str(error)


def test_a_held_lock_names_its_holder_when_it_is_known() -> None:
    assert "it is held by process 17; stop it or use another directory" in str(LockHeld("v/LOCK", 17))
    assert "it is held by another process; stop it" in str(LockHeld("v/LOCK", 0))


def test_every_error_is_an_os_error_so_that_shells_can_report_it() -> None:
    assert isinstance(disk_error("open", "v", errno.EMFILE), OSError)


def test_an_errno_nobody_knows_is_still_shown() -> None:
    assert "(unknown error, errno 9999)" in str(disk_error("open", "v", 9999))
