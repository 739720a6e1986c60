"""Mend the logs of a whole data directory: what `kawal wal repair` does, while no server has it open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wal.disk import Disk
from wal.errors import ForeignDirectory, MetadataLost
from wal.options import LogOptions
from wal.repair import RepairReport, repair
from wal.store import LOCK, MARKER, META, META_SEGMENT_BYTES, _read_marker, _take_lock


class RepairedLog(NamedTuple):
    """One log's folder and what was found and done there."""

    directory: str
    report: RepairReport


def repair_store(disk: Disk, path: str, *, now_ms: int, accept_loss: bool) -> Iterator[RepairedLog]:
    """Mend the catalogue's log and every vnode's, one after the other; without `accept_loss` only tell.

    The data directory is locked meanwhile, so a server neither runs nor starts.
    Raises: StoreError when the directory cannot be used or its marker is lost; DiskError.
    """
    if not disk.exists(path):
        raise ForeignDirectory(f"{path}: the data directory does not exist; give the one to repair")
    lock = _take_lock(disk, path)
    try:
        if not disk.exists(f"{path}/{MARKER}"):
            raise MetadataLost(f"{path}/{MARKER}: the marker is missing; restore it from a backup")
        secret = _read_marker(disk, f"{path}/{MARKER}").secret.encode()
        catalogue = LogOptions(identity=secret, segment_bytes=META_SEGMENT_BYTES)
        meta = f"{path}/{META}"
        yield RepairedLog(meta, repair(disk, meta, options=catalogue, now_ms=now_ms, accept_loss=accept_loss))
        for directory, vnode_id in _vnodes(disk, path):
            options = LogOptions(identity=secret, vnode_id=vnode_id)
            report = repair(disk, directory, options=options, now_ms=now_ms, accept_loss=accept_loss)
            yield RepairedLog(directory, report)
    finally:
        lock.release()


def _vnodes(disk: Disk, path: str) -> Iterator[tuple[str, int]]:
    for database in disk.list(path):
        if database in (LOCK, META) or database.startswith(MARKER):
            continue
        for name in disk.list(f"{path}/{database}"):
            number = name.removeprefix("vnode-")
            if name.startswith("vnode-") and number.isdigit():
                yield f"{path}/{database}/{name}", int(number)
