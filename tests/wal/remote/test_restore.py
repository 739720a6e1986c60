"""Restores from an object store: what they refuse, and that nothing half done is taken for a directory."""

from __future__ import annotations

import errno

import pytest

from tests.wal.remote.copies import Node, restored
from wal.backup_manifest import BackupError
from wal.disk_errors import DiskError
from wal.errors import NotUsable
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_objects import MemoryObjects
from wal.remote.formats import RemoteDamaged
from wal.remote.restore import RemoteRestore, clusters_in
from wal.store_marker import MARKER


def copied() -> MemoryObjects:
    """Return a store with the copy of some segments."""
    node = Node(MemoryObjects())
    node.record(b"catalogue")
    node.append(*[b"x" * 20_000] * 6)
    node.round()
    return node.objects


def test_the_clusters_of_a_prefix_are_those_with_a_cut() -> None:
    objects = copied()
    objects.create("other/cut", b"")
    objects.create("deep/er/cut", b"")
    assert clusters_in(objects) == ["cluster", "other"]


def test_a_copy_without_its_cut_is_found_and_told() -> None:
    objects = copied()
    objects.remove("cluster/cut")
    assert clusters_in(objects) == ["cluster"]
    with pytest.raises(RemoteDamaged, match="memory/cluster/cut: the object is missing"):
        restored(objects)


def test_a_cluster_without_a_copy_is_refused() -> None:
    with pytest.raises(BackupError, match="no copy of a cluster 'stranger'"):
        restored(copied(), cluster_id="stranger")


def test_a_target_that_is_not_empty_is_left_alone() -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    disk.open("data/mine", create=True).close()
    with pytest.raises(BackupError, match="not empty"):
        list(RemoteRestore(copied(), disk, cluster_id="cluster", data="data").run())
    assert disk.list("data") == ["mine"]


def test_a_disk_without_room_is_told_before_anything_is_written() -> None:
    disk = MemoryDisk(capacity_bytes=50_000)
    with pytest.raises(DiskError, match="are needed"):
        list(RemoteRestore(copied(), disk, cluster_id="cluster", data="data").run())
    assert disk.list("data") == []


@pytest.mark.parametrize("kind", ["write", "sync", "rename", "sync_directory"])
def test_a_restore_that_fails_anywhere_leaves_no_data_directory(kind: str) -> None:
    for nth in range(1, 100):
        disk = MemoryDisk()
        disk.faults.append(failing(kind, errno.EIO, nth=nth))
        try:
            list(RemoteRestore(copied(), disk, cluster_id="cluster", data="data").run())
        except (DiskError, NotUsable):
            if kind != "sync_directory" and kind != "rename":
                assert not disk.exists(f"data/{MARKER}")
            continue
        return
    pytest.fail("more calls than were expected")


def test_progress_ends_with_every_byte() -> None:
    steps = list(RemoteRestore(copied(), MemoryDisk(), cluster_id="cluster", data="data").run())
    copying = [step for step in steps if step.phase == "copying"]
    assert copying[-1].done_bytes >= copying[-1].total_bytes > 100_000
    assert steps[-1].phase == "checking"
