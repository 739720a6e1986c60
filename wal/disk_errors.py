"""The errors of files: one tree for the real and the simulated disk."""

from __future__ import annotations

import errno
import os

# All mean "no room": from the file system, a quota, or the process's file size limit (RLIMIT_FSIZE).
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class DiskError(OSError):
    """A file call that failed; `operation`, `filename` and `errno` say which, on what and why.

    Tree: DiskError > DiskFull, SyncFailed, NoSuchFile, AlreadyExists, LockHeld.
    """

    def __init__(self, operation: str, path: str, number: int, detail: str = "") -> None:
        super().__init__(number, os.strerror(number).lower(), path)
        self.operation = operation
        self.detail = detail

    @property
    def path(self) -> str:
        """The file or directory of the call."""
        return str(self.filename)

    def __str__(self) -> str:
        name = errno.errorcode.get(self.errno or 0, "unknown error")
        detail = f"; {self.detail}" if self.detail else ""
        return f"{self.operation} {self.path!r} failed: {self.strerror} ({name}, errno {self.errno}){detail}"


class DiskFull(DiskError):
    """No room for the bytes (ENOSPC, EDQUOT, EFBIG); what was stored before is untouched."""


class SyncFailed(DiskError):
    """A failed sync, whatever the errno: bytes or names written before may be lost; never just sync again."""


class NoSuchFile(DiskError):
    """A path that does not exist (ENOENT)."""


class AlreadyExists(DiskError):
    """A path that exists although it must be new (EEXIST)."""


class LockHeld(DiskError):
    """A lock held by another process; `holder_pid` is its process id, 0 when unknown."""

    def __init__(self, path: str, holder_pid: int) -> None:
        holder = f"process {holder_pid}" if holder_pid else "another process"
        super().__init__(
            "lock", path, errno.EWOULDBLOCK, f"it is held by {holder}; stop it or use another directory"
        )
        self.holder_pid = holder_pid


def disk_error(operation: str, path: str, number: int) -> DiskError:
    """Return the DiskError of the kind that the errno `number` stands for."""
    if number in _NO_ROOM:
        return DiskFull(operation, path, number, "free some space or add a larger disk")
    if number == errno.ENOENT:
        return NoSuchFile(operation, path, number)
    if number == errno.EEXIST:
        return AlreadyExists(operation, path, number)
    return DiskError(operation, path, number)


def sync_failed(path: str, number: int) -> SyncFailed:
    """Return the error of a failed sync. ENOSPC is no DiskFull here: it means lost bytes (thin storage)."""
    return SyncFailed("sync", path, number, "bytes written to it before may be lost")
