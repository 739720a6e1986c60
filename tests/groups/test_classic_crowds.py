"""Classic groups of very many members: each turn does some of what is due, and no member is forgotten."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from groups.classic_rebalance import DROPPED_AT_ONCE, ENCODED_AT_ONCE, TOLD_AT_ONCE
from protocol.error_codes import ErrorCode
from protocol.messages.sync_group import SyncGroupResponse
from tests.groups.classic import FIRST_HALF, group_of, join_waiting
from tests.groups.driver import Answer, Driver


def crowd_with_syncs(driver: Driver, count: int) -> tuple[str, dict[str, Answer[SyncGroupResponse]]]:
    """Return the leader, which has not asked for its assignment, and the answers to come of the others."""
    driver.checks_memory = False
    first, answer = join_waiting(driver)
    others = [join_waiting(driver)[0] for _ in range(count - 1)]
    while answer.waits:
        driver.advance(1_000)
    driver.advance(10)
    return first, {member_id: driver.sync_group("g", member_id, 1) for member_id in others}


def lead(driver: Driver, first: str, others: Iterable[str]) -> Answer[SyncGroupResponse]:
    """Ask as the leader, with an assignment for each member."""
    return driver.sync_group("g", first, 1, dict.fromkeys((first, *others), FIRST_HALF))


def test_many_members_are_given_their_assignments_some_at_a_time(driver: Driver) -> None:
    first, answers = crowd_with_syncs(driver, 2 * TOLD_AT_ONCE)
    mine = lead(driver, first, answers)
    assert not mine.waits
    assert sum(not answer.waits for answer in answers.values()) == TOLD_AT_ONCE - 1
    assert driver.coordinator.next_deadline() == driver.now_ms + 1
    driver.advance(5)
    assert {answer.value.assignment for answer in answers.values()} == {FIRST_HALF}


def test_a_member_that_asks_again_before_its_turn_is_answered_at_once(driver: Driver) -> None:
    first, answers = crowd_with_syncs(driver, 2 * TOLD_AT_ONCE)
    lead(driver, first, answers)
    last, waiting = list(answers.items())[-1]
    assert driver.sync_group("g", last, 1).value.assignment == FIRST_HALF
    assert waiting.waits
    driver.advance(5)
    assert waiting.value.assignment == FIRST_HALF


def test_members_whose_group_gathers_again_before_their_turn_join_again(driver: Driver) -> None:
    first, answers = crowd_with_syncs(driver, 2 * TOLD_AT_ONCE)
    lead(driver, first, answers)
    late = [member_id for member_id, answer in answers.items() if answer.waits]
    driver.leave("g", (late.pop(), None))
    driver.advance(5)
    assert {answers[member_id].error for member_id in late} == {ErrorCode.REBALANCE_IN_PROGRESS}


def test_members_of_a_group_that_is_deleted_before_their_turn_are_answered(driver: Driver) -> None:
    first, answers = crowd_with_syncs(driver, 2 * TOLD_AT_ONCE)
    lead(driver, first, answers)
    driver.leave("g", *((member_id, None) for member_id in (first, *answers)))
    driver.advance(5)
    assert not any(answer.waits for answer in answers.values())


def test_an_error_reaches_every_member_of_a_crowd(driver: Driver) -> None:
    first, answers = crowd_with_syncs(driver, 2 * TOLD_AT_ONCE)
    driver.hold = True
    mine = lead(driver, first, answers)
    driver.fail()
    driver.advance(5)
    assert {answer.error for answer in (mine, *answers.values())} == {mine.error} != {ErrorCode.NONE}


def test_a_thread_encodes_the_assignments_of_a_crowd() -> None:
    driver = Driver("t")
    driver.threads.hold = True
    first, answers = crowd_with_syncs(driver, ENCODED_AT_ONCE + 1)
    mine = lead(driver, first, answers)
    driver.advance(5)
    assert mine.waits
    driver.threads.do_work()
    driver.advance(5)
    assert {answer.value.assignment for answer in (mine, *answers.values())} == {FIRST_HALF}
    driver.restart()
    assert {member.assignment for member in group_of(driver).members.values()} == {FIRST_HALF}


def test_a_thread_lists_a_crowd_for_its_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groups.classic_rebalance.LISTED_AT_ONCE", 2)
    driver = Driver("t")
    driver.threads.hold = True
    (first, leader), *others = [join_waiting(driver) for _ in range(3)]
    driver.advance(10_000)
    assert [answer.value.generation_id for _, answer in others] == [1, 1]
    assert leader.waits
    driver.threads.do_work()
    driver.advance(1)
    assert {entry.member_id for entry in leader.value.members} == {first, *(name for name, _ in others)}


def test_a_leader_whose_list_comes_too_late_is_part_of_the_next_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("groups.classic_rebalance.LISTED_AT_ONCE", 2)
    driver = Driver("t")
    driver.threads.hold = True
    (_, leader), (second, _), (third, _) = [join_waiting(driver) for _ in range(3)]
    driver.advance(10_000)
    driver.leave("g", (second, None))
    driver.threads.do_work()
    driver.advance(1)
    assert leader.waits
    rejoined = driver.join("g", third)
    driver.threads.do_work()
    driver.advance(1)
    assert (leader.value.generation_id, rejoined.value.generation_id) == (2, 2)


def test_assignments_that_were_encoded_for_a_generation_that_is_over_are_not_stored() -> None:
    driver = Driver("t")
    driver.threads.hold = True
    first, answers = crowd_with_syncs(driver, ENCODED_AT_ONCE + 1)
    mine = lead(driver, first, answers)
    join_waiting(driver)
    driver.threads.do_work()
    driver.advance(5)
    assert {answer.error for answer in (mine, *answers.values())} == {ErrorCode.REBALANCE_IN_PROGRESS}
    assert group_of(driver).stored_generation == 0


def test_many_members_that_do_not_join_again_are_dropped_some_at_a_time(driver: Driver) -> None:
    count = 2 * DROPPED_AT_ONCE + 10
    first, answers = crowd_with_syncs(driver, count)
    lead(driver, first, answers)
    driver.advance(10)
    rejoined = driver.join("g", first, protocols=[("range", b"other")])
    group = group_of(driver)
    deadline_ms = driver.now_ms + group.rebalance_timeout_ms
    while driver.now_ms < deadline_ms - 2_000:
        driver.advance(2_000)
        for member_id in answers:
            driver.heartbeat("g", member_id, 1)
    driver.advance(deadline_ms - driver.now_ms - 1)
    assert len(group.members) == count
    driver.now_ms += 1
    driver.coordinator.tick(driver.now_ms)
    assert len(group.members) == count - DROPPED_AT_ONCE
    assert rejoined.waits
    driver.advance(5)
    assert (set(group.members), rejoined.value.generation_id) == ({first}, 2)
