"""Share-partitions and members as operators see them."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.share.departures import Departure
from groups.share.record_range import Facts, StoredRange
from groups.share.sessions import SessionKey, ShareSession
from groups.share.share_partition import SharePartition
from groups.share.show import (
    RANGES_PER_STEP,
    Shown,
    Totals,
    held,
    is_unfinished,
    lock_left_ms,
    member_row,
    parts_of,
    totals_of,
)
from groups.share.states import RecordState
from tests.groups.share.driver import KEY, Driver

ACCEPT, RELEASE, REJECT = 1, 2, 3


def partition_of(driver: Driver) -> SharePartition:
    found = driver.machine.find(KEY)
    assert found is not None
    return found


def totals(partition: SharePartition) -> tuple[Totals, int]:
    """Return the totals and the number of pauses."""
    steps, pauses = totals_of(partition), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, pauses
        pauses += 1


def worked_on() -> Driver:
    """Return ten records: 0 to 3 acquired, 4 accepted, 5 rejected, 6 to 9 given back, 6 and 7 taken again."""
    driver = Driver()
    driver.initialize()
    driver.acquire("m1", 10)
    driver.say("m1", 4, 9, ACCEPT, REJECT, RELEASE, RELEASE, RELEASE, RELEASE)
    driver.acquire("m2", 10, max_records=2)
    return driver


def test_records_are_counted_by_state_deliveries_and_member() -> None:
    found, pauses = totals(partition_of(worked_on()))
    assert (found.acquired, found.available, found.released) == (6, 2, 2)
    assert (found.acknowledged, found.archived) == (1, 1)
    assert (found.deliveries, found.pending) == ({1: 6, 2: 2}, {"m1": 4, "m2": 2})
    assert pauses == 0


def test_very_many_ranges_are_looked_at_in_parts_and_none_is_counted_twice() -> None:
    partition = SharePartition(0)
    count = 2 * RANGES_PER_STEP + 100
    stored = [
        StoredRange(number, number, RecordState.AVAILABLE if number % 2 else RecordState.ACKNOWLEDGED, 1)
        for number in range(1, count)
    ]
    partition.replay(0, stored)
    found, pauses = totals(partition)
    assert pauses == 2
    assert found.acknowledged + found.available == count
    offsets = [(shown.first, shown.last) for shown in chain.from_iterable(parts_of(partition))]
    assert offsets == [(number, number) for number in range(count)]


def test_a_change_between_two_parts_counts_no_record_twice() -> None:
    partition = SharePartition(0)
    count = 2 * RANGES_PER_STEP
    partition.replay(
        0, [StoredRange(number, number, RecordState.AVAILABLE, 1 + number % 2) for number in range(count)]
    )
    parts = parts_of(partition)
    first = next(parts)
    partition.move_log_start(count - 10)
    rest = list(chain.from_iterable(parts))
    offsets = [shown.first for shown in (*first, *rest)]
    assert offsets == [*range(RANGES_PER_STEP), *range(count - 10, count)]


def test_records_in_work_are_found_by_member_between_two_offsets() -> None:
    found = held(partition_of(worked_on()), 2, 6)
    assert {member: [part[:2] for part in parts] for member, parts in found.items()} == {
        "m1": [(2, 3)],
        "m2": [(6, 6)],
    }


def test_only_records_that_are_not_finished_are_shown() -> None:
    parts = chain.from_iterable(parts_of(partition_of(worked_on())))
    assert [part[:2] for part in filter(is_unfinished, parts)] == [(0, 3), (6, 7), (8, 9)]


def test_the_time_that_is_left_of_a_lock() -> None:
    acquired = Facts(RecordState.ACQUIRED, 1, "m", 700)
    assert (lock_left_ms(acquired, 200), lock_left_ms(acquired, 900)) == (500, 0)
    assert lock_left_ms(Shown(0, 0, Facts(RecordState.AVAILABLE, 1)).facts, 0) == 0


def departed(returned: int) -> Departure:
    departure = Departure(400)
    departure.returned = returned
    return departure


@pytest.mark.parametrize(
    ("departure", "beat_ms", "pending", "status", "idle_ms"),
    [
        (None, 30_000, 0, "Running", 1_000),
        (None, 15_000, 0, "Leaving", 16_000),
        (departed(0), 30_000, 0, "Leaving", 30_600),
        (departed(9), 30_000, 0, "Leaving", 30_600),
        (departed(9), None, 0, "Exit", 30_600),
        (departed(0), None, 2, "Exit", 30_600),
        (departed(0), None, 0, "Complete", 30_600),
        (None, None, 2, "Exit", -1),
    ],
)
def test_the_status_of_a_member_without_a_session(
    departure: Departure | None, beat_ms: int | None, pending: int, status: str, idle_ms: int
) -> None:
    row = member_row("m", session=None, departure=departure, beat_ms=beat_ms, pending=pending, now_ms=31_000)
    assert (row.status, row.idle_ms, row.window, row.slots) == (status, idle_ms, 0, 0)


@pytest.mark.parametrize(("pending", "slots"), [(0, 500), (120, 380), (700, 0)])
def test_a_member_with_a_session_runs_and_has_slots(pending: int, slots: int) -> None:
    session = ShareSession(SessionKey("g", "m"), 1)
    session.window, session.active_ms = 500, 250
    row = member_row("m", session=session, departure=departed(1), beat_ms=None, pending=pending, now_ms=1_000)
    assert (row.status, row.window, row.slots, row.idle_ms) == ("Running", 500, slots, 750)


@pytest.mark.parametrize(("window_max", "shown"), [(0, 500), (600, 500), (10, 10)])
def test_a_window_is_shown_within_the_limit_of_the_group(window_max: int, shown: int) -> None:
    session = ShareSession(SessionKey("g", "m"), 1)
    session.window, session.active_ms, session.is_waiting = 500, 250, True
    row = member_row(
        "m", session=session, departure=None, beat_ms=1, pending=4, now_ms=900, window_max=window_max
    )
    assert (row.window, row.slots) == (shown, shown - 4)
    assert row.idle_ms == 0, "its fetch waits"


States = st.lists(st.tuples(st.integers(1, 400), st.sampled_from(list(RecordState)), st.integers(1, 4)))


@given(States)
def test_every_record_is_counted_once(parts: list[tuple[int, RecordState, int]]) -> None:
    partition, end = SharePartition(5), 5
    for count, state, deliveries in parts:
        partition.replay(-1, [StoredRange(end, end + count - 1, state, deliveries)])
        end += count
    found, _ = totals(partition)
    finished = found.acknowledged + found.archiving + found.archived
    assert found.acquired + found.available + finished == end - partition.start
    assert sum(found.deliveries.values()) == found.acquired + found.released
    shown = list(chain.from_iterable(parts_of(partition)))
    assert [part.first for part in shown[1:]] == [part.last + 1 for part in shown[:-1]]
