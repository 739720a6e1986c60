"""Tests of groups/consumer_leave.py."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.groups.consumers import epoch_of, group_of, settle, two_members
from tests.groups.driver import Driver
from tests.groups.kit import given


@pytest.fixture
def driver(driver: Driver) -> Driver:
    two_members(driver)
    return driver


def test_a_member_that_leaves_is_gone_with_all_its_records(driver: Driver) -> None:
    answer = driver.beat("g", "a", -1)
    assert (answer.error, answer.value.member_id, answer.value.member_epoch) == (ErrorCode.NONE, "a", -1)
    group = group_of(driver)
    for table in (group.metadata, group.current, group.target):
        assert "a" not in table
    assert {name for owners in group.owners.values() for name in owners.values()} == {"b"}


def test_what_it_had_is_free_at_once(driver: Driver) -> None:
    driver.advance(2_000)
    driver.beat("g", "a", -1)
    assert given(driver.beat("g", "b", epoch_of(driver, "b"))) == [0, 1, 2, 3]


def test_only_members_can_leave(driver: Driver) -> None:
    assert driver.beat("g", "nobody", -1).error == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.beat("g", "a", -2, instance_id="i").error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_goes_away_releases_what_it_had_to_give_up(driver: Driver) -> None:
    driver.join_consumer("g", "c", "t", instance_id="i")
    settle(driver, "a", "b", "c")
    driver.beat("g", "c", -1, instance_id="i")
    settle(driver, "a", "b")
    answer = driver.join_consumer("g", "d", "t", instance_id="j")
    assert answer.error == ErrorCode.NONE
    settle(driver, "a", "b", "d")
    driver.join_consumer("g", "e", "t")
    driver.join_consumer("g", "f", "t")
    driver.advance(2_000)
    for name in ("a", "b", "d"):
        driver.beat("g", name, epoch_of(driver, name), instance_id="j" if name == "d" else None)
    before = group_of(driver).assignment("d")
    driver.beat("g", "d", -2, instance_id="j")
    after = group_of(driver).assignment("d")
    assert (after.epoch, after.assigned, after.revoking) == (-2, before.assigned, {})


def test_a_static_member_may_leave_for_good(driver: Driver) -> None:
    driver.join_consumer("g", "c", "t", instance_id="i")
    driver.beat("g", "c", -1, instance_id="i")
    assert set(group_of(driver).metadata) == {"a", "b"}
    assert group_of(driver).instances == {}


def test_an_administrator_removes_members_of_the_consumer_protocol_with_leave_group(driver: Driver) -> None:
    driver.join_consumer("g", "c", "t", instance_id="i")
    answer = driver.leave("g", ("a", None), ("", "i"), ("nobody", None))
    assert [ErrorCode(member.error_code) for member in answer.value.members] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(group_of(driver).metadata) == ["b"]
