"""The only door from the engine to the operating system's file calls.

The engine is written against `Disk` and `File`; `OsDisk` is the real one. `wal.memory_disk` simulates both,
and tests record them to enumerate crash states, so nothing else in `wal` may touch a file. Durability,
described in one place because every other file relies on it:

    File.write_at, truncate     reach the page cache only; they survive the process, not the machine
    File.allocate               likewise: blocks are reserved, but the reservation is not durable yet
    File.sync                   makes the file's bytes and size durable, never its name
    Disk.sync_directory         makes names durable: creations, renames and removals in that directory
    a sync that failed          is final. The kernel marks the pages clean and drops the error, so a second
                                sync succeeds without writing anything (seen on ext4 and xfs), and reads
                                show the lost bytes until `drop_cache`

Calls block; the caller decides which ones leave the event loop. Positions and sizes are bytes. A `File` may
be read in one thread while another writes and syncs it: all calls are positional and share no cursor.
Interrupted calls (EINTR) are retried by the interpreter (PEP 475).

There is no write-and-sync in one call: pwritev with RWF_DSYNC took as long as pwritev and fdatasync at 1 KiB,
64 KiB and 1 MiB into a preallocated file, and its failure does not say whether the write or the sync failed.
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

# Readable by the owner only, whatever the umask of a command: records may be confidential, settings secret.
FILE_MODE = 0o600
DIRECTORY_MODE = 0o700


class File(Protocol):
    """An open file; the module's table says what each call makes durable. Every call may raise DiskError."""

    @property
    def path(self) -> str:
        """The path with which it was opened; a later rename does not change it."""

    @property
    def descriptor(self) -> int:
        """The file descriptor, for sendfile; -1 when the file is simulated."""

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write all buffers in order from `position` on, growing the file if needed.

        Raises: DiskFull or another DiskError; then some of the bytes may have been stored.
        """

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read exactly `size_bytes`; fewer only when the file ends first."""

    def read_at_if_cached(self, position: int, size_bytes: int) -> bytes | None:
        """Read as `read_at` does, but return None instead of waiting for the device."""

    def allocate(self, size_bytes: int) -> None:
        """Reserve room for the first `size_bytes`; the file reads as zeros where nothing was written.

        Never shrinks the file.  Raises: DiskFull; then the file has the size it had before.
        """

    def truncate(self, size_bytes: int) -> None:
        """Set the file's size: cut it, or grow it by a hole of zeros."""

    def sync(self) -> None:
        """Make bytes and size durable (fdatasync).  Raises: SyncFailed; then nothing is certain."""

    def drop_cache(self) -> None:
        """Drop clean cached pages, so that the next read shows what the device really holds."""

    def next_data(self, position: int) -> int:
        """Return a position from `position` on before which there are only zeros that were never written.

        It is the file's size when nothing else follows. Only a hint: `position` itself is always right.
        """

    def size(self) -> int:
        """Return the file's size in bytes, including preallocated room."""

    def close(self) -> None:
        """Close the file; it does not sync. Closing twice is allowed."""


class Lock(Protocol):
    """A lock held on a file until `release`, or until the process ends."""

    def release(self) -> None:
        """Release the lock; releasing twice is allowed."""


class Disk(Protocol):
    """Directories and the names in them, durable after sync_directory. Every call may raise DiskError."""

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> File:
        """Open a file for reading and writing.

        `create` makes a missing file; `exclusive` with it requires that the file was missing; `read_only`
        opens a file that must not be written.
        Raises: NoSuchFile, AlreadyExists.
        """

    def exists(self, path: str) -> bool:
        """Return whether a file or directory has this name."""

    def list(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted, without the directory's own path.  Raises: NoSuchFile."""

    def make_directory(self, path: str) -> None:
        """Make one directory inside an existing one; it may already exist.  Raises: NoSuchFile."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory, replacing a file of the new name in one step.

        Raises: NoSuchFile.
        """

    def link(self, old: str, new: str) -> None:
        """Give a file one more name, on the same file system.

        Raises: NoSuchFile, AlreadyExists; DiskError where the file system has no such links.
        """

    def remove(self, path: str) -> None:
        """Remove a file's name; its bytes stay readable through files already open.  Raises: NoSuchFile."""

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory.  Raises: NoSuchFile."""

    def sync_directory(self, directory: str) -> None:
        """Make the names in a directory durable.  Raises: SyncFailed; then nothing is certain."""

    def lock(self, path: str) -> Lock:
        """Take the lock file at `path` for this process, without waiting.  Raises: LockHeld."""

    def free_bytes(self, path: str) -> int:
        """Return how many bytes an unprivileged writer may still add to the file system of `path`."""

    def total_bytes(self, path: str) -> int:
        """Return the size in bytes of the file system of `path`."""


class OsDisk:
    """The operating system's disk. Paths are used as given; relative ones start at the working directory."""

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
        """Look without following links: a dangling link is a name too, and not a free one."""
        return os.path.lexists(path)

    def list(self, directory: str) -> list[str]:
        """List with listdir, sorted so that nothing depends on the file system's order."""
        try:
            return sorted(os.listdir(directory))
        except OSError as error:
            fail("list", directory, error)

    def make_directory(self, path: str) -> None:
        """Make it with mkdir; an existing directory is accepted, an existing file is AlreadyExists."""
        try:
            os.mkdir(path, DIRECTORY_MODE)
        except FileExistsError as error:
            if not os.path.isdir(path):
                fail("make the directory", path, error)
        except OSError as error:
            fail("make the directory", path, error)

    def rename(self, old: str, new: str) -> None:
        """Rename in one step; both names are on one file system."""
        try:
            os.rename(old, new)
        except OSError as error:
            fail("rename", old, error)

    def link(self, old: str, new: str) -> None:
        """Link; a symbolic link is not followed."""
        try:
            os.link(old, new, follow_symlinks=False)
        except OSError as error:
            fail("link", new, error)

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
        """Sync with fsync on the directory itself."""
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
        """Lock with flock, and leave our process id in the file for the next process that tries."""
        return take_lock(path, FILE_MODE)

    def free_bytes(self, path: str) -> int:
        """Ask statvfs; blocks reserved for root do not count."""
        try:
            answer = os.statvfs(path)
        except OSError as error:
            fail("read the free space of", path, error)
        return answer.f_bavail * answer.f_frsize

    def total_bytes(self, path: str) -> int:
        """Ask statvfs; blocks reserved for root count."""
        try:
            answer = os.statvfs(path)
        except OSError as error:
            fail("read the size of", path, error)
        return answer.f_blocks * answer.f_frsize
