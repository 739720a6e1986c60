"""Tests of groups/cleanup.py: the groups and offsets that are forgotten, and those that are kept."""

from __future__ import annotations

import pytest

from groups.cleanup import SLICE_OFFSETS
from groups.offset_values import Committed, committed_bytes
from groups.record_keys import OffsetKey
from groups.records import encode_record
from protocol.wire import ZERO_UUID
from tests.groups.classic import group_of, new_id, one_member
from tests.groups.driver import WALL_MS, Driver

MINUTE_MS = 60_000
CHECK_MS = 600_000
DAY_MS = 24 * 60 * MINUTE_MS


@pytest.fixture
def driver() -> Driver:
    """Return a driver that keeps offsets for 60 minutes and checks them every 10."""
    return Driver("t", "u", offsets_retention_minutes=60)


def test_by_default_offsets_live_for_ever() -> None:
    driver = Driver("t")
    driver.commit("g", {("t", 0): 5})
    driver.advance(400 * DAY_MS)
    assert driver.committed("g", "t", 0) == 5


def test_offsets_of_simple_consumers_expire_after_their_last_commit(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 5, ("t", 1): 5})
    driver.advance(30 * MINUTE_MS)
    driver.commit("g", {("t", 1): 6})
    driver.advance(30 * MINUTE_MS)
    assert [driver.committed("g", "t", 0), driver.committed("g", "t", 1)] == [None, 6]
    driver.advance(30 * MINUTE_MS)
    assert driver.committed("g", "t", 1) is None
    driver.restart()
    assert driver.coordinator.counts()["offsets"] == 0


def test_those_of_members_expire_after_the_last_one_left(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.commit("g", {("t", 0): 5}, member_id=member_id, generation=1)
    for _ in range(70):
        driver.advance(5_000)
        driver.heartbeat("g", member_id, 1)
    driver.advance(10_000)
    left_ms = driver.now_ms
    driver.advance(left_ms + 59 * MINUTE_MS - driver.now_ms)
    assert driver.committed("g", "t", 0) == 5
    driver.advance(12 * MINUTE_MS)
    assert driver.committed("g", "t", 0) is None
    assert "g" not in driver.coordinator._context.groups


def test_what_members_subscribe_to_is_kept(driver: Driver) -> None:
    driver.config = type(driver.config)(
        offsets_topic_num_partitions=5, offsets_retention_minutes=60, group_consumer_session_timeout_ms=DAY_MS
    )
    driver.coordinator.configure(driver.config)
    member_id = one_member_with_long_session(driver)
    driver.commit("classic", {("t", 0): 5, ("u", 0): 5}, member_id=member_id, generation=1)
    driver.join_consumer("consumer", "a", "t")
    driver.commit("consumer", {("t", 0): 5, ("u", 0): 5}, member_id="a", generation=2)
    for _ in range(8):
        driver.advance(10 * MINUTE_MS)
        driver.heartbeat("classic", member_id, 1)
        driver.beat("consumer", "a", 2)
    for name in ("classic", "consumer"):
        assert (driver.committed(name, "t", 0), driver.committed(name, "u", 0)) == (5, None)


def one_member_with_long_session(driver: Driver) -> str:
    answer = driver.join("classic", version=3, session_ms=1_800_000)
    driver.advance(3_000)
    driver.sync_group("classic", answer.value.member_id, 1, {})
    return answer.value.member_id


def test_a_retention_time_of_the_client_is_honoured_even_if_the_broker_keeps_for_ever() -> None:
    driver = Driver()
    driver.create_topic("t", 2)
    driver.commit("g", {("t", 0): 5}, retention_ms=30 * MINUTE_MS, version=4)
    driver.commit("g", {("t", 1): 5})
    driver.advance(29 * MINUTE_MS)
    assert driver.committed("g", "t", 0) == 5
    driver.advance(2 * MINUTE_MS)
    assert [driver.committed("g", "t", 0), driver.committed("g", "t", 1)] == [None, 5]


def test_a_group_in_a_rebalance_keeps_everything(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 5})
    driver.advance(55 * MINUTE_MS)
    driver.join("g", version=3, session_ms=1_800_000, rebalance_ms=1_800_000)
    driver.advance(5 * MINUTE_MS)
    assert driver.committed("g", "t", 0) == 5


@pytest.mark.parametrize("retention", [None, 60])
def test_empty_groups_without_offsets_are_forgotten(retention: int | None) -> None:
    driver = Driver("t", offsets_retention_minutes=retention)
    driver.leave("classic", (one_member(driver, "classic"), None))
    driver.join_consumer("consumer", "a", "t")
    driver.beat("consumer", "a", -1)
    new_id(driver, "pending only")
    driver.advance(CHECK_MS - driver.now_ms)
    assert len(driver.coordinator._context.groups) == 3
    driver.advance(2 * CHECK_MS)
    assert driver.coordinator._context.groups == {}
    driver.restart()
    assert driver.coordinator._context.groups == {}


def test_groups_with_members_are_not(driver: Driver) -> None:
    member_id = one_member(driver)
    for _ in range(3 * CHECK_MS // 9_000):
        driver.advance(9_000)
        driver.heartbeat("g", member_id, 1)
    assert list(group_of(driver).members) == [member_id]


def test_many_offsets_are_looked_at_in_slices() -> None:
    driver = Driver(offsets_retention_minutes=1, partitions=1)
    driver.create_topic("t", 1)
    for number in range(3 * SLICE_OFFSETS):
        committed = Committed(5, -1, "", WALL_MS, -1)
        key, value = encode_record(OffsetKey(f"g{number:05}", "t", 0), committed_bytes(committed, ZERO_UUID))
        driver.coordinator.replay(0, key, value)
    driver.advance(CHECK_MS)
    left = driver.coordinator.counts()["offsets"]
    assert SLICE_OFFSETS < left < 3 * SLICE_OFFSETS
    driver.advance(1_000)
    assert driver.coordinator.counts()["offsets"] == 0
