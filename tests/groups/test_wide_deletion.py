"""Tests of groups/wide_deletion.py: groups with very many offsets are deleted, and expire, some at a time."""

from __future__ import annotations

import pytest

from groups.wide_deletion import DELETED_AT_ONCE, DELETED_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.groups.driver import Answer, Driver
from tests.groups.test_topic_deletion import left_in_log, stage

WIDE = DELETED_AT_ONCE + 3 * DELETED_PER_STEP + 7
MINUTE_MS = 60_000


def wide(**config: int) -> Driver:
    """Return a driver with a group that has an offset in each partition of `t`, and one with a single one."""
    driver = Driver(**config)
    driver.create_topic("t", WIDE)
    driver.commit("g", {("t", index): 5 for index in range(WIDE)})
    driver.commit("small", {("t", 0): 5})
    return driver


def delete(driver: Driver) -> Answer[DeleteGroupsResponse]:
    return driver.call(driver.coordinator.delete_groups, DeleteGroupsRequest(groups_names=["g", "small"]))


def codes(answer: Answer[DeleteGroupsResponse]) -> list[int]:
    return [result.error_code for result in answer.value.results]


def test_a_group_goes_with_all_its_offsets_some_at_a_time() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    sizes = []
    while driver.in_flight:
        sizes += [len(effects.records) for effects in driver.in_flight]
        assert answer.waits
        driver.sync()
        driver.advance(1)
    assert codes(answer) == [ErrorCode.NONE, ErrorCode.NONE]
    assert max(sizes) == DELETED_PER_STEP
    assert not left_in_log(driver)
    assert not driver.coordinator._context.wide_deletions


def test_what_transactions_have_staged_goes_with_it() -> None:
    driver = wide()
    stage(driver, WIDE)
    answer = delete(driver)
    driver.advance(1_000)
    assert codes(answer) == [ErrorCode.NONE, ErrorCode.NONE]
    assert not driver.coordinator._context.staged.holds("g")


def test_a_member_that_joins_meanwhile_keeps_the_group() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    driver.hold = False
    driver.sync()
    driver.join_consumer("g", "a", "t")
    driver.advance(10)
    assert codes(answer) == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE]
    assert driver.coordinator.counts()["offsets"] == WIDE - DELETED_PER_STEP


def test_what_is_committed_meanwhile_goes_with_the_group() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    driver.hold = False
    driver.sync()
    driver.commit("g", {("t", 0): 9})
    driver.advance(1_000)
    assert codes(answer) == [ErrorCode.NONE, ErrorCode.NONE]
    assert driver.committed("g", "t", 0) is None


def test_a_crash_in_between_keeps_the_rest_as_nothing_was_answered() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    driver.sync()
    driver.hold = False
    driver.restart()
    assert answer.waits
    assert driver.coordinator.counts()["offsets"] == WIDE - DELETED_PER_STEP


def test_what_cannot_be_stored_is_told() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    driver.fail()
    assert all(codes(answer))
    assert driver.coordinator.counts()["offsets"] == WIDE + 1


def test_a_partition_that_is_unloaded_meanwhile_refuses() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    driver.sync()
    driver.coordinator.unload(range(5), driver.now_ms)
    driver.advance(10)
    assert codes(answer) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE]


def test_a_coordinator_that_is_discarded_meanwhile_refuses() -> None:
    driver = wide()
    driver.hold = True
    answer = delete(driver)
    driver.sync()
    for _ in driver.coordinator.discard(driver.now_ms):
        pass
    assert codes(answer) == [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE]


@pytest.mark.parametrize("retention", [1, 1_000])
def test_very_many_offsets_of_a_group_expire_some_at_a_time(retention: int) -> None:
    driver = wide(offsets_retention_minutes=retention, offsets_retention_check_interval_ms=2 * MINUTE_MS)
    driver.hold = True
    driver.advance(2 * MINUTE_MS)
    sizes = []
    while driver.in_flight:
        sizes += [len(effects.records) for effects in driver.in_flight]
        driver.sync()
        driver.advance(1)
    if retention == 1:
        assert max(sizes) == DELETED_PER_STEP
        assert driver.coordinator.counts()["offsets"] == 0
        assert not left_in_log(driver)
    else:
        assert driver.coordinator.counts()["offsets"] == WIDE + 1
