"""What can go wrong with a file: one tree of errors for the real and for the simulated disk."""

from __future__ import annotations

import errno
import os

# "No room", whoever says so: the file system, a quota, or the process's file size limit (RLIMIT_FSIZE).
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class DiskError(OSError):
    """A file call failed; `errno`, `filename` and `operation` say which, on what and why.

    Tree: DiskError > DiskFull, SyncFailed, NoSuchFile, AlreadyExists, LockHeld.
    """

    def __init__(self, operation: str, path: str, number: int, detail: str = "") -> None:
        super().__init__(number, os.strerror(number).lower(), path)
        self.operation = operation
        self.detail = detail

    @property
    def path(self) -> str:
        """The file or directory the call was about."""
        return str(self.filename)

    def __str__(self) -> str:
        name = errno.errorcode.get(self.errno or 0, "unknown error")
        detail = f"; {self.detail}" if self.detail else ""
        return f"{self.operation} {self.path!r} failed: {self.strerror} ({name}, errno {self.errno}){detail}"


class DiskFull(DiskError):
    """There is no room for the bytes (ENOSPC, EDQUOT, EFBIG); what was stored before is untouched."""


class SyncFailed(DiskError):
    """Bytes or names written before may be lost, whatever the errno: stop, never sync again and hope."""


class NoSuchFile(DiskError):
    """The path does not exist (ENOENT)."""


class AlreadyExists(DiskError):
    """The path exists though it must be new (EEXIST)."""


class LockHeld(DiskError):
    """Another process holds the lock; `holder_pid` is its process id, 0 when it did not say."""

    def __init__(self, path: str, holder_pid: int) -> None:
        who = f"process {holder_pid}" if holder_pid else "another process"
        super().__init__(
            "lock", path, errno.EWOULDBLOCK, f"it is held by {who}; stop it or use another directory"
        )
        self.holder_pid = holder_pid


def disk_error(operation: str, path: str, number: int) -> DiskError:
    """The DiskError of the kind that the errno `number` stands for."""
    if number in _NO_ROOM:
        return DiskFull(operation, path, number, "free some space or add a larger disk")
    if number == errno.ENOENT:
        return NoSuchFile(operation, path, number)
    if number == errno.EEXIST:
        return AlreadyExists(operation, path, number)
    return DiskError(operation, path, number)


def sync_failed(path: str, number: int) -> SyncFailed:
    """The error of a failed sync. ENOSPC here means lost bytes (thin storage), so it is no DiskFull."""
    return SyncFailed("sync", path, number, "bytes written to it before may be lost")
