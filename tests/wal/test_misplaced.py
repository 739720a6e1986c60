"""Segments that were renamed or have changed places are put back by a repair, and cost no record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.logs import batch, commit, read_all
from tests.wal.stores import OPTIONS, open_store
from tests.wal.test_store_repair import repaired, rolled, segments, swap
from wal.memory_disk import MemoryDisk
from wal.memory_image import KEEP_ALL
from wal.misplaced import FOUND_SUFFIX, LogPlace, put_back

LOGS = ["data/default/vnode-0", "data/default/vnode-1"]


def files(disk: MemoryDisk) -> list[str]:
    return [f"{log}/{name}" for log in LOGS for name in segments(disk, log)]


def killed() -> MemoryDisk:
    """Return the store without its checkpoints, which would know the segments, too."""
    disk = rolled()
    for log in LOGS:
        for name in [name for name in disk.list(log) if name.startswith("checkpoint")]:
            disk.remove(f"{log}/{name}")
    return disk


def swaps(disk: MemoryDisk) -> Iterator[tuple[str, str]]:
    """Yield pairs of segments with different names."""
    yield from (pair for pair in combinations(files(disk), 2) if pair[0][-24:] != pair[1][-24:])


@pytest.mark.parametrize("make", [rolled, killed])
def test_any_two_segments_that_have_changed_places_are_put_back(make: object) -> None:
    assert callable(make)
    whole = make()
    before = {log: segments(whole, log) for log in LOGS}
    tried = 0
    for path, other in swaps(whole):
        disk = whole.crash(KEEP_ALL)
        swap(disk, path, other)

        reports = repaired(disk, accept_loss=True)

        assert [log.report.lost_frames for log in reports.values()] == [0, 0, 0], (path, other)
        assert {log: segments(disk, log) for log in LOGS} == before
        told = [damage for log in reports.values() for damage in log.report.damages]
        assert len(told) == 2
        assert all("was put back" in damage for damage in told)
        tried += 1
    assert tried > 5


def of_two_databases(counts: tuple[int, int] = (20, 20)) -> tuple[MemoryDisk, list[str]]:
    """Return a store in which each of two databases has a vnode 0, and the directories of their logs."""
    disk = MemoryDisk()
    store = open_store(disk)
    for database, count in zip(("default", "other"), counts, strict=True):
        store.create_vnode(database, 0)
        log = store.open_vnode(database, 0, now_ms=0, options=replace(OPTIONS, segment_bytes=8_192))
        for _ in range(count):
            log.append(1, batch(body=b"record of " + database.encode() + bytes(1_000)))
            commit(log)
        log.close(0)
    store.close(0)
    return disk, ["data/default/vnode-0", "data/other/vnode-0"]


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("row", range(3))
def test_segments_of_one_name_that_two_databases_have_exchanged_are_put_back(
    row: int, *, is_clean: bool
) -> None:
    """Bug: their headers say the same vnode and name, so a repair gave up both, with all their records."""
    disk, logs = of_two_databases()
    if not is_clean:
        for log in logs:
            for name in [name for name in disk.list(log) if name.startswith("checkpoint")]:
                disk.remove(f"{log}/{name}")
    before = {log: segments(disk, log) for log in logs}
    name = sorted(before[logs[0]])[row]
    swap(disk, f"{logs[0]}/{name}", f"{logs[1]}/{name}")

    reports = repaired(disk, accept_loss=True)

    assert {log: segments(disk, log) for log in logs} == before
    assert [log.report.lost_frames for log in reports.values()] == [0, 0, 0]


@pytest.mark.parametrize("counts", [(20, 3), (3, 20)])
def test_a_segment_that_is_all_of_its_log_goes_back_when_the_other_one_does(counts: tuple[int, int]) -> None:
    disk, logs = of_two_databases(counts)
    before = {log: segments(disk, log) for log in logs}
    assert min(map(len, before.values())) == 1
    swap(disk, *(f"{log}/{0:020d}.wal" for log in logs))

    reports = repaired(disk, accept_loss=True)

    assert {log: segments(disk, log) for log in logs} == before
    assert [log.report.lost_frames for log in reports.values()] == [0, 0, 0]


def test_a_segment_that_was_moved_to_another_log_goes_back() -> None:
    disk = rolled()
    before = {log: segments(disk, log) for log in LOGS}
    path = files(disk)[1]
    disk.rename(path, f"{LOGS[1]}/{999:020d}.wal")

    repaired(disk, accept_loss=True)

    assert {log: segments(disk, log) for log in LOGS} == before


def test_a_copy_of_a_segment_takes_the_place_of_no_other() -> None:
    disk = killed()
    before = {log: segments(disk, log) for log in LOGS}
    source = files(disk)[1]
    copy = disk.open(f"{LOGS[0]}/{1:020d}.wal", create=True)
    copy.write_at(0, [disk.contents(source)])
    copy.close()

    assert put_back(disk, [LogPlace("data/meta", 0), *map(LogPlace, LOGS, range(2))]) == {}
    repaired(disk, accept_loss=True)

    kept = segments(disk, LOGS[0])
    assert all(kept[name].startswith(data) for name, data in before[LOGS[0]].items())
    assert f"{1:020d}.wal.damaged" in kept


def test_without_the_loss_accepted_nothing_is_renamed() -> None:
    disk = rolled()
    first, second = files(disk)[:2]
    swap(disk, first, second)
    before = {log: segments(disk, log) for log in LOGS}

    reports = repaired(disk, accept_loss=False)

    assert {log: segments(disk, log) for log in LOGS} == before
    assert not all(log.report.mended for log in reports.values())


def test_after_a_crash_at_any_moment_the_next_repair_goes_on() -> None:
    damaged = killed()
    before = {log: segments(damaged, log) for log in LOGS}
    paths = files(damaged)
    swap(damaged, paths[0], paths[1])
    recording = RecordingDisk(damaged.crash(KEEP_ALL))
    repaired(recording, accept_loss=True)

    def check(state: CrashState) -> None:
        disk = state.disk
        disk.locks.clear()
        repaired(disk, accept_loss=True)
        assert {log: segments(disk, log) for log in LOGS} == before
        assert not [name for log in LOGS for name in disk.list(log) if name.endswith(FOUND_SUFFIX)]
        store = open_store(disk)
        shown = [read_all(store.open_vnode("default", vnode_id, now_ms=0), 1) for vnode_id in range(2)]
        assert [data.count(b"record") for data in shown] == [12, 20]

    assert check_every_crash(recording.trace, check, random_states=2) > 10


def test_all_segments_of_a_log_under_wrong_names_are_put_back() -> None:
    disk = killed()
    before = {log: segments(disk, log) for log in LOGS}
    names = list(before[LOGS[1]])
    for name in names:
        disk.rename(f"{LOGS[1]}/{name}", f"{LOGS[1]}/{name}.aside")
    for name, other in zip(names, reversed(names), strict=True):
        disk.rename(f"{LOGS[1]}/{name}.aside", f"{LOGS[1]}/{other}")

    repaired(disk, accept_loss=True)

    assert {log: segments(disk, log) for log in LOGS} == before


@pytest.mark.parametrize("counts", [(20, 20), (20, 3), (3, 20)])
def test_after_a_crash_at_any_moment_exchanged_segments_are_put_back(counts: tuple[int, int]) -> None:
    disk, logs = of_two_databases(counts)
    before = {log: segments(disk, log) for log in logs}
    swap(disk, *(f"{log}/{0:020d}.wal" for log in logs))
    recording = RecordingDisk(disk.crash(KEEP_ALL))
    repaired(recording, accept_loss=True)

    def check(state: CrashState) -> None:
        state.disk.locks.clear()
        repaired(state.disk, accept_loss=True)
        assert {log: segments(state.disk, log) for log in logs} == before

    assert check_every_crash(recording.trace, check, random_states=2) > 10
