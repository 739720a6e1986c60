"""Vnodes that were in use and whose files, or directory, are missing: what `kawal wal verify` names."""

from __future__ import annotations

from collections.abc import Iterator

from wal.disk import Disk
from wal.store import DATABASE_PREFIX, META, lost_directory, lost_files, vnode_path
from wal.used_vnodes import UsedVnodes


def lost_vnodes(disk: Disk, path: str) -> Iterator[tuple[str, str]]:
    """Yield the directory of each such vnode of a data directory, and a sentence about it.

    A dropped database whose directory was removed, but not its marks, is none: the next start removes them.
    Raises: DiskError.
    """
    meta = f"{path}/{META}"
    if not disk.exists(meta):
        return
    used = UsedVnodes(disk, meta)
    for database, vnode_id in used.marked():
        directory = vnode_path(path, database, vnode_id)
        if not disk.exists(f"{path}/{database}") and database.startswith(DATABASE_PREFIX):
            continue
        if not disk.exists(directory):
            yield directory, lost_directory(directory)
        elif used.has_lost_its_files(database, vnode_id, directory):
            yield directory, lost_files(directory)
