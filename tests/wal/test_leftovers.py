"""Leftovers are removed, and nothing else is."""

from __future__ import annotations

from tests.wal.logs import DIRECTORY, put
from wal.leftovers import remove_parts, remove_temporaries
from wal.memory_disk import MemoryDisk

NAMES = ["00000000000000000000.wal", "00000000000000000000.part", "00000000000000000007.part", "next.tmp"]


def made() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    for name in NAMES:
        put(disk, f"{DIRECTORY}/{name}", b"x")
    return disk


def test_temporary_files_are_removed_and_noted() -> None:
    disk = made()

    assert remove_temporaries(disk, DIRECTORY, NAMES) == ["removed next.tmp, left by an interrupted write"]
    assert set(disk.list(DIRECTORY)) == set(NAMES) - {"next.tmp"}


def test_only_index_parts_of_unwanted_segments_are_removed() -> None:
    disk = made()

    remove_parts(disk, DIRECTORY, NAMES, [7])

    assert set(disk.list(DIRECTORY)) == set(NAMES) - {"00000000000000000000.part"}
