"""Tests of groups/classic_membership.py: SyncGroup, Heartbeat and LeaveGroup."""

from __future__ import annotations

from typing import Any

import pytest

from groups.states import GroupState
from protocol.error_codes import ErrorCode
from tests.groups.classic import ALL, group_of, join_waiting, new_id, one_member, two_members
from tests.groups.driver import Driver


def completing(driver: Driver) -> str:
    member_id, _ = join_waiting(driver)
    driver.advance(3_000)
    return member_id


# --- SyncGroup ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "rest", "error"),
    [
        (2, {}, ErrorCode.ILLEGAL_GENERATION),
        (0, {}, ErrorCode.ILLEGAL_GENERATION),
        (1, {"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (1, {"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (1, {"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_sync_that_does_not_fit_is_refused(
    driver: Driver, generation: int, rest: dict[str, Any], error: ErrorCode
) -> None:
    member_id = completing(driver)
    assert driver.sync_group("g", member_id, generation, **rest).error == error


def test_versions_without_protocol_fields_are_not_checked_for_them(driver: Driver) -> None:
    member_id = completing(driver)
    answer = driver.sync_group(
        "g", member_id, 1, {member_id: ALL}, protocol_type=None, protocol_name=None, version=4
    )
    assert answer.error == ErrorCode.NONE
    assert (answer.value.protocol_type, answer.value.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(("kind", "name"), [(None, "range"), ("consumer", None)])
def test_version_5_must_have_them(driver: Driver, kind: str | None, name: str | None) -> None:
    member_id = completing(driver)
    answer = driver.sync_group("g", member_id, 1, {member_id: ALL}, protocol_type=kind, protocol_name=name)
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_of_an_unknown_group_or_member_is_refused(driver: Driver) -> None:
    assert driver.sync_group("g", "m", 1).error == ErrorCode.UNKNOWN_MEMBER_ID
    completing(driver)
    assert driver.sync_group("g", "m", 1).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_sync_that_is_sent_again_takes_the_place_of_the_first(driver: Driver) -> None:
    (leader, _), (follower, _) = join_waiting(driver), join_waiting(driver)
    driver.advance(10_000)
    first = driver.sync_group("g", follower, 1)
    second = driver.sync_group("g", follower, 1)
    assert first.error == ErrorCode.REBALANCE_IN_PROGRESS
    driver.sync_group("g", leader, 1, {follower: ALL})
    assert second.value.assignment == ALL


def test_a_follower_that_asks_while_members_gather_must_join(driver: Driver) -> None:
    _, follower = two_members(driver)
    join_waiting(driver)
    assert driver.sync_group("g", follower, 1).error == ErrorCode.REBALANCE_IN_PROGRESS


# --- Heartbeat ----------------------------------------------------------------------------------------------


def test_a_beat_in_another_generation_is_refused(driver: Driver) -> None:
    member_id = one_member(driver)
    assert driver.heartbeat("g", member_id, 0) == ErrorCode.ILLEGAL_GENERATION
    assert driver.heartbeat("g", member_id, 2) == ErrorCode.ILLEGAL_GENERATION


def test_a_beat_of_a_stranger_is_refused(driver: Driver) -> None:
    assert driver.heartbeat("g", "m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    one_member(driver)
    assert driver.heartbeat("g", "m", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_beat_keeps_the_member(driver: Driver) -> None:
    member_id = one_member(driver)
    for _ in range(5):
        driver.advance(9_999)
        assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE


def test_a_refused_beat_does_not_keep_the_member(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.advance(9_000)
    driver.heartbeat("g", member_id, 0)
    driver.advance(1_000)
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


# --- LeaveGroup ---------------------------------------------------------------------------------------------


def test_several_members_leave_in_one_rebalance(driver: Driver) -> None:
    leader, follower = two_members(driver)
    answer = driver.leave("g", (leader, None), (follower, None), ("nobody", None))
    assert [ErrorCode(member.error_code) for member in answer.value.members] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert answer.error == ErrorCode.NONE
    assert (group_of(driver).state, group_of(driver).generation) == (GroupState.EMPTY, 2)


def test_an_administrator_removes_a_static_member_by_its_instance_id(driver: Driver) -> None:
    driver.join(instance_id="i")
    driver.advance(3_000)
    assert driver.leave("g", ("", "j")).value.members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.leave("g", ("", "i")).value.members[0].error_code == ErrorCode.NONE
    assert group_of(driver).members == {}


def test_the_former_self_of_a_static_member_cannot_make_it_leave(driver: Driver) -> None:
    old = driver.join(instance_id="i")
    driver.advance(3_000)
    driver.join(instance_id="i")
    answer = driver.leave("g", (old.value.member_id, "i"))
    assert answer.value.members[0].error_code == ErrorCode.FENCED_INSTANCE_ID


def test_an_id_that_was_given_out_can_be_given_back(driver: Driver) -> None:
    pending = new_id(driver)
    assert driver.leave("g", (pending, None)).value.members[0].error_code == ErrorCode.NONE
    assert driver.join("g", pending).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_leaves_while_it_waits_is_answered(driver: Driver) -> None:
    member_id, answer = join_waiting(driver)
    driver.leave("g", (member_id, None))
    assert answer.error == ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_leaves_an_unknown_group(driver: Driver) -> None:
    answer = driver.leave("g", ("m", None))
    assert answer.error == ErrorCode.NONE
    assert answer.value.members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
