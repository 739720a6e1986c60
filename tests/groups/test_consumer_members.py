"""Tests of groups/consumer_members.py: records of members that join, change and are replaced."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.assignment import Assignment
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import MemberAssignment
from groups.consumer_members import check_epoch, new_member_id
from groups.errors import FencedMemberEpoch
from groups.reconciliation import Owned
from groups.record_keys import CurrentKey
from protocol.error_codes import ErrorCode
from tests.groups.consumers import group_of
from tests.groups.driver import Driver

TOPIC = UUID(int=1)
NOBODY_KNOWS: Assignment = {}


def test_ids_are_as_kafka_makes_them_and_never_look_like_an_option(driver: Driver) -> None:
    made = [new_member_id(driver.coordinator._context) for _ in range(300)]
    assert len(set(made)) == 300
    assert {len(member_id) for member_id in made} == {22}
    assert not any(member_id.startswith("-") for member_id in made)


@pytest.mark.parametrize(
    ("epoch", "owned"),
    [(0, None), (5, None), (5, {TOPIC: {3}}), (4, {}), (4, {TOPIC: {1}})],
    ids=["joins", "is there", "its own epoch", "lost the answer", "lost it, and has a part"],
)
def test_epochs_that_are_accepted(epoch: int, owned: Owned) -> None:
    check_epoch(member_of_epoch_five(), "a", epoch, owned)


@pytest.mark.parametrize(
    ("epoch", "owned"),
    [(6, None), (4, None), (4, {TOPIC: {9}}), (3, {})],
    ids=["ahead", "behind", "has what it was not given", "further behind"],
)
def test_epochs_that_are_fenced(epoch: int, owned: Owned) -> None:
    with pytest.raises(FencedMemberEpoch, match=r"\(5\)"):
        check_epoch(member_of_epoch_five(), "a", epoch, owned)


def member_of_epoch_five() -> ConsumerGroup:
    group = ConsumerGroup("g")
    assigned = {TOPIC: {1: 5, 2: 5}}
    group.replay(CurrentKey("g", "a"), MemberAssignment(epoch=5, previous_epoch=4, assigned=assigned))
    return group


def test_a_full_group_takes_nobody_else_but_those_it_has() -> None:
    driver = Driver("t", group_consumer_max_size=1)
    driver.join_consumer("g", "a", "t")
    refused = driver.join_consumer("g", "b", "t")
    assert (refused.error, refused.value.error_message) == (
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        "The consumer group has reached its maximum capacity of 1 members.",
    )
    assert driver.join_consumer("g", "a", "t").error == ErrorCode.NONE


def test_a_regex_goes_with_the_last_that_wanted_it(driver: Driver) -> None:
    driver.join_consumer("g", "a", regex="t.*")
    driver.join_consumer("g", "b", regex="t.*")
    driver.beat("g", "a", -1)
    assert set(group_of(driver).regexes) == {"t.*"}
    driver.beat("g", "b", -1)
    assert group_of(driver).regexes == {}


def test_the_same_subscription_again_is_no_change(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    before = group_of(driver).epoch
    driver.join_consumer("g", "a", "t")
    assert group_of(driver).epoch == before
    driver.join_consumer("g", "a", "t", "u")
    assert group_of(driver).epoch == before + 1


def test_a_member_that_brings_another_regex_with_each_heartbeat_leaves_nothing_behind(driver: Driver) -> None:
    driver.join_consumer("g", "a", regex="t.*")
    regexes = driver.coordinator.regexes
    for number in range(50):
        epoch = group_of(driver).assignment("a").epoch
        driver.beat("g", "a", epoch, regex=f"t{number}.*")
    assert list(group_of(driver).regexes) == ["t49.*"]
    assert list(regexes._compiled) == list(regexes._matches) == ["t49.*"]
    driver.beat("g", "a", -1)
    assert (regexes._compiled, regexes._matches) == ({}, {})


def test_a_regex_that_is_refused_leaves_nothing_behind() -> None:
    driver = Driver("t", kawal_group_max_bytes=20_000)
    regexes = driver.coordinator.regexes
    assert driver.join_consumer("g", "a", regex="(").error == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert driver.join_consumer("g", "a", regex="t" * 1_000).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (regexes._compiled, regexes._matches, regexes._sees) == ({}, {}, {})
