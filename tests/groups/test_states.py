"""Every row of the tables in groups/states.py, as a coordinator shows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groups.states import (
    ANSWERS,
    CLASSIC_STATUS,
    CONSUMER_STATES,
    RECONCILIATION,
    TRANSITIONS,
    Action,
    ConsumerGroupState,
    ConsumerStatus,
    Event,
    GroupFacts,
    GroupState,
    MemberFacts,
    Request,
)
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from tests.groups.classic import ALL, group_of, join_waiting, one_member, two_members
from tests.groups.driver import Driver, codes

Start = Callable[[], tuple[Driver, str, str]]


def empty() -> tuple[Driver, str, str]:
    driver = Driver("t")
    member_id = one_member(driver)
    driver.leave("g", (member_id, None))
    return driver, member_id, member_id


def preparing() -> tuple[Driver, str, str]:
    """Return leader and follower of a group in which a third member makes all members gather."""
    driver = Driver("t")
    leader, follower = two_members(driver)
    join_waiting(driver)
    return driver, leader, follower


def completing() -> tuple[Driver, str, str]:
    """Return leader and follower after all have joined again, before the leader sends its assignment."""
    driver, leader, follower = preparing()
    driver.join("g", follower)
    driver.join("g", leader)
    return driver, leader, follower


def stable() -> tuple[Driver, str, str]:
    driver = Driver("t")
    leader, follower = two_members(driver)
    return driver, leader, follower


STARTS: dict[GroupState, Start] = {
    GroupState.EMPTY: empty,
    GroupState.PREPARING_REBALANCE: preparing,
    GroupState.COMPLETING_REBALANCE: completing,
    GroupState.STABLE: stable,
}
LIVE_ANSWERS = [(state, request, answer) for state in STARTS for request, answer in ANSWERS[state].items()]


@pytest.mark.parametrize("state", STARTS)
def test_the_tests_begin_in_the_state_they_mean(state: GroupState) -> None:
    driver, _, _ = STARTS[state]()
    assert group_of(driver).state == state


@pytest.mark.parametrize(("state", "request_kind", "expected"), LIVE_ANSWERS)
def test_every_answer_is_given(
    state: GroupState, request_kind: Request, expected: Action | ErrorCode
) -> None:
    driver, leader, follower = STARTS[state]()
    generation = group_of(driver).generation
    found: Action | ErrorCode
    if request_kind in (Request.REJOIN, Request.REJOIN_CHANGED, Request.REJOIN_LEADER):
        member_id = leader if request_kind == Request.REJOIN_LEADER else follower
        found = rejoin(driver, member_id, changed=request_kind == Request.REJOIN_CHANGED)
    elif request_kind == Request.SYNC:
        answer = driver.sync_group("g", follower, generation)
        told = Action.PARK if answer.waits else Action.TELL_ASSIGNMENT
        found = told if answer.waits or not answer.error else answer.error
    elif request_kind == Request.HEARTBEAT:
        found = driver.heartbeat("g", follower, generation) or Action.ACCEPT
    elif request_kind == Request.COMMIT:
        member_id, epoch = ("", -1) if state == GroupState.EMPTY else (follower, generation)
        committed = driver.commit("g", {("t", 0): 5}, member_id=member_id, generation=epoch)
        found = codes(committed)[0] or Action.ACCEPT
    else:
        request = DeleteGroupsRequest(groups_names=["g"])
        deleted = driver.call(driver.coordinator.delete_groups, request)
        found = ErrorCode(deleted.value.results[0].error_code) or Action.ACCEPT
    assert found == expected


def rejoin(driver: Driver, member_id: str, *, changed: bool) -> Action | ErrorCode:
    before = group_of(driver).state
    answer = driver.join("g", member_id, topics=["t", "u"] if changed else ["t"])
    if answer.waits:
        return Action.PARK if before == GroupState.PREPARING_REBALANCE else Action.REBALANCE
    return answer.error or Action.TELL_GENERATION


def test_a_group_that_is_gone_answers_every_request_with_an_error() -> None:
    assert all(isinstance(answer, ErrorCode) for answer in ANSWERS[GroupState.DEAD].values())


@pytest.mark.parametrize(("before", "event", "after"), [(*key, after) for key, after in TRANSITIONS.items()])
def test_every_transition_happens(before: GroupState, event: Event, after: GroupState) -> None:
    driver, leader, follower = STARTS[before]()
    group = group_of(driver)
    generation = group.generation
    if event == Event.REMOVED:
        driver.coordinator.unload([driver.coordinator.partition_of("g")], driver.now_ms)
    elif event == Event.ASSIGNED:
        driver.sync_group("g", leader, generation, {leader: ALL})
    elif event == Event.GATHERED:
        driver.join("g", follower)
        driver.join("g", leader)
    elif event == Event.DESERTED:
        driver.leave("g", *((name, None) for name in list(group.members)))
    elif before == GroupState.EMPTY:
        join_waiting(driver)
    else:
        driver.leave("g", (follower, None))
    assert group.state == after


def test_there_are_no_other_ways_out_than_those_of_the_table() -> None:
    leaving = {state for state, _ in TRANSITIONS}
    assert leaving == set(GroupState) - {GroupState.DEAD}
    assert all((state, Event.REMOVED) in TRANSITIONS for state in leaving)


# --- consumer groups ---------------------------------------------------------------------------------------


def consumer_state(driver: Driver) -> tuple[GroupFacts, ConsumerGroupState]:
    group = driver.coordinator._context.consumer("g")
    assert group is not None
    facts = GroupFacts(
        has_members=bool(group.metadata),
        target_is_current=group.epoch == group.target_epoch,
        all_reconciled=all(map(group.reconciled, group.metadata)),
    )
    return facts, group.state


def test_the_states_of_a_consumer_group_follow_one_another() -> None:
    driver = Driver()
    topic = driver.create_topic("t")
    driver.join_consumer("g", "a", "t")
    assert consumer_state(driver) == (GroupFacts(True, True, True), ConsumerGroupState.STABLE)
    driver.join_consumer("g", "b", "t")
    assert consumer_state(driver) == (GroupFacts(True, False, True), ConsumerGroupState.ASSIGNING)
    driver.advance(2_000)
    assert consumer_state(driver) == (GroupFacts(True, True, False), ConsumerGroupState.RECONCILING)
    driver.beat("g", "a", 2, owned={topic.topic_id: [0, 1, 2, 3]})
    driver.beat("g", "a", 2, owned={topic.topic_id: [0, 1]})
    driver.beat("g", "b", 2)
    assert consumer_state(driver) == (GroupFacts(True, True, True), ConsumerGroupState.STABLE)
    for name in ("a", "b"):
        driver.beat("g", name, -1)
    assert consumer_state(driver)[1] == ConsumerGroupState.EMPTY


def test_every_combination_of_facts_has_a_state() -> None:
    assert len(CONSUMER_STATES) == 8
    assert len(RECONCILIATION) == 4
    assert CONSUMER_STATES[GroupFacts(True, False, False)] == ConsumerGroupState.ASSIGNING
    assert not RECONCILIATION[MemberFacts(must_revoke=True, must_wait=False)].moves


@pytest.mark.parametrize(
    "state", [GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE]
)
def test_consumers_are_shown_in_the_status_of_their_group(state: GroupState) -> None:
    driver, _, _ = STARTS[state]()
    shown = {row.status for row in driver.coordinator.consumers(driver.now_ms)}
    assert shown == {CLASSIC_STATUS[state].value}
    assert shown <= {status.value for status in ConsumerStatus}
