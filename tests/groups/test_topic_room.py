"""Tests of groups/topic_room.py: so many groups read a topic, and the next one is refused."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from tests.groups.driver import Driver, codes
from tests.groups.test_txn_offset_commit import stage

FULL = ErrorCode.GROUP_MAX_SIZE_REACHED


@pytest.fixture
def driver() -> Driver:
    """Return a driver whose topic `t` is read by two groups, as many as may; `u` by none."""
    driver = Driver("t", "u", kawal_topic_max_groups=2)
    for group_id in ("a", "b"):
        assert codes(driver.commit(group_id, {("t", 0): 1, ("t", 1): 1})) == [ErrorCode.NONE] * 2
    return driver


def test_a_classic_member_of_one_group_more_is_refused_before_it_has_an_id(driver: Driver) -> None:
    answer = driver.join("c", topics=["u", "t"])
    assert (answer.error, answer.value.member_id) == (FULL, "")
    assert driver.join("c", topics=["u"]).error == ErrorCode.MEMBER_ID_REQUIRED
    assert driver.join("a", topics=["t"]).error == ErrorCode.MEMBER_ID_REQUIRED


def test_a_member_of_the_consumer_protocol_is_refused_with_the_topic_and_the_setting(driver: Driver) -> None:
    refused = driver.join_consumer("c", "m", "t")
    assert refused.error == FULL
    assert "Topic 't' is read by kawal.topic.max.groups=2 groups" in (refused.value.error_message or "")
    assert driver.join_consumer("c", "m", "u").error == ErrorCode.NONE
    assert driver.join_consumer("b", "m", "t").error == ErrorCode.NONE


def test_a_classic_member_that_joins_a_consumer_group_is_refused_too(driver: Driver) -> None:
    driver.join_consumer("c", "m", "u")
    assert driver.join("c", version=3, topics=["t"]).error == FULL


def test_a_group_that_joined_before_the_others_had_offsets_is_refused_at_its_first_commit(
    driver: Driver,
) -> None:
    answer = driver.commit("c", {("t", 0): 5, ("u", 0): 6})
    assert codes(answer) == [ErrorCode.POLICY_VIOLATION, ErrorCode.NONE]
    assert (driver.committed("c", "t", 0), driver.committed("c", "u", 0)) == (None, 6)
    assert codes(driver.commit("a", {("t", 0): 9})) == [ErrorCode.NONE]


def test_the_same_in_a_transaction(driver: Driver) -> None:
    assert stage(driver, 5, group_id="c") == [ErrorCode.POLICY_VIOLATION]
    assert stage(driver, 5, group_id="a") == [ErrorCode.NONE]


def test_room_is_made_by_deleting_offsets_and_survives_a_restart(driver: Driver) -> None:
    driver.restart()
    assert driver.join("c").error == FULL
    request = DeleteGroupsRequest(groups_names=["b"])
    driver.coordinator.delete_groups(request, lambda _: None, driver.now_ms)
    driver.flush()
    assert driver.join("c").error == ErrorCode.MEMBER_ID_REQUIRED


def test_there_is_no_limit_unless_it_is_set() -> None:
    driver = Driver("t")
    for number in range(200):
        assert codes(driver.commit(f"g{number}", {("t", 0): 1})) == [ErrorCode.NONE]


def test_other_protocols_than_consumers_name_no_topics(driver: Driver) -> None:
    answer = driver.join("c", protocol_type="connect", protocols=[("v1", b"\xff")])
    assert answer.error == ErrorCode.MEMBER_ID_REQUIRED
