"""A vnode that has lost its files or its directory is named; new, used and dropped ones are not."""

from __future__ import annotations

from tests.wal.stores import open_store
from wal.lost_vnodes import lost_vnodes
from wal.memory_disk import MemoryDisk


def used_store() -> MemoryDisk:
    """Return the disk of a store with two vnodes that were in use and one that never was."""
    disk = MemoryDisk()
    store = open_store(disk)
    for number in range(3):
        store.create_vnode("default", number)
    for number in range(2):
        store.open_vnode("default", number, now_ms=0).close(0)
    store.close(0)
    return disk


def empty(disk: MemoryDisk, directory: str) -> None:
    for name in disk.list(directory):
        disk.remove(f"{directory}/{name}")


def test_vnodes_with_their_files_and_unused_ones_are_not_lost() -> None:
    assert list(lost_vnodes(used_store(), "data")) == []


def test_a_vnode_without_files_or_directory_is_named() -> None:
    disk = used_store()
    empty(disk, "data/default/vnode-0")
    empty(disk, "data/default/vnode-1")
    disk.remove_directory("data/default/vnode-1")
    found = dict(lost_vnodes(disk, "data"))
    assert sorted(found) == ["data/default/vnode-0", "data/default/vnode-1"]
    assert "all its files are missing" in found["data/default/vnode-0"]
    assert "its directory is missing" in found["data/default/vnode-1"]


def test_marks_that_a_dropped_database_left_name_nothing() -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    store.create_vnode("db-1", 0)
    store.open_vnode("db-1", 0, now_ms=0).close(0)
    store.close(0)
    empty(disk, "data/db-1/vnode-0")
    disk.remove_directory("data/db-1/vnode-0")
    disk.remove_directory("data/db-1")
    assert list(lost_vnodes(disk, "data")) == []


def test_the_first_database_is_never_dropped_so_without_its_directory_its_vnodes_are_lost() -> None:
    disk = used_store()
    for number in range(3):
        empty(disk, f"data/default/vnode-{number}")
        disk.remove_directory(f"data/default/vnode-{number}")
    disk.remove_directory("data/default")
    assert sorted(dict(lost_vnodes(disk, "data"))) == ["data/default/vnode-0", "data/default/vnode-1"]


def test_a_directory_without_a_catalogue_has_none() -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    assert list(lost_vnodes(disk, "data")) == []
