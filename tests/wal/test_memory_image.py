"""Names on the simulated disk: the effects that a crash may have on them, and those it may not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wal.memory_disk import MemoryDisk
from wal.memory_file import KEEP, Edit, Fate
from wal.memory_image import DROP_ALL, NameChange


class ChosenNames:
    """Fates that keep the name changes of these numbers, counted from the oldest that is not durable."""

    def __init__(self, kept: Sequence[int]) -> None:
        self.kept = kept
        self.asked = 0

    def of_names(self, change: NameChange) -> bool:
        self.asked += 1
        return self.asked - 1 in self.kept

    def of_edit(self, node: int, edit: Edit) -> Fate:
        return KEEP


def survivors(disk: MemoryDisk, *kept: int) -> dict[str, bytes]:
    after = disk.crash(ChosenNames(kept))
    return {path: after.contents(path) for path in after.files()}


def create(disk: MemoryDisk, path: str, data: bytes) -> None:
    file = disk.open(path, create=True)
    file.write_at(0, [data])
    file.sync()
    file.close()


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ((), {}),
        ((0,), {"/tmp": b"1"}),
        ((1,), {"/log": b"1"}),
        ((0, 1), {"/log": b"1"}),
        ((0, 1, 2), {"/log": b"1", "/tmp": b"2"}),
        ((2,), {"/tmp": b"2"}),
        ((0, 2), {"/tmp": b"2"}),
        ((1, 2), {"/log": b"1", "/tmp": b"2"}),
    ],
)
def test_any_subset_of_unsynced_names_may_survive(kept: tuple[int, ...], expected: dict[str, bytes]) -> None:
    disk = MemoryDisk()
    create(disk, "tmp", b"1")
    disk.rename("tmp", "log")
    create(disk, "tmp", b"2")
    assert survivors(disk, *kept) == expected


@pytest.mark.parametrize("kept", [(), (0,), (1,), (0, 1)])
def test_a_file_never_has_two_names(kept: tuple[int, ...]) -> None:
    disk = MemoryDisk()
    create(disk, "a", b"1")
    disk.sync_directory(".")
    disk.rename("a", "b")
    disk.rename("b", "c")
    assert len(survivors(disk, *kept)) == 1


def test_a_link_that_is_not_synced_may_be_lost_and_leaves_the_first_name() -> None:
    disk = MemoryDisk()
    create(disk, "a", b"1")
    disk.sync_directory("/")
    disk.link("a", "b")
    assert survivors(disk.kill()) == {"/a": b"1"}
    assert survivors(disk, 0) == {"/a": b"1", "/b": b"1"}
    disk.sync_directory("/")
    assert survivors(disk) == {"/a": b"1", "/b": b"1"}


def test_a_directory_sync_covers_its_own_names_only() -> None:
    disk = MemoryDisk()
    for name in ("d", "e"):
        disk.make_directory(name)
    disk.sync_directory("/")
    create(disk, "d/a", b"1")
    create(disk, "e/b", b"2")
    disk.sync_directory("d")
    assert disk.crash(DROP_ALL).files() == ["/d/a"]


@pytest.mark.parametrize("synced", ["d", "e"])
def test_a_rename_between_directories_is_durable_whole_with_what_came_before(synced: str) -> None:
    disk = MemoryDisk()
    for name in ("d", "e"):
        disk.make_directory(name)
    disk.sync_directory("/")
    create(disk, "d/a", b"1")
    disk.rename("d/a", "e/b")
    disk.sync_directory(synced)
    assert disk.crash(DROP_ALL).files() == ["/e/b"]


def test_a_name_given_again_after_a_removal_is_the_new_file() -> None:
    disk = MemoryDisk()
    create(disk, "a", b"1")
    disk.sync_directory("/")
    disk.remove("a")
    create(disk, "a", b"2")
    assert [survivors(disk, *kept) for kept in ((), (0,), (1,), (0, 1))] == [
        {"/a": b"1"},
        {},
        {"/a": b"2"},
        {"/a": b"2"},
    ]


def test_a_settled_image_is_one_that_a_crash_does_not_change() -> None:
    disk = MemoryDisk()
    assert disk.image.is_settled()
    file = disk.open("a", create=True)
    assert not disk.image.is_settled()
    disk.sync_directory("/")
    assert disk.image.is_settled()
    file.write_at(0, [b"1"])
    assert not disk.image.is_settled()
    file.sync()
    assert disk.image.is_settled()


def test_a_path_through_a_file_leads_nowhere() -> None:
    disk = MemoryDisk()
    create(disk, "a", b"1")
    assert not disk.exists("a/b")
    assert not disk.exists("a/b/c")


def test_relative_paths_begin_at_the_root() -> None:
    disk = MemoryDisk()
    disk.make_directory("d")
    create(disk, "./d//a", b"1")
    assert disk.contents("/d/a") == b"1"
