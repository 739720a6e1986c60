"""Marks that vnodes were opened: an empty directory of one that has a mark has lost its files.

Without them a vnode whose files are all missing would look like a new one, and begin again at offset 0.

    meta/used-<database>-<n>      empty; made after the vnode's witness, and before its first frame
"""

from __future__ import annotations

from wal.checkpoint import CHECKPOINT_NAMES, WITNESS_NAME, Witness, write_witness
from wal.disk import Disk, DiskFull
from wal.segment import base_version_of

USED_PREFIX = "used-"


class UsedVnodes:
    """The marks of a store, in the directory of its catalogue."""

    def __init__(self, disk: Disk, meta: str) -> None:
        self._disk = disk
        self._meta = meta

    def _path(self, database: str, vnode_id: int) -> str:
        return f"{self._meta}/{USED_PREFIX}{database}-{vnode_id}"

    def has_lost_its_files(self, database: str, vnode_id: int, directory: str) -> bool:
        """Return whether a vnode was opened before and has no file any more.  Raises: DiskError."""
        if not self._disk.exists(self._path(database, vnode_id)):
            return False
        names = self._disk.list(directory)
        return not any(
            name == WITNESS_NAME or name in CHECKPOINT_NAMES or base_version_of(name) is not None
            for name in names
        )

    def mark(self, database: str, vnode_id: int, directory: str) -> None:
        """Mark a vnode that has been opened; before it takes an append.  Raises: DiskError."""
        path = self._path(database, vnode_id)
        if self._disk.exists(path):
            return
        try:
            if not self._disk.exists(f"{directory}/{WITNESS_NAME}"):
                write_witness(self._disk, directory, Witness(0, 0, 0, 0))
            self._disk.open(path, create=True).close()
        except DiskFull:
            return  # a later start marks it
        self._disk.sync_directory(self._meta)

    def marked(self) -> list[tuple[str, int]]:
        """Return database and vnode id of every mark.  Raises: DiskError."""
        names = [name for name in self._disk.list(self._meta) if name.startswith(USED_PREFIX)]
        found = (name.removeprefix(USED_PREFIX).rpartition("-") for name in names)
        return [(database, int(number)) for database, _, number in found if number.isdigit()]

    def forget(self, database: str, vnode_id: int | None = None) -> None:
        """Remove the mark of a vnode, or those of all vnodes of a database.  Raises: DiskError."""
        prefix = f"{USED_PREFIX}{database}-"
        found = [
            name
            for name in self._disk.list(self._meta)
            if name.startswith(prefix)
            and (number := name.removeprefix(prefix)).isdigit()
            and vnode_id in (None, int(number))
        ]
        for name in found:
            self._disk.remove(f"{self._meta}/{name}")
        if found:
            self._disk.sync_directory(self._meta)
