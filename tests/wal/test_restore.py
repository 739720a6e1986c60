"""Restoring: into an empty directory only, every byte checked, and complete only at the end."""

from __future__ import annotations

import pytest

from tests.wal.backups import STREAM, back_up, clock, make, restored
from tests.wal.stores import open_store
from wal.backup import Backup
from wal.backup_manifest import BackupError
from wal.disk import DiskFull
from wal.errors import StoreError
from wal.memory_disk import MemoryDisk
from wal.restore import Restore


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    make(disk, commits=10)
    return disk


@pytest.fixture
def backup(disk: MemoryDisk) -> Backup:
    return back_up(disk, clock())


def test_the_identity_is_kept(disk: MemoryDisk, backup: Backup) -> None:
    restored(disk, backup.path)
    assert disk.contents("again/kawal.json") == disk.contents("data/kawal.json")


def test_parents_are_made(disk: MemoryDisk, backup: Backup) -> None:
    assert restored(disk, backup.path, "far/away").high_watermark(STREAM) == 10


def test_a_directory_that_is_not_empty_is_refused_untouched(disk: MemoryDisk, backup: Backup) -> None:
    disk.make_directory("again")
    disk.open("again/holiday.jpg", create=True).close()
    with pytest.raises(BackupError, match=r"not empty \('holiday\.jpg' is in it\)"):
        restored(disk, backup.path)
    assert disk.list("again") == ["holiday.jpg"]


def test_a_restore_is_no_data_directory_before_its_end(disk: MemoryDisk, backup: Backup) -> None:
    steps = Restore(disk, backup.path, "again").run()
    for _ in steps:
        assert not disk.exists("again/kawal.json")
        with pytest.raises(StoreError):
            open_store(disk.kill(), "again")
    assert disk.exists("again/kawal.json")


@pytest.mark.parametrize(
    "name", ["meta/00000000000000000000.wal", "default/vnode-0/00000000000000000003.wal"]
)
def test_a_missing_or_damaged_file_is_named(disk: MemoryDisk, backup: Backup, name: str) -> None:
    path = f"{backup.path}/{name}"
    if not disk.exists(path):  # the catalogue of this small directory has no record yet
        path = next(found for found in disk.files() if found.startswith(f"/{backup.path}/default"))
        path = path.removeprefix("/")
    disk.damage(path, 2_000, b"rot")
    for run in (Restore(disk, backup.path, "again").run, Restore(disk, backup.path, "").check):
        with pytest.raises(BackupError, match=f"{path}: the file is damaged"):
            list(run())
    disk.remove(path)
    with pytest.raises(BackupError, match=f"{path}: the file is missing"):
        list(Restore(disk, backup.path, "").check())


def test_a_sound_backup_passes_the_check_and_nothing_is_written(disk: MemoryDisk, backup: Backup) -> None:
    before = disk.files()
    progress = list(Restore(disk, backup.path, "").check())
    assert {step.phase for step in progress} == {"copying", "checking"}
    assert disk.files() == before


def test_a_full_disk_is_reported_before_anything_is_copied(disk: MemoryDisk, backup: Backup) -> None:
    disk.capacity_bytes = disk.used_bytes() + 50_000
    with pytest.raises(DiskFull, match="are needed"):
        restored(disk, backup.path)
    assert not disk.exists("again/default")


def test_a_folder_without_a_manifest_is_no_backup(disk: MemoryDisk, backup: Backup) -> None:
    disk.remove(f"{backup.path}/manifest.json")
    with pytest.raises(BackupError, match=r"there is no manifest\.json"):
        Restore(disk, backup.path, "again")
