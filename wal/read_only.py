"""A disk on which nothing changes: writes end without effect, so that a log can be recovered by looking only.

Recovery cuts a torn end, writes frames again and keeps a witness. None of this changes what readers get from
the state that it returns, so it may as well not happen: files are opened for reading, and a file that would
be made is empty and forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

from wal.disk import Buffer, Disk, File, Lock


class ReadOnlyFile:
    """A file of another disk, or an empty one; writing it has no effect."""

    def __init__(self, path: str, file: File | None) -> None:
        self.path = path
        self._file = file

    @property
    def descriptor(self) -> int:
        """That of the file; -1 when there is none."""
        return self._file.descriptor if self._file is not None else -1

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Do nothing."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read as the file does."""
        return self._file.read_at(position, size_bytes) if self._file is not None else b""

    def read_at_if_cached(self, position: int, size_bytes: int) -> bytes | None:
        """Read as the file does."""
        return self._file.read_at_if_cached(position, size_bytes) if self._file is not None else b""

    def allocate(self, size_bytes: int) -> None:
        """Do nothing."""

    def truncate(self, size_bytes: int) -> None:
        """Do nothing."""

    def sync(self) -> None:
        """Do nothing."""

    def drop_cache(self) -> None:
        """Do nothing."""

    def next_data(self, position: int) -> int:
        """Look as the file does."""
        return self._file.next_data(position) if self._file is not None else position

    def size(self) -> int:
        """Return the file's size."""
        return self._file.size() if self._file is not None else 0

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class _NoLock:
    def release(self) -> None:
        """Do nothing: nothing is locked."""


class ReadOnlyDisk:
    """Another disk, read through; see the module."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> File:
        """Open for reading; a file that is to be made is an empty one.  Raises: NoSuchFile."""
        if create and not self._disk.exists(path):
            return ReadOnlyFile(path, None)
        return ReadOnlyFile(path, self._disk.open(path, read_only=True))

    def exists(self, path: str) -> bool:
        """Look as the disk does."""
        return self._disk.exists(path)

    def list(self, directory: str) -> list[str]:
        """List as the disk does."""
        return self._disk.list(directory)

    def make_directory(self, path: str) -> None:
        """Do nothing."""

    def rename(self, old: str, new: str) -> None:
        """Do nothing."""

    def link(self, old: str, new: str) -> None:
        """Do nothing."""

    def remove(self, path: str) -> None:
        """Do nothing."""

    def remove_directory(self, path: str) -> None:
        """Do nothing."""

    def sync_directory(self, directory: str) -> None:
        """Do nothing."""

    def lock(self, path: str) -> Lock:
        """Lock nothing."""
        return _NoLock()

    def free_bytes(self, path: str) -> int:
        """Look as the disk does."""
        return self._disk.free_bytes(path)

    def total_bytes(self, path: str) -> int:
        """Look as the disk does."""
        return self._disk.total_bytes(path)
