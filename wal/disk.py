"""The only door from the engine to the operating system's file calls.

`Disk` and `File` are what the engine is written against; `OsDisk` is the real one. `wal.memory_disk`
simulates both, and tests record them to enumerate crash states, so nothing else in `wal` may touch a file.

Durability, in one place, because every other file argues from it:

    File.write_at, truncate     reach the page cache only; they survive the process, not the machine
    File.allocate               likewise: blocks are reserved, the reservation itself is not yet durable
    File.sync                   makes the file's bytes and size durable, never its name
    Disk.sync_directory         makes names durable: creations, renames and removals in that directory
    a sync that failed          is final. The kernel marks the pages clean and drops the error, so a second
                                sync succeeds without writing anything (seen on ext4 and xfs), and reads go
                                on showing the lost bytes until `drop_cache`

Calls block; the caller decides which ones leave the event loop. Positions and sizes are bytes. A `File` may
be read in one thread while another writes and syncs it: all calls are positional and share no cursor.
Interrupted calls (EINTR) are retried by the interpreter (PEP 475).

There is no write-and-sync in one call: pwritev with RWF_DSYNC took as long as pwritev and fdatasync at 1 KiB,
64 KiB and 1 MiB into a preallocated file, and its failure does not tell a failed write from a failed sync.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Protocol

from wal.disk_errors import (
    AlreadyExists,
    DiskError,
    DiskFull,
    LockHeld,
    NoSuchFile,
    SyncFailed,
    sync_failed,
)
from wal.os_file import Buffer, OsFile, OsLock, close, fail, take_lock

__all__ = [
    "AlreadyExists",
    "Buffer",
    "Disk",
    "DiskError",
    "DiskFull",
    "File",
    "Lock",
    "LockHeld",
    "NoSuchFile",
    "OsDisk",
    "OsFile",
    "OsLock",
    "SyncFailed",
]

# Readable by the owner and the owner's group: records may hold what other accounts must not see.
FILE_MODE = 0o640
DIRECTORY_MODE = 0o750


class File(Protocol):
    """An open file; the module's table says what each call makes durable. Every call may raise DiskError."""

    @property
    def path(self) -> str:
        """The path it was opened by; a later rename does not change it."""

    @property
    def descriptor(self) -> int:
        """The file descriptor, for sendfile; -1 when the file is simulated."""

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write all buffers one after the other from `position` on, growing the file if needed.

        Raises: DiskFull or another DiskError; then any part of the bytes may have been stored.
        """

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read exactly `size_bytes`, fewer only when the file ends before."""

    def read_at_if_cached(self, position: int, size_bytes: int) -> bytes | None:
        """Read as `read_at` does, but answer None instead of waiting for the device."""

    def allocate(self, size_bytes: int) -> None:
        """Reserve room for the first `size_bytes`; the file reads as zeros where nothing was written.

        Never shrinks the file.  Raises: DiskFull; then the file has the size it had before.
        """

    def truncate(self, size_bytes: int) -> None:
        """Set the file's size: cut it, or grow it by a hole of zeros."""

    def sync(self) -> None:
        """Make bytes and size durable (fdatasync).  Raises: SyncFailed, after which nothing is known."""

    def drop_cache(self) -> None:
        """Forget clean cached pages, so that the next read shows what the device really holds."""

    def size(self) -> int:
        """The file's size in bytes, preallocated room included."""

    def close(self) -> None:
        """Close the file; it does not sync. Closing twice is allowed."""


class Lock(Protocol):
    """A lock held on a file until `release`, or until the process ends."""

    def release(self) -> None:
        """Give the lock up; releasing twice is allowed."""


class Disk(Protocol):
    """Names and what hangs on them; durable after sync_directory. Every call may raise DiskError."""

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> File:
        """Open a file for reading and writing.

        `create` makes a missing one; `exclusive` with it demands that it was missing; `read_only` opens a
        file that must not be written.
        Raises: NoSuchFile, AlreadyExists.
        """

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory has this name."""

    def list(self, directory: str) -> list[str]:
        """The names in a directory, sorted, without the directory's own path.  Raises: NoSuchFile."""

    def make_directory(self, path: str) -> None:
        """Make one directory inside an existing one; fine when it is there already.  Raises: NoSuchFile."""

    def rename(self, old: str, new: str) -> None:
        """Give a file or directory another name, replacing a file of that name in one step.

        Raises: NoSuchFile.
        """

    def remove(self, path: str) -> None:
        """Remove a file's name; its bytes stay readable through files already open.  Raises: NoSuchFile."""

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory.  Raises: NoSuchFile."""

    def sync_directory(self, directory: str) -> None:
        """Make the names in a directory durable.  Raises: SyncFailed, after which nothing is known."""

    def lock(self, path: str) -> Lock:
        """Take the lock file at `path` for this process, without waiting.  Raises: LockHeld."""

    def free_bytes(self, path: str) -> int:
        """Bytes an unprivileged writer may still add to the file system that holds `path`."""

    def total_bytes(self, path: str) -> int:
        """Size of the file system that holds `path`."""


class OsDisk:
    """The operating system's disk. Paths are used as given, relative ones from the working directory."""

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> OsFile:
        """Open for positional reading and writing; the descriptor is not inherited by child processes."""
        flags = os.O_RDONLY if read_only else os.O_RDWR
        if create:
            flags |= os.O_CREAT | (os.O_EXCL if exclusive else 0)
        try:
            return OsFile(path, os.open(path, flags | os.O_CLOEXEC, FILE_MODE))
        except OSError as error:
            fail("create" if create else "open", path, error)

    def exists(self, path: str) -> bool:
        """Look without following: a dangling link is a name too, and one that must not be taken for free."""
        return os.path.lexists(path)

    def list(self, directory: str) -> list[str]:
        """List with scandir, sorted so that nothing depends on the file system's order."""
        try:
            return sorted(os.listdir(directory))
        except OSError as error:
            fail("list", directory, error)

    def make_directory(self, path: str) -> None:
        """Make it with mkdir; an existing directory is fine, an existing file is AlreadyExists."""
        try:
            os.mkdir(path, DIRECTORY_MODE)
        except FileExistsError as error:
            if not os.path.isdir(path):
                fail("make the directory", path, error)
        except OSError as error:
            fail("make the directory", path, error)

    def rename(self, old: str, new: str) -> None:
        """Rename in one step, both names being on one file system."""
        try:
            os.rename(old, new)
        except OSError as error:
            fail("rename", old, error)

    def remove(self, path: str) -> None:
        """Unlink."""
        try:
            os.unlink(path)
        except OSError as error:
            fail("remove", path, error)

    def remove_directory(self, path: str) -> None:
        """Remove with rmdir."""
        try:
            os.rmdir(path)
        except OSError as error:
            fail("remove the directory", path, error)

    def sync_directory(self, directory: str) -> None:
        """Sync by fsync on the directory itself."""
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            fail("open the directory", directory, error)
        try:
            os.fsync(descriptor)
        except OSError as error:
            raise sync_failed(directory, error.errno or errno.EIO) from error
        finally:
            close(descriptor, directory)

    def lock(self, path: str) -> OsLock:
        """Lock with flock and leave our process id in the file for whoever comes second."""
        return take_lock(path, FILE_MODE)

    def free_bytes(self, path: str) -> int:
        """Ask statvfs; the blocks kept for root are not counted."""
        try:
            answer = os.statvfs(path)
        except OSError as error:
            fail("read the free space of", path, error)
        return answer.f_bavail * answer.f_frsize

    def total_bytes(self, path: str) -> int:
        """Ask statvfs; the blocks kept for root are counted."""
        try:
            answer = os.statvfs(path)
        except OSError as error:
            fail("read the size of", path, error)
        return answer.f_blocks * answer.f_frsize
