"""Members that do not poll are removed as at the end of their session, and others go on."""

from __future__ import annotations

import pytest

from groups.silent import REASON
from protocol.error_codes import ErrorCode
from tests.groups.classic import one_member
from tests.groups.consumers import held, settle, two_members
from tests.groups.driver import Driver


@pytest.fixture
def driver() -> Driver:
    return Driver()


def remove(driver: Driver, *member_ids: str) -> None:
    driver.coordinator.remove_silent("g", member_ids, driver.now_ms)
    driver.flush()
    driver.sync()


def lost(driver: Driver) -> list[tuple[str, str]]:
    rows = driver.coordinator.consumers(driver.now_ms)
    return [(row.consumer_id, row.parameters) for row in rows if row.status == "lost"]


def test_the_partitions_of_a_removed_consumer_go_to_the_others(driver: Driver) -> None:
    two_members(driver)
    remove(driver, "a")
    assert lost(driver) == [("a", f"reason:{REASON}")]
    settle(driver, "b")
    assert held(driver, "b") == [0, 1, 2, 3]
    assert driver.beat("g", "a", 5).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_is_unknown_after_its_removal(driver: Driver) -> None:
    driver.create_topic("t", 2)
    member_id = one_member(driver)
    remove(driver, member_id)
    assert lost(driver) == [(member_id, f"reason:{REASON}")]
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_and_groups_that_are_not_there_are_passed_over(driver: Driver) -> None:
    two_members(driver)
    remove(driver, "x")
    driver.coordinator.remove_silent("gone", ["x"], driver.now_ms)
    assert lost(driver) == []
    assert held(driver, "a") + held(driver, "b") == [0, 1, 2, 3]
