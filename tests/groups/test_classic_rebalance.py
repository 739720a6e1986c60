"""Tests of groups/classic_rebalance.py: generations, one after another."""

from __future__ import annotations

import pytest

from groups.classic_group import GENERATIONS_SKIPPED
from groups.classic_rebalance import DROPPED_AT_ONCE, TOLD_AT_ONCE
from groups.states import GroupState
from protocol.error_codes import ErrorCode
from tests.groups.classic import (
    ALL,
    FIRST_HALF,
    SECOND_HALF,
    group_of,
    join_waiting,
    new_id,
    one_member,
    two_members,
)
from tests.groups.driver import Driver, assigned

# --- gathering ----------------------------------------------------------------------------------------------


def test_an_empty_group_waits_for_more_members(driver: Driver) -> None:
    _, answer = join_waiting(driver)
    driver.advance(2_999)
    assert answer.waits
    driver.advance(1)
    assert answer.value.generation_id == 1


def test_each_newcomer_prolongs_the_wait_until_the_rebalance_timeout(driver: Driver) -> None:
    answers = [join_waiting(driver)[1]]
    for _ in range(6):
        driver.advance(2_900)
        answers.append(join_waiting(driver)[1])
    assert all(answer.waits for answer in answers)
    driver.advance(20_000 - 6 * 2_900)
    assert {answer.value.generation_id for answer in answers} == {1}
    assert len(answers[0].value.members) == 7


def test_without_the_delay_the_first_member_gets_its_generation_at_once() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=0)
    assert join_waiting(driver)[1].value.generation_id == 1


def test_a_rebalance_ends_when_everybody_has_joined(driver: Driver) -> None:
    leader, follower = two_members(driver)
    third, answer = join_waiting(driver)
    driver.join("g", follower)
    assert answer.waits
    rejoined = driver.join("g", leader)
    assert rejoined.value.generation_id == 2
    assert {member.member_id for member in rejoined.value.members} == {leader, follower, third}
    assert answer.value.members == []


def test_whoever_does_not_join_within_the_rebalance_timeout_is_dropped(driver: Driver) -> None:
    leader, follower = two_members(driver)
    _, answer = join_waiting(driver)
    driver.join("g", leader)
    for _ in range(4):
        driver.heartbeat("g", follower, 1)
        driver.advance(5_000)
    assert answer.value.generation_id == 2
    assert driver.heartbeat("g", follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    [lost] = [row for row in driver.coordinator.consumers(driver.now_ms) if row.status == "lost"]
    assert lost.consumer_id == follower


def test_the_longest_rebalance_timeout_counts(driver: Driver) -> None:
    first = driver.join(version=3, rebalance_ms=8_000)
    second = driver.join(version=3, rebalance_ms=15_000)
    driver.advance(8_000)
    first_id, second_id = first.value.member_id, second.value.member_id
    for member_id in (first_id, second_id):
        driver.sync_group("g", member_id, 1, {first_id: ALL})
    newcomer = driver.join(version=3, rebalance_ms=1_000)
    for _ in range(2):
        driver.advance(7_000)
        assert newcomer.waits
        driver.heartbeat("g", first_id, 1)
        driver.heartbeat("g", second_id, 1)
    driver.advance(1_000)
    assert newcomer.value.generation_id == 2


def test_in_version_0_the_session_timeout_limits_a_rebalance_too(driver: Driver) -> None:
    driver.join(version=0, session_ms=9_000, rebalance_ms=-1)
    assert group_of(driver).rebalance_timeout_ms == 9_000


def test_a_new_leader_is_chosen_when_the_old_one_does_not_join(driver: Driver) -> None:
    leader, follower = two_members(driver)
    _, answer = join_waiting(driver)
    driver.join("g", follower)
    driver.leave("g", (leader, None))
    assert answer.value.leader == follower


def test_when_everybody_left_the_group_is_empty_and_that_is_stored(driver: Driver) -> None:
    driver.leave("g", (one_member(driver), None))
    assert group_of(driver).state == GroupState.EMPTY
    driver.restart()
    group = group_of(driver)
    assert (group.state, group.generation, group.members) == (GroupState.EMPTY, 2, {})


def test_members_that_leave_while_others_gather_are_not_waited_for(driver: Driver) -> None:
    leader, follower = two_members(driver)
    _, answer = join_waiting(driver)
    driver.join("g", leader)
    driver.leave("g", (follower, None))
    assert answer.value.generation_id == 2


# --- sessions -----------------------------------------------------------------------------------------------


def test_a_silent_member_is_removed_and_the_others_join_again(driver: Driver) -> None:
    leader, follower = two_members(driver)
    for _ in range(2):
        driver.advance(5_000)
        driver.heartbeat("g", leader, 1)
    assert driver.heartbeat("g", follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat("g", leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_waits_for_an_answer_need_not_beat(driver: Driver) -> None:
    leader, follower = two_members(driver)
    _, newcomer = join_waiting(driver)
    rejoined = driver.join("g", follower)
    for _ in range(3):
        driver.advance(6_000)
        driver.heartbeat("g", leader, 1)
    assert rejoined.waits
    driver.join("g", leader)
    assert (rejoined.value.generation_id, newcomer.value.generation_id) == (2, 2)


def test_the_session_of_a_member_that_was_answered_begins_anew(driver: Driver) -> None:
    member_id, answer = join_waiting(driver)
    driver.advance(3_000)
    assert not answer.waits
    driver.advance(10_001)
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_sessions_begin_anew_after_a_restart(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.advance(9_000)
    driver.restart()
    driver.advance(9_000)
    assert driver.heartbeat("g", member_id, 1) == ErrorCode.NONE
    driver.advance(10_000)
    assert group_of(driver).state == GroupState.EMPTY


# --- assigning ----------------------------------------------------------------------------------------------


def test_everybody_gets_what_the_leader_says(driver: Driver) -> None:
    leader, follower = two_members(driver)
    assert assigned(driver.sync_group("g", leader, 1)) == {"t": [0, 1]}
    assert assigned(driver.sync_group("g", follower, 1)) == {"t": [2, 3]}


def test_a_member_the_leader_forgot_gets_nothing(driver: Driver) -> None:
    (first, _), (second, _) = join_waiting(driver), join_waiting(driver)
    driver.advance(10_000)
    waiting = driver.sync_group("g", second, 1)
    driver.sync_group("g", first, 1, {first: ALL})
    assert waiting.value.assignment == b""


def test_assignments_are_told_when_they_are_stored(driver: Driver) -> None:
    member_id, _ = join_waiting(driver)
    driver.advance(3_000)
    driver.hold = True
    answer = driver.sync_group("g", member_id, 1, {member_id: ALL})
    assert answer.waits
    assert group_of(driver).state == GroupState.COMPLETING_REBALANCE
    driver.sync()
    assert assigned(answer) == {"t": [0, 1, 2, 3]}
    assert group_of(driver).state == GroupState.STABLE


def test_if_they_cannot_be_stored_everybody_joins_again(driver: Driver) -> None:
    (leader, _), (follower, _) = join_waiting(driver), join_waiting(driver)
    driver.advance(10_000)
    driver.hold = True
    answers = [
        driver.sync_group("g", follower, 1),
        driver.sync_group("g", leader, 1, {leader: FIRST_HALF, follower: SECOND_HALF}),
    ]
    driver.fail()
    assert {answer.error for answer in answers} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert group_of(driver).state == GroupState.PREPARING_REBALANCE


def test_an_assignment_that_is_stored_too_late_is_not_told_in_the_next_generation(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.join("g", follower, topics=["t", "u"])
    driver.join("g", leader)
    driver.hold = True
    late = driver.sync_group("g", leader, 2, {leader: ALL})
    driver.join("g", follower)
    driver.leave("g", (follower, None))
    assert late.error == ErrorCode.REBALANCE_IN_PROGRESS
    driver.join("g", leader)
    current = driver.sync_group("g", leader, 3)
    driver.sync_one()
    assert current.waits or current.value.assignment == b""
    assert group_of(driver).state == GroupState.COMPLETING_REBALANCE


def test_members_that_do_not_ask_for_their_assignment_are_dropped(driver: Driver) -> None:
    (first, _), (second, _) = join_waiting(driver), join_waiting(driver)
    driver.advance(6_000)
    driver.sync_group("g", first, 1, {first: ALL})
    for _ in range(4):
        driver.heartbeat("g", first, 1)
        driver.heartbeat("g", second, 1)
        driver.advance(5_000)
    assert driver.heartbeat("g", second, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat("g", first, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_many_members_are_told_their_generation_some_at_a_time(driver: Driver) -> None:
    count = 2 * TOLD_AT_ONCE + 10
    answers = [join_waiting(driver)[1] for _ in range(count)]
    due_ms = driver.coordinator.next_deadline()
    while due_ms is not None and group_of(driver).state == GroupState.PREPARING_REBALANCE:
        driver.now_ms = due_ms
        driver.coordinator.tick(due_ms)
        due_ms = driver.coordinator.next_deadline()
    assert sum(not answer.waits for answer in answers) == TOLD_AT_ONCE
    driver.advance(2)
    assert {answer.value.generation_id for answer in answers} == {1}
    assert group_of(driver).unsynced == set(group_of(driver).members)


def test_members_that_were_not_told_yet_are_part_of_the_next_generation(driver: Driver) -> None:
    waiting = dict(join_waiting(driver) for _ in range(TOLD_AT_ONCE + 10))
    while group_of(driver).state == GroupState.PREPARING_REBALANCE:
        driver.now_ms = driver.coordinator.next_deadline() or 0
        driver.coordinator.tick(driver.now_ms)
    told = [member_id for member_id, answer in waiting.items() if not answer.waits]
    for member_id in told:
        driver.leave("g", (member_id, None))
    driver.advance(10)
    assert {answer.value.generation_id for member_id, answer in waiting.items() if member_id not in told} == {
        2
    }


def test_a_newcomer_while_a_crowd_is_told_leaves_no_member_waiting_for_ever(driver: Driver) -> None:
    waiting = dict(join_waiting(driver) for _ in range(TOLD_AT_ONCE + 10))
    while group_of(driver).state == GroupState.PREPARING_REBALANCE:
        driver.now_ms = driver.coordinator.next_deadline() or 0
        driver.coordinator.tick(driver.now_ms)
    told = [member_id for member_id, answer in waiting.items() if not answer.waits]
    newcomer, answer = join_waiting(driver)
    assert group_of(driver).state == GroupState.PREPARING_REBALANCE
    driver.advance(10)
    assert sum(answer.waits for answer in waiting.values()) == 10, "they are part of the next generation"
    for member_id in told[1:]:
        driver.join("g", member_id)
    driver.advance(60_000)
    assert not any(answer.waits for answer in (answer, *waiting.values()))
    others = {answer.value.generation_id for member_id, answer in waiting.items() if member_id not in told}
    assert others == {answer.value.generation_id} == {2}
    assert told[0] not in group_of(driver).members
    assert newcomer


def crowd_without_sync(driver: Driver) -> tuple[str, list[str]]:
    """Return the leader, who alone has asked for its assignment, and many members that have not."""
    first, answer = join_waiting(driver)
    others = [join_waiting(driver)[0] for _ in range(2 * DROPPED_AT_ONCE + 10)]
    while answer.waits:
        driver.advance(1_000)
    driver.sync_group("g", first, 1, {first: ALL})
    deadline_ms = driver.now_ms + group_of(driver).rebalance_timeout_ms
    while driver.now_ms < deadline_ms - 2_000:
        driver.advance(2_000)
        for member_id in (first, *others):
            driver.heartbeat("g", member_id, 1)
    driver.advance(deadline_ms - driver.now_ms - 1)
    driver.now_ms += 1
    return first, others


def test_many_members_that_do_not_ask_are_dropped_some_at_a_time(driver: Driver) -> None:
    first, others = crowd_without_sync(driver)
    group = group_of(driver)
    driver.coordinator.tick(driver.now_ms)
    assert len(group.members) == 1 + len(others) - DROPPED_AT_ONCE
    assert driver.coordinator.next_deadline() == driver.now_ms + 1
    driver.advance(2)
    assert set(group.members) == {first}
    assert driver.heartbeat("g", first, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_that_has_lost_members_rebalances_though_all_others_ask_meanwhile(driver: Driver) -> None:
    first, _ = crowd_without_sync(driver)
    group = group_of(driver)
    driver.coordinator.tick(driver.now_ms)
    for member_id in list(group.unsynced):
        driver.sync_group("g", member_id, 1)
    assert not group.unsynced
    driver.advance(1)
    assert driver.heartbeat("g", first, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_stable_group_survives_a_restart(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.restart()
    assert driver.heartbeat("g", follower, 1) == ErrorCode.NONE
    assert assigned(driver.sync_group("g", leader, 1)) == {"t": [0, 1]}


def test_generations_that_were_told_and_never_stored_are_not_used_again(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.join("g", follower, topics=["t", "u"])
    told = driver.join("g", leader).value.generation_id
    driver.restart()
    driver.join("g", follower)
    again = driver.join("g", leader)
    assert again.value.generation_id == 1 + GENERATIONS_SKIPPED + 1 > told


def test_a_group_that_never_gets_to_assign_stores_its_number_from_time_to_time() -> None:
    driver = Driver("t", group_initial_rebalance_delay_ms=0)
    member_id = new_id(driver)
    told = 0
    for number in range(250):
        told = driver.join("g", member_id, topics=["t", f"u{number}"]).value.generation_id
    assert told == 250
    driver.restart()
    assert told < group_of(driver).generation + GENERATIONS_SKIPPED
    assert group_of(driver).members == {}


def test_a_number_far_from_the_stored_one_is_told_when_it_is_stored(driver: Driver) -> None:
    leader, follower = two_members(driver)
    driver.restart()
    driver.hold = True
    answers = [driver.join("g", leader), driver.join("g", follower)]
    assert all(answer.waits for answer in answers)
    driver.sync()
    assert {answer.value.generation_id for answer in answers} == {102}
    driver.restart()
    assert group_of(driver).generation == 102
    assert driver.heartbeat("g", leader, 1) == ErrorCode.ILLEGAL_GENERATION
    again = [driver.join("g", leader), driver.join("g", follower)]
    driver.sync()
    assert {answer.value.generation_id for answer in again} == {203}


def test_a_number_that_cannot_be_stored_is_tried_again(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.restart()
    driver.hold = True
    answer = driver.join("g", member_id)
    driver.fail()
    driver.hold = False
    assert answer.waits
    driver.advance(1_000)
    assert answer.value.generation_id == 102


@pytest.mark.parametrize("fails", [False, True])
def test_a_number_stored_for_a_group_that_was_deleted_meanwhile_ends_nothing_else(
    driver: Driver, fails: bool
) -> None:
    member_id = one_member(driver)
    driver.restart()
    driver.hold = True
    driver.join("g", member_id)
    driver.coordinator._context.put_group("g", None)
    driver.fail() if fails else driver.sync()
    driver.hold = False
    driver.advance(2_000)
    assert "g" not in driver.coordinator._context.groups
