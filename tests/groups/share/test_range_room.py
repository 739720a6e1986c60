"""Records in flight take no more memory than their limit, over all share-partitions, and groups go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groups.errors import CoordinatorNotAvailable
from groups.share.acknowledgements import Acknowledgement, acknowledgement
from groups.share.range_room import RANGE_BYTES, TOLD_AT_ONCE, RangeRoom
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from tests.groups.share.driver import KEY, TOPIC_ID, Driver

LIMIT = 50
"""Ranges."""

ACCEPT, RELEASE = 1, 2


def started(keys: int = 1) -> Driver:
    driver = Driver()
    limited = replace(driver.config, kawal_share_ranges_max_bytes=LIMIT * RANGE_BYTES)
    driver.config = limited
    driver.machine.configure(limited)
    for index in range(keys):
        assert driver.initialize(key=key_of(index)) == [ErrorCode.NONE]
    return driver


def key_of(index: int) -> ShareKey:
    return KEY if not index else ShareKey(f"g{index}", TOPIC_ID, 0)


def every_second(first: int, last: int) -> list[Acknowledgement]:
    return [acknowledgement(offset, offset, [ACCEPT]) for offset in range(first, last, 2)]


def say(driver: Driver, key: ShareKey, batches: list[Acknowledgement]) -> None:
    driver.machine.acknowledge(key, "m1", batches, lambda _: None, driver.now_ms)
    driver.pump()


def test_a_client_that_leaves_every_second_record_unsaid_is_refused_at_the_limit() -> None:
    driver = started(10)
    room = driver.machine.table.ranges
    refused = 0
    for index in range(10):
        key = key_of(index)
        driver.acquire("m1", 20, 20, key=key)
        try:
            say(driver, key, every_second(1, 20))
        except CoordinatorNotAvailable:
            refused += 1
    assert refused > 5
    assert room.refused == refused
    # One acknowledgement may exceed it, and each share-partition has a range all the same.
    assert room.count <= LIMIT + 20 + 10


def test_at_the_limit_a_group_without_records_in_flight_gets_some_and_says_of_them_in_order() -> None:
    driver = started(2)
    fill(driver)
    other = key_of(1)
    assert driver.acquire("m1", 30, 10, key=other)
    assert driver.acquire("m1", 30, 10, key=other) == []
    for offset in range(10):
        say(driver, other, [acknowledgement(offset, offset, [ACCEPT])])
    assert driver.machine.known(other).start == 10
    assert driver.acquire("m1", 30, 10, key=other)
    with pytest.raises(CoordinatorNotAvailable):
        say(driver, other, [acknowledgement(15, 15, [ACCEPT])])


def test_room_comes_back_with_what_is_finished_deleted_or_started_again() -> None:
    driver = started(2)
    fill(driver)
    room = driver.machine.table.ranges
    assert room.is_full
    ranges = driver.machine.known(KEY).ranges
    say(driver, KEY, [acknowledgement(part.first, part.last, [ACCEPT]) for part in ranges if part.is_held])
    assert room.count == 0
    fill(driver)
    counted = room.count
    driver.restart()
    assert 0 < driver.machine.table.ranges.count <= counted
    driver.machine.delete(KEY, lambda _: None, driver.now_ms)
    driver.pump()
    assert driver.machine.table.ranges.count == 0


def test_a_share_partition_that_was_held_back_is_told_of_when_room_comes() -> None:
    driver = started(2)
    fill(driver)
    other = key_of(1)
    assert driver.acquire("m1", 30, 10, key=other)
    assert driver.acquire("m2", 30, 10, key=other) == []
    driver.machine.take_freed()
    driver.advance(1)
    assert driver.machine.take_freed() == []
    say(driver, KEY, held_ranges(driver))
    driver.machine.take_freed()
    driver.advance(1)
    assert driver.machine.take_freed() == [other]
    assert driver.acquire("m2", 30, 10, key=other)


def test_a_greater_limit_is_room_too() -> None:
    driver = started(2)
    fill(driver)
    other = key_of(1)
    driver.acquire("m1", 30, 10, key=other)
    assert driver.acquire("m2", 30, 10, key=other) == []
    driver.machine.take_freed()
    driver.machine.configure(replace(driver.config, kawal_share_ranges_max_bytes=1_000 * RANGE_BYTES))
    driver.advance(1)
    assert driver.machine.take_freed() == [other]


def test_as_many_are_told_of_at_a_time_as_there_are_ranges_free() -> None:
    limit_bytes = 5 * RANGE_BYTES
    asked: list[None] = []
    room = RangeRoom(lambda: limit_bytes, lambda: asked.append(None))
    room.count = 5
    driver = started()
    driver.acquire("m1", 20, 20)
    busy = driver.machine.known(KEY)
    for index in range(1_000):
        assert room.holds_back(key_of(index), busy)
    assert asked == []
    room.count = 3
    room.look_for_room()
    assert asked == [None]
    assert [key.group_id for key in room.take_held()] == ["g", "g1", "g2"]
    limit_bytes = 10_000 * RANGE_BYTES
    assert len(room.take_held()) == TOLD_AT_ONCE
    room.release(key_of(999))
    assert room.held_count == 1_000 - 3 - TOLD_AT_ONCE - 1


def held_ranges(driver: Driver) -> list[Acknowledgement]:
    """Return the word of a member that it is done with all that it has."""
    ranges = driver.machine.known(KEY).ranges
    return [acknowledgement(part.first, part.last, [ACCEPT]) for part in ranges if part.is_held]


def fill(driver: Driver) -> None:
    """Have ranges at the limit in one share-partition."""
    acquired = driver.acquire("m1", driver.machine.known(KEY).start + 150, 150)
    say(driver, KEY, every_second(acquired[0].first + 1, acquired[-1].last))
    assert driver.machine.table.ranges.is_full
