"""Tests of groups/downgrade.py: consumer groups that become classic groups."""

from __future__ import annotations

import pytest

from groups.classic_group import ClassicGroup
from groups.config import MigrationPolicy
from groups.consumer_group import ConsumerGroup
from groups.states import GroupState
from protocol.error_codes import ErrorCode
from tests.groups.classic import group_of as classic_group_of
from tests.groups.consumers import group_of
from tests.groups.driver import Driver, assigned, codes


def mixed(driver: Driver, **rest: object) -> tuple[str, int]:
    """Make a group of `new` and a classic member with partitions; return the latter and its epoch."""
    topic = driver.topics.by_name["t"]
    driver.join_consumer("g", "new", "t")
    driver.advance(2_000)
    old = driver.join("g", version=3, **rest).value.member_id  # type: ignore[arg-type]
    driver.beat("g", "new", 2)
    driver.beat("g", "new", 2, owned={topic.topic_id: [0, 1]})
    generation = driver.join("g", old).value.generation_id
    assert assigned(driver.sync_group("g", old, generation)) == {"t": [2, 3]}
    return old, generation


def test_when_the_last_member_of_the_consumer_protocol_leaves_the_group_is_classic_again(
    driver: Driver,
) -> None:
    old, generation = mixed(driver)
    driver.beat("g", "new", -1)
    group = classic_group_of(driver)
    assert (group.state, group.generation) == (GroupState.PREPARING_REBALANCE, generation)
    assert group.protocol == "range"
    assert driver.heartbeat("g", old, generation) == ErrorCode.REBALANCE_IN_PROGRESS
    answer = driver.join("g", old)
    assert (answer.value.generation_id, answer.value.leader) == (generation + 1, old)


def test_what_members_had_is_their_last_assignment(driver: Driver) -> None:
    old, _ = mixed(driver)
    driver.beat("g", "new", -1)
    driver.restart()
    group = classic_group_of(driver)
    assert group.state == GroupState.STABLE
    assert assigned(driver.sync_group("g", old, group.generation)) == {"t": [2, 3]}


def test_until_they_join_again_they_may_commit(driver: Driver) -> None:
    old, generation = mixed(driver)
    driver.beat("g", "new", -1)
    assert codes(driver.commit("g", {("t", 2): 5}, member_id=old, generation=generation)) == [ErrorCode.NONE]


def test_a_lost_member_has_the_same_effect(driver: Driver) -> None:
    old, generation = mixed(driver)
    for _ in range(4):
        driver.advance(3_000)
        driver.heartbeat("g", old, generation)
    assert isinstance(driver.coordinator._context.groups["g"], ClassicGroup)


def test_nothing_of_the_consumer_group_is_left_in_the_log(driver: Driver) -> None:
    mixed(driver)
    driver.beat("g", "new", -1)
    last = {key: value for records in driver.log.values() for key, value in records}
    kinds = {int.from_bytes(key[:2], "big") for key, value in last.items() if value is not None}
    assert kinds == {2}


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.UPGRADE])
def test_a_policy_may_forbid_it(policy: MigrationPolicy) -> None:
    driver = Driver("t", group_consumer_migration_policy=policy)
    old, _ = mixed(driver)
    driver.beat("g", "new", -1)
    assert list(group_of(driver).metadata) == [old]


def test_a_group_that_would_be_too_large_stays() -> None:
    driver = Driver("t", group_max_size=1)
    mixed(driver)
    driver.join("g", version=3)
    driver.beat("g", "new", -1)
    assert isinstance(driver.coordinator._context.groups["g"], ConsumerGroup)


def test_when_nobody_stays_the_group_stays_what_it_was(driver: Driver) -> None:
    old, _ = mixed(driver)
    driver.leave("g", (old, None), ("new", None))
    assert group_of(driver).metadata == {}


def test_a_static_member_that_goes_back_to_the_classic_protocol_takes_the_group_with_it(
    driver: Driver,
) -> None:
    driver.join_consumer("g", "new", "t", instance_id="i")
    answer = driver.join("g", instance_id="i")
    group = classic_group_of(driver)
    assert [member.instance_id for member in group.members.values()] == ["i"]
    assert answer.value.generation_id == group.generation == 3
    assert answer.value.leader == answer.value.member_id


def test_if_it_cannot_be_stored_the_consumer_group_goes_on(driver: Driver) -> None:
    old, generation = mixed(driver)
    before = group_of(driver)
    driver.hold = True
    left = driver.beat("g", "new", -1)
    waiting = driver.join("g", "newcomer", instance_id="i", version=3)
    parked = driver.join("g", old)
    driver.fail()
    driver.hold = False
    assert left.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not waiting.waits
    assert not parked.waits
    assert group_of(driver) is before
    assert set(before.metadata) == {"new", old}
    assert driver.heartbeat("g", old, generation) == ErrorCode.NONE
    driver.advance(12_000)
    assert "new" not in before.metadata


def test_an_empty_group_becomes_classic_when_a_classic_member_joins(driver: Driver) -> None:
    driver.join_consumer("g", "new", "t")
    driver.commit("g", {("t", 0): 5}, member_id="new", generation=2)
    driver.beat("g", "new", -1)
    answer = driver.join("g", version=3)
    driver.advance(3_000)
    assert answer.value.generation_id == 4
    assert driver.committed("g", "t", 0) == 5
    driver.restart()
    assert classic_group_of(driver).generation == 3


def test_a_member_that_the_empty_group_does_not_know_is_refused(driver: Driver) -> None:
    driver.join_consumer("g", "new", "t")
    driver.beat("g", "new", -1)
    assert driver.join("g", "m").error == ErrorCode.UNKNOWN_MEMBER_ID
    assert group_of(driver).metadata == {}
