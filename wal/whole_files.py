"""Small files that are read and written as a whole, so that a crash leaves the old content or the new one.

replace      temporary file, fdatasync · rename · directory synced            each done before the next
generations  two names used in turn, so that the older content outlives damage to the newer one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from wal.disk import Disk


class Generation(Protocol):
    """Content that counts its generations."""

    @property
    def generation(self) -> int:
        """One more than that of the content before."""


Found = TypeVar("Found", bound=Generation)


def read_file(disk: Disk, path: str) -> bytes:
    """All bytes of a file.  Raises: NoSuchFile, DiskError."""
    file = disk.open(path, read_only=True)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def replace_file(disk: Disk, directory: str, name: str, data: bytes, *, temporary: str) -> None:
    """Give the file `name` this content, durably; `temporary` is the name that an interruption may leave.

    Raises: DiskError; the old content is still there then.
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


def load_generations(
    disk: Disk, directory: str, names: Sequence[str], decode: Callable[[bytes], Found | None]
) -> tuple[list[Found], list[str]]:
    """The valid generations, newest first, and the names of the files that are not valid."""
    found, odd = [], []
    for name in names:
        path = f"{directory}/{name}"
        if not disk.exists(path):
            continue
        content = decode(read_file(disk, path))
        if content is None:
            odd.append(name)
        else:
            found.append(content)
    return sorted(found, key=lambda one: -one.generation), odd
