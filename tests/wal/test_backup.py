"""Backups of a data directory: complete, incremental, and never mistaken when they are interrupted."""

from __future__ import annotations

import errno
import json
from itertools import count

import pytest

from tests.wal.backups import EAGER, STREAM, back_up, backup_of, clock, make, restored, write
from tests.wal.logs import batch, commit
from tests.wal.stores import OPTIONS, open_store
from wal.backup import Backup
from wal.backup_manifest import BackupError, backups_in, read_manifest
from wal.disk import DiskError, DiskFull
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL
from wal.restore import Restore
from wal.store_marker import StoreIdentity, write_marker


def test_a_start_from_a_backup_finds_all_that_was_acknowledged() -> None:
    disk = MemoryDisk()
    _, log = make(disk, commits=10)
    backup = back_up(disk, clock())
    write(log, 2)
    again = restored(disk, backup.path)
    assert again.damage is None
    assert again.high_watermark(STREAM) == 10
    assert again.read(STREAM, 0, 1 << 20).size_bytes == log.read(STREAM, 0, 1 << 20).size_bytes // 12 * 10


def test_the_backup_survives_a_power_cut_at_once() -> None:
    disk = MemoryDisk()
    make(disk, commits=10)
    backup = back_up(disk, clock())
    after = disk.crash(DROP_ALL)
    assert backups_in(after, "backups") == [backup.path.removeprefix("backups/")]
    assert restored(after, backup.path).high_watermark(STREAM) == 10


def test_the_second_backup_links_what_the_first_one_has() -> None:
    disk = MemoryDisk()
    _, log = make(disk, commits=10)
    time = clock()
    first = back_up(disk, time)
    write(log, 4)
    used = disk.used_bytes()
    second = back_up(disk, time)
    assert (first.linked_bytes, second.linked_bytes > 100_000) == (0, True)
    assert disk.used_bytes() - used < second.linked_bytes
    assert restored(disk, first.path, "one").high_watermark(STREAM) == 10
    assert restored(disk, second.path, "two").high_watermark(STREAM) == 14


def test_a_link_to_a_damaged_file_is_not_made_again() -> None:
    disk = MemoryDisk()
    make(disk, commits=10)
    time = clock()
    first = back_up(disk, time)
    disk.damage(f"{first.path}/default/vnode-0/00000000000000000000.wal", 30_000, b"rot")
    second = back_up(disk, time)
    assert second.linked_bytes
    assert restored(disk, second.path).high_watermark(STREAM) == 10
    with pytest.raises(BackupError, match="is damaged"):
        restored(disk, first.path, "first")


@pytest.mark.parametrize("calls", range(0, 120, 3))
def test_an_interrupted_backup_is_no_backup_and_the_next_one_removes_it(calls: int) -> None:
    disk = MemoryDisk()
    make(disk, commits=7)
    time = clock()
    steps = backup_of(disk, time).run()
    left = calls

    class Killed(BaseException):
        pass

    def kill(_call: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    disk.faults.append(kill)
    try:
        for _ in steps:
            pass
    except Killed:
        pass
    disk.faults.clear()
    after = disk.crash(DROP_ALL)
    for name in backups_in(after, "backups") if after.exists("backups") else ():
        assert restored(after, f"backups/{name}", "early").high_watermark(STREAM) == 7
    open_store(after).release()
    backup = back_up(after, time)
    assert not [name for name in after.list("backups") if name.endswith(".partial")]
    assert restored(after, backup.path).high_watermark(STREAM) == 7


def test_a_full_disk_is_reported_before_anything_is_copied() -> None:
    disk = MemoryDisk()
    make(disk, commits=10)
    disk.capacity_bytes = disk.used_bytes() + 50_000
    with pytest.raises(DiskFull, match="are needed"):
        back_up(disk, clock())
    assert [name for name in disk.list("backups") if name != "LOCK"] == []


@pytest.mark.parametrize(
    ("kind", "nth"),
    [
        ("write", 3),
        ("sync", 3),
        ("rename", 1),
        ("rename", 2),
        ("sync_directory", 3),
        ("read", 3),
        ("list", 3),
    ],
)
def test_a_disk_error_ends_the_backup_and_leaves_nothing(kind: str, nth: int) -> None:
    disk = MemoryDisk()
    make(disk, commits=10)
    disk.make_directory("backups")
    disk.faults.append(failing(kind, errno.EIO, nth=nth))
    with pytest.raises(DiskError):
        back_up(disk, clock())
    assert backups_in(disk, "backups") == []
    assert [name for name in disk.list("backups") if name != "LOCK"] == []


def test_one_folder_takes_one_backup_at_a_time() -> None:
    disk = MemoryDisk()
    make(disk)
    time = clock()
    steps = backup_of(disk, time).run()
    next(steps)
    with pytest.raises(BackupError, match="process 1 makes a backup there"):
        back_up(disk, time)


def test_one_folder_is_for_one_cluster() -> None:
    disk = MemoryDisk()
    make(disk)
    time = clock()
    path = f"{back_up(disk, time).path}/manifest.json"
    manifest = read_manifest(disk, path.rpartition("/")[0])
    assert manifest.identity.cluster_id == "cluster"
    marker = json.loads(disk.contents("data/kawal.json"))
    data = json.dumps(marker | {"cluster_id": "other"}).encode()
    file = disk.open("data/kawal.json")
    file.truncate(len(data))
    file.write_at(0, [data])
    with pytest.raises(BackupError, match=r"the backup of another cluster \(cluster\)"):
        back_up(disk, time)


def test_what_is_no_data_directory_is_refused() -> None:
    disk = MemoryDisk()
    disk.make_directory("data")
    with pytest.raises(BackupError, match=r"has no kawal\.json"):
        back_up(disk, clock())


def test_damage_in_the_data_directory_is_named_and_no_backup_is_made() -> None:
    disk = MemoryDisk()
    make(disk, commits=10)
    disk.damage("data/default/vnode-0/00000000000000000000.wal", 30_000, b"rot")
    with pytest.raises(
        BackupError, match=r"data/default/vnode-0/00000000000000000000\.wal.*kawal wal verify"
    ):
        back_up(disk, clock())
    assert backups_in(disk, "backups") == []


def test_progress_goes_through_its_phases() -> None:
    disk = MemoryDisk()
    make(disk, commits=10)
    now = [0]
    backup = backup_of(disk, lambda: now[0])
    phases: list[str] = []
    for progress in backup.run():
        assert progress.done_bytes <= progress.total_bytes
        if not phases or phases[-1] != progress.phase:
            phases.append(progress.phase)
        now[0] += progress.phase == "waiting"
    assert phases == ["copying", "waiting", "copying", "checking"]


def test_a_backup_that_cannot_remove_a_leftover_removes_nothing_else() -> None:
    """It took the folder not yet made for its own: on a disk whose root is "", that was everything."""
    disk = MemoryDisk()
    make(disk)
    disk.make_directory("backups")
    disk.make_directory("backups/old.partial")
    disk.faults.append(failing("remove_directory", errno.EIO))
    with pytest.raises(DiskError):
        back_up(disk, clock())
    assert disk.exists("data/kawal.json")


def test_the_vnodes_of_a_backup_are_at_one_moment_though_the_clock_jumped_ahead_of_the_server() -> None:
    """Bug: frames carry the clock of the server's start, and the point was the time of day."""
    disk = MemoryDisk()
    store = open_store(disk)
    logs = []
    for index in (0, 1):
        store.create_vnode("default", index)
        logs.append(store.open_vnode("default", index, now_ms=0, options=EAGER))
        logs[index].append(STREAM, batch(1, body=b"before"))
        commit(logs[index], 5)
    vnodes = ["default/vnode-0", "default/vnode-1"]
    halves = count(2 * 1_700_000_000_000)  # a clock that waits
    backup = Backup(
        disk, "data", "backups", clock=lambda: next(halves) // 2, vnodes_of=lambda _records: vnodes
    )
    waited = False
    for number, progress in enumerate(backup.run()):
        waited |= progress.phase == "waiting"
        if waited:
            # What is written to the second log could know of what was written to the first.
            for log in logs:
                log.append(STREAM, batch(1, body=b"%d" % number))
                commit(log, 10 + number)
    assert waited
    for _ in Restore(disk, backup.path, "again").run():
        pass
    again = open_store(disk, "again")
    ends = [
        again.open_vnode("default", index, now_ms=0, options=OPTIONS).high_watermark(STREAM)
        for index in (0, 1)
    ]
    assert ends == [1, 1]


def test_the_directory_of_one_of_several_nodes_is_refused() -> None:
    disk = MemoryDisk()
    make(disk, commits=1)
    write_marker(disk, "data", StoreIdentity(cluster_id="c", node_id=2, secret="", node=1, nodes=3))
    with pytest.raises(BackupError, match="data: this is the directory of node 1 of 3 nodes"):
        back_up(disk, clock())
    assert not disk.exists("backups")
