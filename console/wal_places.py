"""The logs under a path that a user gives: a data directory, one log's folder, or one segment file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from console.errors import CommandError
from wal.checkpoint import WITNESS_NAME
from wal.disk import Disk
from wal.segment import SUFFIX, base_version_of
from wal.store import META, vnode_path, vnodes_in
from wal.store_marker import MARKER


class Place(NamedTuple):
    """The content of a path: the folders of its logs, or a single segment file."""

    logs: tuple[str, ...] = ()
    data: str = ""
    """The data directory, if the path is one."""
    segment: str = ""


def find_place(disk: Disk, path: str) -> Place:
    """Return what `path` names.  Raises: CommandError when it is none of the three; DiskError."""
    path = path.rstrip("/") or "/"
    if not disk.exists(path):
        raise CommandError(f"{path} does not exist")
    if path.endswith(SUFFIX):
        return Place(segment=path)
    names = disk.list(path)
    if WITNESS_NAME in names or any(base_version_of(name) is not None for name in names):
        return Place(logs=(path,))
    logs = tuple(_logs_in(disk, path, names)) if MARKER in names else ()
    if not logs:
        raise CommandError(
            f"{path} holds no log; name a data directory (with {MARKER} in it), the folder of one log, or a "
            f"segment file (*{SUFFIX})"
        )
    return Place(logs=logs, data=path)


def _logs_in(disk: Disk, path: str, names: list[str]) -> Iterator[str]:
    if META in names:
        yield f"{path}/{META}"
    for database, vnode_id in vnodes_in(disk, path):
        yield vnode_path(path, database, vnode_id)


def segment_paths(disk: Disk, log: str) -> list[str]:
    """Return the segment files of a log, oldest first."""
    return [f"{log}/{name}" for name in disk.list(log) if base_version_of(name) is not None]
