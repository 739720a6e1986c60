"""Files and locks of the operating system: the calls behind `wal.disk.OsDisk`, each result checked."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Sequence
from typing import NoReturn

from wal.disk_errors import LockHeld, disk_error, sync_failed

# A memoryview must be of bytes (format "B"), so that its len() is its size in bytes.
Buffer = bytes | bytearray | memoryview

# The most buffers that one pwritev accepts: Linux's IOV_MAX, 1024 since 2.0.
BUFFERS_PER_WRITE = os.sysconf("SC_IOV_MAX")

# A lock file holds a process id in decimal digits and a newline; anything longer is not ours.
_LOCK_FILE_BYTES = 32


class OsFile:
    """A `File` of the operating system; the protocol says what its methods promise."""

    __slots__ = ("_cache_can_be_asked", "descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self._cache_can_be_asked = True

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write with one pwritev, which nearly always takes all; otherwise continue where it stopped."""
        try:
            while buffers:
                group = buffers[:BUFFERS_PER_WRITE] if len(buffers) > BUFFERS_PER_WRITE else buffers
                written = os.pwritev(self.descriptor, group, position)
                if written == 0 and any(map(len, group)):
                    raise OSError(errno.EIO, "the call stored nothing and gave no reason")
                if group is buffers and written == sum(map(len, group)):
                    return
                position += written
                buffers = _left_after(buffers, written)
        except OSError as error:
            fail("write to", self.path, error)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read with one pread, which nearly always returns all."""
        try:
            data = os.pread(self.descriptor, size_bytes, position)
            while data and len(data) < size_bytes:
                more = os.pread(self.descriptor, size_bytes - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            fail("read from", self.path, error)
        return data

    def read_at_if_cached(self, position: int, size_bytes: int) -> bytes | None:
        """Read with RWF_NOWAIT; also return None where the file system does not support that flag."""
        if not self._cache_can_be_asked:
            return None
        data = bytearray(size_bytes)
        length = 0
        try:
            while length < size_bytes:
                part = memoryview(data)[length:] if length else data
                more = os.preadv(self.descriptor, [part], position + length, os.RWF_NOWAIT)
                if more == 0:
                    break
                length += more
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                fail("read from", self.path, error)
            self._cache_can_be_asked = False
            return None
        return bytes(data) if length == size_bytes else bytes(data[:length])

    def allocate(self, size_bytes: int) -> None:
        """Reserve with posix_fallocate; release what a failed attempt reserved."""
        before = self.size()
        try:
            os.posix_fallocate(self.descriptor, 0, size_bytes)
        except OSError as error:
            self.truncate(before)
            fail("allocate room for", self.path, error)

    def truncate(self, size_bytes: int) -> None:
        """Cut or grow with ftruncate."""
        try:
            os.ftruncate(self.descriptor, size_bytes)
        except OSError as error:
            fail("truncate", self.path, error)

    def sync(self) -> None:
        """Sync with fdatasync, which also writes the size when it is needed to read the bytes back."""
        try:
            if self.descriptor < 0:
                raise OSError(errno.EBADF, "the file is closed")
            os.fdatasync(self.descriptor)
        except OSError as error:
            raise sync_failed(self.path, error.errno or errno.EIO) from error

    def drop_cache(self) -> None:
        """Drop it with POSIX_FADV_DONTNEED, which affects clean pages only."""
        try:
            os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            fail("drop the cache of", self.path, error)

    def next_data(self, position: int) -> int:
        """Ask lseek: preallocated room counts as a hole until something is written to it."""
        try:
            return os.lseek(self.descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return max(position, self.size())
            return position  # the file system cannot tell

    def size(self) -> int:
        """Ask fstat."""
        try:
            return os.fstat(self.descriptor).st_size
        except OSError as error:
            fail("read the size of", self.path, error)

    def close(self) -> None:
        """Close the descriptor. It is released even when the call fails, so it is never closed twice."""
        if self.descriptor < 0:
            return
        descriptor, self.descriptor = self.descriptor, -1
        close(descriptor, self.path)


def _left_after(buffers: Sequence[Buffer], written: int) -> list[Buffer]:
    """Return the rest of `buffers` to write when the first `written` bytes are stored."""
    for index, buffer in enumerate(buffers):
        if written < len(buffer):
            return [memoryview(buffer)[written:], *buffers[index + 1 :]]
        written -= len(buffer)
    return []


class OsLock:
    """A `Lock` by flock, which the kernel releases when the process ends, however it ends."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Unlock by closing. The file stays: otherwise two processes could lock two files of one name."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        close(descriptor, self.path)


def take_lock(path: str, mode: int) -> OsLock:
    """Lock the file with flock, without waiting, and write our process id into it.  Raises: LockHeld."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    except OSError as error:
        fail("open the lock file", path, error)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_holder(descriptor)
    except BlockingIOError as error:
        raise LockHeld(path, _holder_of(path, descriptor)) from error
    except OSError as error:
        close(descriptor, path)
        fail("lock", path, error)
    return OsLock(path, descriptor)


def _write_holder(descriptor: int) -> None:
    """Write our process id, which is for a message alone: without room for it the lock is as good."""
    try:
        # In place, and not in a file that was cut to nothing: on a full disk there may be no room again.
        written = os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        written = 0
    os.ftruncate(descriptor, written)


def _holder_of(path: str, descriptor: int) -> int:
    """Return the process id in a lock file and close the file; 0 when there is none."""
    try:
        content = os.pread(descriptor, _LOCK_FILE_BYTES, 0).strip()
    except OSError as error:
        fail("read the holder of the lock", path, error)
    finally:
        close(descriptor, path)
    return int(content) if content.isdigit() else 0


def close(descriptor: int, path: str) -> None:
    """Close a descriptor; `path` is for the error."""
    try:
        os.close(descriptor)
    except OSError as error:
        fail("close", path, error)


def fail(operation: str, path: str, error: OSError) -> NoReturn:
    """Raise the DiskError for an error of the operating system."""
    raise disk_error(operation, path, error.errno or errno.EIO) from error
