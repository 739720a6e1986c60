"""Repair of all logs of a data directory, for `kawal wal repair`, while no server has it open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wal.disk import Disk
from wal.errors import ForeignDirectory, MetadataLost
from wal.lost_vnodes import lost_vnodes
from wal.misplaced import LogPlace, put_back
from wal.options import LogOptions
from wal.repair import RepairReport, repair
from wal.segment import ANOTHER_HISTORY
from wal.store import (
    META,
    META_SEGMENT_BYTES,
    VNODE_PREFIX,
    lost_files,
    take_lock,
    vnode_path,
    vnodes_in,
)
from wal.store_marker import MARKER, read_marker
from wal.used_vnodes import UsedVnodes


class RepairedLog(NamedTuple):
    """One log's directory and the report of its repair."""

    directory: str
    report: RepairReport


def repair_store(disk: Disk, path: str, *, now_ms: int, accept_loss: bool) -> Iterator[RepairedLog]:
    """Repair the catalogue's log and every vnode's in turn; without `accept_loss` only report.

    The data directory is locked meanwhile, so a server neither runs nor starts.
    Raises: StoreError when the directory cannot be used or its marker is lost; DiskError.
    """
    if not disk.exists(path):
        raise ForeignDirectory(f"{path}: the data directory does not exist; give the one to repair")
    lock = take_lock(disk, path)
    try:
        if not disk.exists(f"{path}/{MARKER}"):
            raise MetadataLost(f"{path}/{MARKER}: the marker is missing; restore it from a backup")
        secret = read_marker(disk, f"{path}/{MARKER}").secret.encode()
        catalogue = LogOptions(identity=secret, segment_bytes=META_SEGMENT_BYTES)
        meta = f"{path}/{META}"
        yield from _missing_directories(disk, path, accept_loss=accept_loss)
        vnodes = list(vnodes_in(disk, path))
        logs = [LogPlace(vnode_path(path, database, vnode_id), vnode_id) for database, vnode_id in vnodes]
        moved = put_back(disk, [LogPlace(meta, 0), *logs]) if accept_loss else {}
        report = repair(disk, meta, options=catalogue, now_ms=now_ms, accept_loss=accept_loss)
        yield _told(meta, report, moved)
        for database, vnode_id in vnodes:
            directory = vnode_path(path, database, vnode_id)
            used = UsedVnodes(disk, meta)
            if used.has_lost_its_files(database, vnode_id, directory):
                if accept_loss:
                    _begin_anew(disk, directory)
                    used.forget(database, vnode_id)
                yield RepairedLog(directory, RepairReport([lost_files(directory)], mended=accept_loss))
                continue
            options = LogOptions(identity=secret, vnode_id=vnode_id)
            report = repair(disk, directory, options=options, now_ms=now_ms, accept_loss=accept_loss)
            yield _told(directory, report, moved)
    finally:
        lock.release()


def _missing_directories(disk: Disk, path: str, *, accept_loss: bool) -> Iterator[RepairedLog]:
    """Make the directories of vnodes that were in use and have lost theirs; the marks name them."""
    used = UsedVnodes(disk, f"{path}/{META}")
    for directory, text in list(lost_vnodes(disk, path)):
        if disk.exists(directory):
            continue
        if accept_loss:
            parent, _, name = directory.rpartition("/")
            for made in (parent, directory):
                disk.make_directory(made)
            _begin_anew(disk, directory)
            for above in (parent, path):
                disk.sync_directory(above)
            used.forget(parent.rpartition("/")[2], int(name.removeprefix(VNODE_PREFIX)))
        yield RepairedLog(directory, RepairReport([text], mended=accept_loss))


def _begin_anew(disk: Disk, directory: str) -> None:
    """Let the streams of a vnode begin again at offset 0, in an epoch that tells consumers so."""
    disk.open(f"{directory}/{ANOTHER_HISTORY}", create=True).close()
    disk.sync_directory(directory)


def _told(directory: str, report: RepairReport, moved: dict[str, list[str]]) -> RepairedLog:
    report.damages[:0] = moved.get(directory, ())
    return RepairedLog(directory, report)
