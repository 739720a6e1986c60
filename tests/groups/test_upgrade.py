"""Tests of groups/upgrade.py: classic groups that become consumer groups."""

from __future__ import annotations

import pytest

from groups.classic_group import ClassicGroup
from groups.config import MigrationPolicy
from protocol.consumer_protocol import ConsumerProtocolAssignment, encode_assignment
from protocol.error_codes import ErrorCode
from tests.groups.classic import ALL, FIRST_HALF, join_waiting, one_member, two_members
from tests.groups.consumers import epoch_of, group_of, held
from tests.groups.driver import Driver, assignment, codes, subscription
from tests.groups.kit import given


def test_an_empty_group_changes_and_goes_on_counting(driver: Driver) -> None:
    driver.leave("g", (one_member(driver), None))
    answer = driver.join_consumer("g", "new", "t")
    assert (answer.value.member_epoch, given(answer)) == (3, [0, 1, 2, 3])
    driver.restart()
    assert list(group_of(driver).metadata) == ["new"]


def test_a_group_that_only_has_offsets_changes_and_keeps_them(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 7})
    assert driver.join_consumer("g", "new", "t").error == ErrorCode.NONE
    assert driver.committed("g", "t", 0) == 7


def test_classic_members_keep_what_they_have_in_their_generation(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.join_consumer("g", "new", "t")
    assert (held(driver, leader), held(driver, follower)) == ([0, 1], [2, 3])
    assert epoch_of(driver, leader) == 1
    assert codes(driver.commit("g", {("t", 0): 5}, member_id=leader, generation=1)) == [ErrorCode.NONE]


def test_they_are_asked_to_join_again(driver: Driver) -> None:
    leader, _ = two_members(driver)
    driver.join_consumer("g", "new", "t")
    assert driver.heartbeat("g", leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_new_member_waits_for_what_they_have(driver: Driver) -> None:
    one_member(driver)
    answer = driver.join_consumer("g", "new", "t")
    assert (answer.value.member_epoch, given(answer)) == (2, [])


def test_the_conversion_survives_a_restart(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.join_consumer("g", "new", "t")
    before = group_of(driver)
    driver.restart()
    after = group_of(driver)
    assert (after.metadata, after.current, after.target) == (before.metadata, before.current, before.target)
    assert set(after.classic_members()) == {leader, follower}


def test_members_that_wait_in_a_rebalance_are_told_to_join_again(driver: Driver) -> None:
    two_members(driver)
    _, waiting = join_waiting(driver)
    driver.join_consumer("g", "new", "t")
    assert waiting.error == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_of_the_other_protocol_that_beats_only_is_not_found(driver: Driver) -> None:
    one_member(driver)
    assert driver.beat("g", "new", 1).error == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.beat("g", "new", -1).error == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_a_policy_may_forbid_it(policy: MigrationPolicy) -> None:
    driver = Driver("t", group_consumer_migration_policy=policy)
    member_id = one_member(driver)
    answer = driver.join_consumer("g", "new", "t")
    assert answer.error == ErrorCode.GROUP_ID_NOT_FOUND
    assert "disabled" in (answer.value.error_message or "")
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE


def test_groups_of_other_protocol_types_stay_what_they_are(driver: Driver) -> None:
    driver.join(version=3, protocol_type="connect", protocols=[("v0", b"")])
    assert driver.join_consumer("g", "new", "t").error == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_that_would_be_too_large_stays() -> None:
    driver = Driver("t", group_consumer_max_size=1)
    two_members(driver)
    assert driver.join_consumer("g", "new", "t").error == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_whose_subscriptions_cannot_be_read_stays(driver: Driver) -> None:
    driver.join(version=3, protocols=[("range", b"\xff")])
    answer = driver.join_consumer("g", "new", "t")
    assert answer.error == ErrorCode.GROUP_ID_NOT_FOUND
    assert "malformed" in (answer.value.error_message or "")


@pytest.mark.parametrize(
    ("blob", "why"),
    [
        (b"\0", "malformed"),
        (
            encode_assignment(ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"mine")),
            "custom assignor",
        ),
    ],
)
def test_a_group_whose_assignments_cannot_be_taken_over_stays(driver: Driver, blob: bytes, why: str) -> None:
    member_id, _ = join_waiting(driver)
    driver.advance(3_000)
    driver.sync_group("g", member_id, 1, {member_id: blob})
    answer = driver.join_consumer("g", "new", "t")
    assert answer.error == ErrorCode.GROUP_ID_NOT_FOUND
    assert why in (answer.value.error_message or "")
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE


def test_what_a_leader_gave_to_two_members_goes_to_one_of_them(driver: Driver) -> None:
    (first, _), (second, _) = join_waiting(driver), join_waiting(driver)
    driver.advance(10_000)
    driver.sync_group("g", second, 1)
    driver.sync_group("g", first, 1, {first: ALL, second: FIRST_HALF})
    driver.join_consumer("g", "new", "t")
    assert (held(driver, first), held(driver, second)) == ([0, 1, 2, 3], [])


def test_assignments_of_topics_that_are_gone_are_dropped(driver: Driver) -> None:
    member_id, _ = join_waiting(driver)
    driver.advance(3_000)
    driver.sync_group("g", member_id, 1, {member_id: assignment(("t", [0]), ("gone", [1]))})
    driver.join_consumer("g", "new", "t")
    assert held(driver, member_id) == [0]


def test_if_it_cannot_be_stored_the_classic_group_goes_on(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.hold = True
    answer = driver.join_consumer("g", "new", "t")
    driver.fail()
    driver.hold = False
    assert answer.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert isinstance(driver.coordinator._context.groups["g"], ClassicGroup)
    assert driver.heartbeat("g", leader, 1) == ErrorCode.NONE
    driver.advance(9_000)
    assert driver.heartbeat("g", leader, 1) == ErrorCode.NONE
    driver.advance(1_000)
    assert driver.heartbeat("g", follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_and_racks_are_taken_over(driver: Driver) -> None:
    blob = subscription("t", rack_id="r1")
    answer = driver.join(instance_id="i", protocols=[("range", blob)], session_ms=7_000)
    driver.advance(3_000)
    driver.join_consumer("g", "new", "t")
    metadata = group_of(driver).metadata[answer.value.member_id]
    assert (metadata.instance_id, metadata.rack_id, metadata.topics) == ("i", "r1", ("t",))
    assert metadata.classic is not None
    assert metadata.classic.session_timeout_ms == 7_000


def test_what_nobody_had_is_given_away_though_no_subscription_changes(driver: Driver) -> None:
    # The leader withheld half, as cooperative ones do, or a rebalance was due. A static member that comes
    # back with the other protocol and the same topics must get all the same.
    joined = driver.join("g", instance_id="i")
    driver.advance(driver.config.group_initial_rebalance_delay_ms)
    member_id = joined.value.member_id
    driver.sync_group("g", member_id, 1, {member_id: FIRST_HALF}, instance_id="i")
    answer = driver.join_consumer("g", "new", "t", instance_id="i")
    assert (answer.value.member_epoch, given(answer)) == (2, [0, 1, 2, 3])
