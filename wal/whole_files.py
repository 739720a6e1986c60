"""Small files, read and written as a whole, so that a crash leaves the old content or the new.

replace      temporary file, fdatasync · rename · directory synced            each before the next
generations  two names used in turn, so that the older content outlives damage to the newer one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from wal.disk import Disk, DiskError
from wal.unreadable import is_unreadable


class Generation(Protocol):
    """A file's content with a generation number."""

    @property
    def generation(self) -> int:
        """The number, one above that of the content before."""


Found = TypeVar("Found", bound=Generation)


def read_file(disk: Disk, path: str) -> bytes:
    """Return all bytes of a file.  Raises: NoSuchFile, DiskError."""
    file = disk.open(path, read_only=True)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def replace_file(disk: Disk, directory: str, name: str, data: bytes, *, temporary: str) -> None:
    """Give the file `name` this content durably; `temporary` is the name that an interruption may leave.

    Raises: DiskError; then the old content is still there.
    """
    path = f"{directory}/{temporary}"
    if disk.exists(path):
        disk.remove(path)
    file = disk.open(path, create=True, exclusive=True)
    try:
        file.write_at(0, [data])
        file.sync()
    finally:
        file.close()
    disk.rename(path, f"{directory}/{name}")
    disk.sync_directory(directory)


def remove_durably(disk: Disk, directory: str, name: str) -> None:
    """Remove a file, so that it does not come back after a crash; harmless when there is none.

    Raises: DiskError.
    """
    if disk.exists(f"{directory}/{name}"):
        disk.remove(f"{directory}/{name}")
        disk.sync_directory(directory)


def _decoded(disk: Disk, path: str, decode: Callable[[bytes], Found | None]) -> Found | None:
    """Return a file's content, or None when it is not valid, or twice not readable."""
    try:
        data = read_file(disk, path)
    except DiskError:
        try:
            data = read_file(disk, path)
        except DiskError as error:
            if not is_unreadable(error):
                raise
            return None
    return decode(data)


def load_generations(
    disk: Disk, directory: str, names: Sequence[str], decode: Callable[[bytes], Found | None]
) -> tuple[list[Found], list[str]]:
    """Return the valid generations, newest first, and the names of invalid files."""
    found, odd = [], []
    for name in names:
        path = f"{directory}/{name}"
        if not disk.exists(path):
            continue
        content = _decoded(disk, path, decode)
        if content is None:
            odd.append(name)
        else:
            found.append(content)
    return sorted(found, key=lambda content: -content.generation), odd
