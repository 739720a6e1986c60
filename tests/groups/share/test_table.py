"""The records that the table of share-partitions writes."""

from __future__ import annotations

import pytest

from groups.share.record_range import StoredRange
from groups.share.state_records import Snapshot, Update, decode_state
from groups.share.states import RecordState
from protocol.error_codes import ErrorCode
from tests.groups.share.driver import KEY, WALL_MS, Driver

ACCEPT, RELEASE = 1, 2


def stored(driver: Driver) -> list[Snapshot | Update | None]:
    found = [decode_state(key, value) for key, value in driver.log[0]]
    assert all(record is not None and record[0] == KEY for record in found)
    return [record[1] for record in found if record is not None]


def test_changes_follow_a_snapshot_and_name_it_until_the_next() -> None:
    driver = Driver(snapshot_after=2)
    driver.initialize()
    driver.acquire("m1", 10)
    for offset in range(4):
        driver.say("m1", offset, offset, ACCEPT)
    assert [(type(record).__name__, record.epoch) for record in stored(driver) if record] == [
        ("Snapshot", 0), ("Update", 0), ("Update", 0), ("Snapshot", 1), ("Update", 1),
    ]  # fmt: skip


def test_a_change_has_the_start_as_it_was_and_counts_what_is_finished() -> None:
    driver = Driver(snapshot_after=9)
    driver.initialize(5)
    driver.acquire("m1", 20)
    driver.say("m1", 5, 6, ACCEPT)
    driver.say("m1", 9, 9, RELEASE)
    assert stored(driver)[1:] == [
        Update(0, 0, 5, 2, [StoredRange(5, 6, RecordState.ACKNOWLEDGED, 1)]),
        Update(0, 0, 7, 0, [StoredRange(9, 9, RecordState.AVAILABLE, 1)]),
    ]


def test_a_snapshot_has_its_times() -> None:
    driver = Driver(snapshot_after=0)
    driver.initialize()
    driver.advance(70)
    driver.acquire("m1", 10)
    driver.say("m1", 1, 1, ACCEPT)
    assert stored(driver)[1] == Snapshot(
        1, 0, 0, 0, 1, WALL_MS, WALL_MS + 70, [StoredRange(1, 1, RecordState.ACKNOWLEDGED, 1)]
    )


def test_a_change_of_another_snapshot_is_void() -> None:
    driver = Driver(snapshot_after=9)
    driver.initialize()
    driver.acquire("m1", 10)
    driver.say("m1", 0, 0, ACCEPT)
    late = driver.log[0][1]
    driver.machine.reset(KEY, 0, lambda _: None, 0)
    driver.pump()
    driver.log[0].append(late)
    driver.restart()
    assert driver.shown() == []


def test_a_change_without_its_snapshot_is_void() -> None:
    driver = Driver(snapshot_after=9)
    driver.initialize()
    driver.acquire("m1", 10)
    driver.say("m1", 0, 0, ACCEPT)
    del driver.log[0][0]
    driver.restart()
    assert driver.machine.find(KEY) is None


def test_a_closed_session_gives_back_some_ranges_at_a_time() -> None:
    driver = Driver()
    driver.initialize()
    for _ in range(4):
        driver.acquire("m1", 10, 1)
        driver.acquire("m2", 10, 1)
    answers: list[ErrorCode] = []
    told = [driver.machine.release(KEY, "m1", answers.append, 0, 3) for _ in range(2)]
    assert told == [(3, True), (1, False)]
    driver.pump()
    assert answers == [ErrorCode.NONE] * 2
    assert [part[0] for part in driver.shown() if part[2] == "available"] == [0, 2, 4, 6]


def test_locks_that_run_out_at_one_moment_do_so_some_in_each_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groups.share.coordinator.EXPIRED_PER_TICK", 3)
    driver = Driver()
    driver.initialize()
    for _ in range(4):
        driver.acquire("m1", 10, 1)
        driver.acquire("m2", 10, 1)
    left: list[int] = []
    for now_ms in (1_000, 1_001, 1_002):
        assert driver.machine.next_deadline() == now_ms
        driver.machine.tick(now_ms)
        left.append(sum(driver.machine.held_by("g", member) for member in ("m1", "m2")))
    assert left == [5, 2, 0]
    driver.pump()
    assert driver.shown() == [(0, 7, "available", 1)]
    assert driver.machine.next_deadline() is None
