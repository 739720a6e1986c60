"""Small data directories in memory, backed up and restored in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from tests.wal.logs import batch, commit
from tests.wal.stores import OPTIONS, open_store
from wal.backup import Backup
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.restore import Restore
from wal.store import Store

STREAM = 7

EAGER = replace(OPTIONS, checkpoint_ns=1, delete_delay_ms=0)
"""Options of a log that writes a checkpoint after each commit and removes files at once."""


def make(disk: MemoryDisk, *, commits: int = 1) -> tuple[Store, VnodeLog]:
    """Make a data directory with one vnode and so many commits in it; it is left open."""
    store = open_store(disk)
    store.create_vnode("default", 0)
    log = store.open_vnode("default", 0, now_ms=0, options=EAGER)
    write(log, commits)
    return store, log


def write(log: VnodeLog, commits: int, body: bytes = b"x" * 20_000) -> None:
    """Write so many batches, each in a commit of its own; three fill a segment."""
    for _ in range(commits):
        log.append(STREAM, batch(1, body=body))
        commit(log, 0)


def clock() -> Callable[[], int]:
    """Return a clock that moves on by a second whenever it is read."""
    ticks = count(1_700_000_000_000, 1_000)
    return lambda: next(ticks)


def backup_of(disk: MemoryDisk, time: Callable[[], int], folder: str = "backups") -> Backup:
    """Return a backup that is ready to run."""
    return Backup(disk, "data", folder, clock=time, vnodes_of=lambda _records: ["default/vnode-0"])


def back_up(disk: MemoryDisk, time: Callable[[], int]) -> Backup:
    """Make a backup."""
    backup = backup_of(disk, time)
    for _ in backup.run():
        pass
    return backup


def restored(disk: MemoryDisk, backup: str, data: str = "again") -> VnodeLog:
    """Restore a backup and open its vnode."""
    for _ in Restore(disk, backup, data).run():
        pass
    return open_store(disk, data).open_vnode("default", 0, now_ms=0, options=OPTIONS)
