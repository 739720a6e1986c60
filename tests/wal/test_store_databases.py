"""Directories of databases: distinguished from foreign ones, removed whole, also when part is missing."""

from __future__ import annotations

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.logs import batch, commit, put
from tests.wal.stores import OPTIONS, open_store
from wal.memory_disk import MemoryDisk
from wal.store import Store


def filled(store: Store, name: str) -> None:
    """Make two vnodes, one of them with a record."""
    for index in range(2):
        store.create_vnode(name, index)
    log = store.open_vnode(name, 0, now_ms=0, options=OPTIONS)
    log.append(1, batch(1))
    commit(log)


def test_databases_are_what_has_vnodes_or_is_named_as_ours() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    filled(store, "default")
    filled(store, "db-1")
    disk.make_directory("data/db-2")
    disk.make_directory("data/lost+found")
    disk.make_directory("data/notes")
    put(disk, "data/notes/a", b"x")
    assert store.databases() == {"default", "db-1", "db-2"}
    assert store.holds_records("db-1")
    assert not store.holds_records("db-2")


def test_a_removed_database_is_gone_and_may_be_removed_again() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    filled(store, "db-1")
    for _ in range(2):
        store.remove_database("db-1")
        assert not disk.exists("data/db-1")
    assert store.databases() == set()


def test_no_crash_leaves_more_of_a_removed_database_than_can_be_removed() -> None:
    before = MemoryDisk()
    filled(open_store(before), "db-1")
    before.locks.clear()
    disk = RecordingDisk(before)
    store = open_store(disk)
    store.remove_database("db-1")
    disk.trace.mark("removed")

    def check(state: CrashState) -> None:
        again = open_store(state.disk)
        assert "removed" not in state.marks or again.databases() == set()
        again.remove_database("db-1")
        assert again.databases() == set()

    assert check_every_crash(disk.trace, check) > 10


@pytest.mark.parametrize("name", ["", "meta", "../x", "a/b"])
def test_what_cannot_be_a_database_is_never_removed(name: str) -> None:
    store = open_store(MemoryDisk())
    with pytest.raises(AssertionError):
        store.remove_database(name)
