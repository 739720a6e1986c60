"""The simulated disk: room, faults, crashes and restarts."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from wal.disk import DiskError, DiskFull, LockHeld, SyncFailed
from wal.memory_disk import UNLIMITED_BYTES, MemoryDisk
from wal.memory_faults import Call, Fault, failing
from wal.memory_file import GROW, KEEP
from wal.memory_image import KEEP_ALL, Effect, Uniform


def durable_disk(path: str = "a", data: bytes = b"old") -> MemoryDisk:
    disk = MemoryDisk()
    file = disk.open(path, create=True)
    file.write_at(0, [data])
    file.sync()
    disk.sync_directory(".")
    file.close()
    return disk


def test_a_crash_keeps_synced_bytes_and_nothing_else() -> None:
    disk = durable_disk()
    disk.open("a").write_at(0, [b"new and longer"])
    assert disk.crash().contents("a") == b"old"
    assert disk.crash(KEEP_ALL).contents("a") == b"new and longer"
    assert disk.crash(Uniform(GROW, names=True)).contents("a") == b"old".ljust(14, b"\0")
    assert disk.contents("a") == b"new and longer"


def test_a_file_without_a_synced_directory_is_gone_though_it_was_synced() -> None:
    disk = MemoryDisk()
    file = disk.open("a", create=True)
    file.write_at(0, [b"abc"])
    file.sync()
    assert disk.crash().files() == []
    assert disk.crash(KEEP_ALL).contents("a") == b"abc"


def test_what_is_in_a_directory_is_gone_with_the_directory() -> None:
    disk = MemoryDisk()
    disk.make_directory("d")
    disk.open("d/a", create=True).sync()
    disk.sync_directory("d")
    assert disk.crash().files() == []
    disk.sync_directory(".")
    assert disk.crash().files() == ["/d/a"]


def test_an_unsynced_rename_is_undone_whole() -> None:
    disk = durable_disk()
    disk.open("b", create=True).sync()
    disk.sync_directory(".")
    disk.rename("a", "b")
    assert [disk.crash().contents(path) for path in disk.crash().files()] == [b"old", b""]
    assert disk.crash(KEEP_ALL).files() == ["/b"]
    disk.sync_directory(".")
    assert disk.crash().contents("b") == b"old"


def test_an_unsynced_removal_is_undone() -> None:
    disk = durable_disk()
    disk.remove("a")
    assert disk.crash().contents("a") == b"old"
    disk.sync_directory(".")
    assert disk.crash().files() == []


def test_a_failed_sync_shows_the_lost_bytes_until_the_cache_is_dropped() -> None:
    disk = durable_disk()
    disk.faults.append(failing("sync", errno.EIO))
    file = disk.open("a")
    file.write_at(0, [b"new"])
    with pytest.raises(SyncFailed):
        file.sync()
    file.sync()
    assert file.read_at(0, 3) == b"new"
    file.drop_cache()
    assert file.read_at(0, 3) == b"old"
    assert disk.crash(KEEP_ALL).contents("a") == b"old"


def test_a_failed_directory_sync_never_makes_its_names_durable() -> None:
    disk = durable_disk()
    disk.faults.append(failing("sync_directory", errno.EIO))
    disk.rename("a", "b")
    with pytest.raises(SyncFailed):
        disk.sync_directory(".")
    disk.sync_directory(".")
    assert (disk.files(), disk.crash().files()) == (["/b"], ["/a"])


def test_a_lying_sync_answers_success_and_keeps_nothing() -> None:
    disk = durable_disk()
    disk.faults.append(lambda call: Fault(is_lie=True) if "sync" in call.kind else None)
    file = disk.open("a")
    file.write_at(0, [b"new"])
    file.sync()
    disk.rename("a", "b")
    disk.sync_directory(".")
    assert [disk.crash().contents(path) for path in disk.crash().files()] == [b"old"]


@pytest.mark.parametrize(
    "kind", ["write", "allocate", "truncate", "drop_cache", "rename", "remove", "make_directory"]
)
def test_any_call_can_lie(kind: str) -> None:
    disk = durable_disk()
    disk.faults.append(lambda call: Fault(is_lie=True) if call.kind == kind else None)
    file = disk.open("a")
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: file.write_at(0, [b"new"]),
        "allocate": lambda: file.allocate(100),
        "truncate": lambda: file.truncate(0),
        "drop_cache": file.drop_cache,
        "rename": lambda: disk.rename("a", "b"),
        "remove": lambda: disk.remove("a"),
        "make_directory": lambda: disk.make_directory("d"),
    }
    calls[kind]()
    assert (disk.files(), disk.contents("a"), disk.exists("d")) == (["/a"], b"old", False)


def test_a_lying_removal_of_a_directory_keeps_it() -> None:
    disk = MemoryDisk()
    disk.make_directory("d")
    disk.faults.append(lambda call: Fault(is_lie=True) if call.kind == "remove_directory" else None)
    disk.remove_directory("d")
    assert disk.exists("d")


@pytest.mark.parametrize("kind", ["read", "allocate", "truncate", "drop_cache", "write"])
def test_a_fault_of_a_file_names_the_file_and_changes_nothing(kind: str) -> None:
    disk = durable_disk()
    disk.faults.append(failing(kind, errno.EIO))
    file = disk.open("a")
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: file.read_at(0, 1),
        "allocate": lambda: file.allocate(100),
        "truncate": lambda: file.truncate(0),
        "drop_cache": file.drop_cache,
        "write": lambda: file.write_at(0, [b"new"]),
    }
    with pytest.raises(DiskError, match=r"'a' failed: input/output error"):
        calls[kind]()
    assert disk.contents("a") == b"old"


@pytest.mark.parametrize(
    "kind", ["open", "list", "rename", "remove", "make_directory", "remove_directory", "lock"]
)
def test_a_fault_of_a_name_changes_nothing(kind: str) -> None:
    disk = durable_disk()
    disk.faults.append(failing(kind, errno.EACCES))
    calls: dict[str, Callable[[], object]] = {
        "open": lambda: disk.open("b", create=True),
        "list": lambda: disk.list("."),
        "rename": lambda: disk.rename("a", "b"),
        "remove": lambda: disk.remove("a"),
        "make_directory": lambda: disk.make_directory("d"),
        "remove_directory": lambda: disk.remove_directory("d"),
        "lock": lambda: disk.lock("L"),
    }
    with pytest.raises(DiskError, match="EACCES"):
        calls[kind]()
    assert (disk.files(), disk.list("."), disk.locks) == (["/a"], ["a"], {})


def test_a_failing_write_stores_as_much_as_the_fault_says() -> None:
    disk = durable_disk()
    disk.faults.append(failing("write", errno.EIO, stored_bytes=2))
    with pytest.raises(DiskError):
        disk.open("a").write_at(1, [b"new"])
    assert disk.contents("a") == b"one"


def test_delays_are_added_up_and_waited_for() -> None:
    waited: list[int] = []
    disk = MemoryDisk(pause=waited.append)
    disk.faults.append(lambda call: Fault(delay_ms=200) if call.kind == "sync" else None)
    file = disk.open("a", create=True)
    file.sync()
    file.sync()
    assert (waited, disk.delayed_ms) == ([200, 200], 400)


def test_delays_are_only_added_up_for_a_driver_with_its_own_clock() -> None:
    disk = MemoryDisk()
    disk.faults.append(lambda call: Fault(delay_ms=5))
    disk.open("a", create=True)
    assert disk.delayed_ms == 5


def test_the_first_fault_that_answers_wins() -> None:
    disk = MemoryDisk()
    disk.faults += [lambda _: None, failing("open", errno.EMFILE), failing("open", errno.EACCES)]
    with pytest.raises(DiskError, match="EMFILE"):
        disk.open("a", create=True)


def test_faults_see_what_is_asked_for() -> None:
    calls: list[Call] = []

    def hook(call: Call) -> None:
        calls.append(call)

    disk = MemoryDisk()
    disk.faults.append(hook)
    file = disk.open("a", create=True)
    file.write_at(5, [b"ab", b"c"])
    file.read_at_if_cached(1, 2)
    assert calls == [Call("open", "a"), Call("write", "a", 5, 3), Call("read", "a", 1, 2)]


def test_a_write_beyond_the_capacity_stores_what_fits() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    disk.open("a", create=True).write_at(0, [b"12345"])
    with pytest.raises(DiskFull):
        disk.open("b", create=True).write_at(0, [b"1234567"])
    assert (disk.contents("b"), disk.used_bytes(), disk.free_bytes(".")) == (b"12345", 10, 0)


def test_a_write_behind_the_end_of_a_full_disk_stores_nothing() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    with pytest.raises(DiskFull):
        disk.open("a", create=True).write_at(20, [b"12345"])
    assert disk.contents("a") == b""


def test_overwriting_needs_no_room() -> None:
    disk = MemoryDisk(capacity_bytes=5)
    file = disk.open("a", create=True)
    file.write_at(0, [b"12345"])
    file.write_at(2, [b"abc"])
    assert disk.contents("a") == b"12abc"


def test_an_allocation_takes_all_it_asks_for_or_nothing() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    file = disk.open("a", create=True)
    with pytest.raises(DiskFull):
        file.allocate(11)
    assert disk.free_bytes(".") == 10
    file.allocate(10)
    assert disk.free_bytes(".") == 0


def test_room_comes_back_when_the_last_name_and_the_last_open_file_are_gone() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    file = disk.open("a", create=True)
    file.write_at(0, [bytes(10)])
    disk.remove("a")
    assert disk.free_bytes(".") == 0
    file.close()
    assert disk.free_bytes(".") == 10


def test_memory_comes_back_when_a_removal_is_durable() -> None:
    disk = durable_disk()
    disk.remove("a")
    assert len(disk.image.nodes) == 2
    disk.sync_directory(".")
    assert len(disk.image.nodes) == 1


def test_a_disk_without_a_capacity_has_always_room() -> None:
    assert MemoryDisk().free_bytes("/") == UNLIMITED_BYTES


def test_the_capacity_outlives_a_crash_and_a_kill() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    assert (disk.crash().capacity_bytes, disk.kill().capacity_bytes) == (10, 10)


def test_a_dropped_cache_is_cold_until_the_next_read() -> None:
    disk = durable_disk()
    file = disk.open("a")
    assert file.read_at_if_cached(0, 3) == b"old"
    file.drop_cache()
    assert file.read_at_if_cached(0, 3) is None
    file.read_at(0, 1)
    assert file.read_at_if_cached(0, 3) == b"old"


def test_a_restart_closes_files_and_locks_and_keeps_the_page_cache_undurable() -> None:
    disk = durable_disk()
    lock = disk.lock("L")
    file = disk.open("a")
    file.write_at(0, [b"new"])
    disk.restart()
    with pytest.raises(DiskError, match="EBADF"):
        file.sync()
    disk.lock("L")
    lock.release()
    with pytest.raises(LockHeld):
        disk.lock("L")
    assert (disk.contents("a"), disk.crash().contents("a")) == (b"new", b"old")


def test_a_killed_disk_is_a_copy_of_its_own() -> None:
    disk = durable_disk()
    disk.open("a").write_at(0, [b"new"])
    copy = disk.kill()
    copy.open("a").sync()
    copy.open("a").write_at(0, [b"xyz"])
    assert (copy.crash().contents("a"), disk.contents("a"), disk.crash().contents("a")) == (
        b"new",
        b"new",
        b"old",
    )


def test_a_lock_file_names_the_process_and_every_restart_is_another() -> None:
    disk = MemoryDisk(process_id=7)
    disk.lock("L")
    assert disk.contents("L") == b"7\n"
    disk.restart()
    disk.lock("L")
    assert disk.contents("L") == b"8\n"


def test_damage_is_durable_and_behind_the_page_cache() -> None:
    disk = durable_disk()
    disk.damage("a", 1, b"X")
    assert (disk.contents("a"), disk.crash().contents("a")) == (b"oXd", b"oXd")


def test_effects_repeated_on_a_copy_of_the_start_give_the_same_disk() -> None:
    disk = durable_disk()
    copy = disk.kill()
    effects: list[Effect] = []
    disk.observe = effects.append
    disk.make_directory("d")
    file = disk.open("d/x", create=True)
    file.allocate(10)
    file.write_at(2, [b"abc"])
    file.sync()
    disk.rename("d/x", "y")
    disk.remove("a")
    file.truncate(4)
    for effect in effects:
        copy.image.apply(effect)
    for left, right in (
        (disk, copy),
        (disk.crash(), copy.crash()),
        (disk.crash(KEEP_ALL), copy.crash(KEEP_ALL)),
    ):
        assert {path: left.contents(path) for path in left.files()} == {
            path: right.contents(path) for path in right.files()
        }
    assert disk.crash(Uniform(KEEP, names=False)).files() == ["/a"]
