"""The manifest of a backup, and the folders of backups."""

from __future__ import annotations

import json

import pytest

from tests.wal.stores import IDENTITY
from wal.backup_manifest import (
    BackupError,
    Manifest,
    backups_in,
    read_manifest,
    remove_old,
    remove_tree,
    write_manifest,
)
from wal.backup_pieces import KnownFile
from wal.memory_disk import MemoryDisk

MANIFEST = Manifest(
    identity=IDENTITY,
    point_ms=5,
    made_ms=6,
    logs={"meta": {"a.wal": KnownFile(3, 4)}, "default/vnode-0": {}},
)


def folder(disk: MemoryDisk, name: str) -> str:
    disk.make_directory("b")
    disk.make_directory(f"b/{name}")
    write_manifest(disk, f"b/{name}", MANIFEST)
    return f"b/{name}"


def put(disk: MemoryDisk, path: str, data: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write_at(0, [data])


def test_a_manifest_is_read_as_it_was_written() -> None:
    disk = MemoryDisk()
    assert read_manifest(disk, folder(disk, "one")) == MANIFEST
    assert MANIFEST.size_bytes == 3


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"point_ms": 7}, "its checksum is wrong"),
        ({"format": 2}, "its checksum is wrong"),
    ],
)
def test_a_changed_manifest_is_refused(changes: dict[str, int], problem: str) -> None:
    disk = MemoryDisk()
    path = folder(disk, "one")
    tree = json.loads(disk.contents(f"{path}/manifest.json"))
    tree["content"] |= changes
    put(disk, f"{path}/manifest.json", json.dumps(tree).encode())
    with pytest.raises(BackupError, match=problem):
        read_manifest(disk, path)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[1]", b'{"content": 5, "crc32c": 1}'])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    disk = MemoryDisk()
    path = folder(disk, "one")
    put(disk, f"{path}/manifest.json", data)
    with pytest.raises(BackupError, match="not a valid manifest"):
        read_manifest(disk, path)


def test_a_later_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    monkeypatch.setattr("wal.backup_manifest.BACKUP_FORMAT", 9)
    path = folder(disk, "one")
    monkeypatch.undo()
    with pytest.raises(BackupError, match="made by a later version"):
        read_manifest(disk, path)


def test_folders_without_a_manifest_and_partial_ones_are_no_backups() -> None:
    disk = MemoryDisk()
    for name in ("2", "1", "3.partial"):
        folder(disk, name)
    disk.make_directory("b/4")
    assert backups_in(disk, "b") == ["1", "2"]


def test_the_newest_backups_are_kept() -> None:
    disk = MemoryDisk()
    for name in ("1", "2", "3"):
        disk.make_directory(folder(disk, name) + "/meta")
    assert remove_old(disk, "b", 2) == ["1"]
    assert remove_old(disk, "b", 2) == []
    assert disk.list("b") == ["2", "3"]


def test_an_interrupted_removal_leaves_nothing_that_looks_complete() -> None:
    disk = MemoryDisk()
    for name in ("1", "2"):
        folder(disk, name)

    class Killed(BaseException):
        pass

    def kill(call: object) -> None:
        if getattr(call, "kind", "") == "remove":
            raise Killed

    disk.faults.append(kill)
    with pytest.raises(Killed):
        remove_old(disk, "b", 1)
    assert backups_in(disk, "b") == ["2"]


def test_a_tree_is_removed_with_all_that_is_in_it() -> None:
    disk = MemoryDisk()
    folder(disk, "1")
    remove_tree(disk, "b")
    assert not disk.exists("b")
