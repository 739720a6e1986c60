"""Committed offsets take no more memory than there is for them, and groups go on where they have one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from uuid import UUID

import pytest

from groups.offset_values import NO_EXPIRY, Committed, committed_bytes
from groups.offsets import OffsetTable, weight_of
from groups.record_keys import OffsetKey
from groups.staged_offsets import TRANSACTIONS_PER_KEY_MAX
from protocol.error_codes import ErrorCode
from tests.groups.driver import WALL_MS, Driver, codes
from tests.groups.test_txn_offset_commit import end, stage

TOPIC_ID = UUID(int=7)
NONE, NO_ROOM = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.fixture
def driver() -> Driver:
    """Return a driver with room for three offsets of about 300 bytes."""
    return Driver("t", "u", kawal_offsets_max_bytes=1_000)


def test_an_offset_for_which_there_is_no_room_is_refused_so_that_its_client_tries_again(
    driver: Driver,
) -> None:
    assert codes(driver.commit("g", {("t", 0): 1, ("t", 1): 1})) == [NONE, NONE]
    assert codes(driver.commit("h", {("t", 0): 1})) == [NO_ROOM]
    assert driver.committed("h", "t", 0) is None
    assert driver.coordinator.offset_room.refused == 1


def test_those_of_a_request_are_refused_one_by_one(driver: Driver) -> None:
    answer = driver.commit("g", {("t", index): 1 for index in range(4)})
    assert codes(answer) == [NONE] * 3 + [NO_ROOM]


def test_a_group_goes_on_where_it_has_an_offset(driver: Driver) -> None:
    driver.commit("g", {("t", index): 1 for index in range(4)})
    assert codes(driver.commit("g", {("t", 0): 2, ("t", 3): 2})) == [NONE, NO_ROOM]
    assert driver.committed("g", "t", 0) == 2


def test_metadata_count(driver: Driver) -> None:
    assert codes(driver.commit("g", {("t", 0): 1}, metadata="x" * 3_000)) == [NO_ROOM]
    assert codes(driver.commit("g", {("t", 0): 1}, metadata="x" * 500)) == [NONE]
    assert codes(driver.commit("g", {("t", 0): 2}, metadata="x" * 3_000)) == [NO_ROOM]
    assert codes(driver.commit("g", {("t", 0): 3}, metadata="x" * 500)) == [NONE]


def test_offsets_on_their_way_count(driver: Driver) -> None:
    driver.hold = True
    driver.commit("g", {("t", index): 1 for index in range(4)})
    answers = [driver.commit("h", {("t", index): 1}) for index in range(2)]
    driver.hold = False
    driver.sync()
    assert [codes(answer) for answer in answers] == [[NO_ROOM], [NO_ROOM]]


def test_there_is_room_again_when_others_have_been_deleted(driver: Driver) -> None:
    driver.commit("g", {("t", index): 1 for index in range(3)})
    assert codes(driver.commit("h", {("u", 0): 1})) == [NO_ROOM]
    driver.delete_topic("t")
    assert codes(driver.commit("h", {("u", 0): 1})) == [NONE]


def test_all_that_is_stored_is_loaded_and_only_what_is_new_is_refused(driver: Driver) -> None:
    driver.commit("g", {("t", index): 1 for index in range(3)})
    driver.config = Driver(kawal_offsets_max_bytes=100).config
    driver.restart()
    assert [driver.committed("g", "t", index) for index in range(3)] == [1] * 3
    assert codes(driver.commit("g", {("t", 0): 2, ("u", 0): 1})) == [NONE, NO_ROOM]


def test_what_transactions_have_staged_counts_until_they_end(driver: Driver) -> None:
    assert stage(driver, 5) == [NONE]
    assert stage(driver, 5, producer=8, group_id="h") == [NO_ROOM]
    assert end(driver, commit=False) == [None]
    assert stage(driver, 5, producer=8, group_id="h") == [NONE]


@pytest.mark.parametrize("passed", [0, 1_000], ids=["first commits", "commits that have passed records"])
@pytest.mark.parametrize(("groups", "partitions"), [(1, 20_000), (2_000, 1), (200, 50)])
def test_what_is_counted_is_about_what_it_takes(groups: int, partitions: int, passed: int) -> None:
    def fill() -> OffsetTable:
        table = OffsetTable()
        for group in range(groups):
            for partition in range(partitions):
                key = OffsetKey(f"group-{group}", "topic", partition)
                value = committed_bytes(Committed(1 << 40, 0, "", WALL_MS, NO_EXPIRY), TOPIC_ID)
                table.count_rows(key, 0, WALL_MS + group)
                table.count_rows(key, passed, WALL_MS + group)
                table.replay(key, value)
        return table

    table, taken = traced(fill)
    assert 0.7 * taken < table.size_bytes < 1.7 * taken


def traced(make: Callable[[], OffsetTable]) -> tuple[OffsetTable, int]:
    """Return what is made, and the memory that it takes."""
    make()
    tracemalloc.start()
    try:
        made = make()
        return made, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_no_offset_weighs_nothing() -> None:
    assert weight_of(None) == 0


def test_many_transactions_that_stage_the_same_partitions_take_no_more_memory_than_they_may() -> None:
    driver = Driver("t", kawal_offsets_max_bytes=100_000)
    assert codes(driver.commit("g", {("t", 0): 1})) == [NONE]
    found = [stage(driver, 5, producer=producer) for producer in range(1_000)]
    assert driver.coordinator.offset_room.size_bytes <= 100_000
    assert found[:TRANSACTIONS_PER_KEY_MAX] == [[NONE]] * TRANSACTIONS_PER_KEY_MAX
    assert found[-1] == [NO_ROOM]
    found = [stage(driver, 5, producer=producer, group_id="h") for producer in range(1_000)]
    assert driver.coordinator.offset_room.size_bytes <= 100_000
    assert found[-1] == [NO_ROOM]


def test_a_group_that_commits_in_transactions_goes_on_while_others_have_all_the_room() -> None:
    driver = Driver("t", "u", kawal_offsets_max_bytes=10_000)
    driver.commit("h", {("t", index % 4): 1 for index in range(4)})
    driver.commit("h", {("u", index % 4): 1 for index in range(4)}, metadata="x" * 2_000)
    assert driver.coordinator.offset_room.size_bytes > 8_900
    assert stage(driver, 5) == [NONE]
    assert stage(driver, 6) == [NONE]
    assert stage(driver, 5, producer=8) == [NO_ROOM]
    assert end(driver, commit=True) == [None]
    assert driver.committed("g", "t", 0) == 6
