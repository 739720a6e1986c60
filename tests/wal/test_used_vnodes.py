"""A vnode that has lost all its files is noticed, and not taken for a new one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.logs import batch, commit, read_all
from tests.wal.stores import OPTIONS, open_store
from wal.errors import VnodeMissing
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.store_repair import repair_store

VNODE = "data/default/vnode-0"


def used_store(disk: MemoryDisk, *, append: bool = True) -> None:
    """Make a store with one vnode, perhaps with a record, and end the process."""
    store = open_store(disk)
    store.create_vnode("default", 0)
    log = store.open_vnode("default", 0, now_ms=0)
    if append:
        log.append(1, batch(body=b"acknowledged"))
        commit(log)
    disk.restart()


def emptied(disk: MemoryDisk) -> None:
    for name in disk.list(VNODE):
        disk.remove(f"{VNODE}/{name}")


def test_a_vnode_without_its_files_is_refused_however_little_was_in_it() -> None:
    for append in (True, False):
        disk = MemoryDisk()
        used_store(disk, append=append)
        emptied(disk)
        store = open_store(disk)
        with pytest.raises(VnodeMissing, match="all its files are missing"):
            store.open_vnode("default", 0, now_ms=1)


def test_a_repair_begins_it_anew_only_when_the_loss_is_accepted() -> None:
    disk = MemoryDisk()
    used_store(disk)
    emptied(disk)
    for accept_loss in (False, True):
        *_, (directory, report) = repair_store(disk, "data", now_ms=1, accept_loss=accept_loss)
        assert (directory, report.mended) == (VNODE, accept_loss)
        assert "all its files are missing" in report.damages[0]
    log = open_store(disk).open_vnode("default", 0, now_ms=2)
    assert (log.state, log.high_watermark(1)) == ("OPEN", 0)


def test_each_time_a_repair_begins_it_anew_its_streams_have_another_epoch() -> None:
    disk = MemoryDisk()
    used_store(disk)
    epochs = [0]
    for now_ms in (1_800_000_000_000, 1_800_000_060_000):
        emptied(disk)
        list(repair_store(disk, "data", now_ms=now_ms, accept_loss=True))
        store = open_store(disk, options=replace(OPTIONS, wall_offset_ms=now_ms))
        log = store.open_vnode("default", 0, now_ms=0)
        log.append(1, batch())
        commit(log)
        epochs.append(log.leader_epoch(1))
        store.close(0)
        disk = disk.crash(KEEP_ALL)
    assert epochs[0] < epochs[1] < epochs[2]


def test_a_vnode_from_before_the_marks_gets_one() -> None:
    disk = MemoryDisk()
    used_store(disk)
    disk.remove("data/meta/used-default-0")
    store = open_store(disk)
    assert b"acknowledged" in read_all(store.open_vnode("default", 0, now_ms=1), 1)
    assert disk.exists("data/meta/used-default-0")


def test_marks_go_with_their_database_and_no_others() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    for database in ("db-1", "db-1-1"):
        store.create_vnode(database, 0)
        store.open_vnode(database, 0, now_ms=0).close(0)
    store.remove_database("db-1")
    assert [name for name in disk.list("data/meta") if name.startswith("used-")] == ["used-db-1-1-0"]
    store.create_vnode("db-1", 0)
    assert store.open_vnode("db-1", 0, now_ms=0).state == "OPEN"


def test_no_crash_during_the_first_start_makes_a_vnode_look_lost() -> None:
    disk = RecordingDisk()
    used_store(disk)

    def opens(state: CrashState) -> None:
        store = open_store(state.disk)
        store.create_vnode("default", 0)
        assert store.open_vnode("default", 0, now_ms=1).state == "OPEN"

    assert check_every_crash(disk.trace, opens) > 100
