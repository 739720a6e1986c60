"""Tests of groups/next_step.py: a thread brings a member with very much on, and its group may change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from groups import consumer_heartbeat, next_step
from groups.consumer_group import ConsumerGroupKey
from groups.consumer_member import MemberAssignment, MemberMetadata
from groups.record_keys import CurrentKey, MemberKey, TargetEpoch, TargetEpochKey, TargetKey
from groups.states import MemberState
from protocol.error_codes import ErrorCode
from tests.broker.wide_requests import Lines
from tests.groups.consumers import epoch_of, group_of, held
from tests.groups.driver import Driver
from tests.groups.kit import given

TOPICS = [f"t{number}" for number in range(8)]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Return a coordinator for which a member of five topics has very many."""
    monkeypatch.setattr(next_step, "TOPICS_AT_ONCE", 4)
    return Driver(*TOPICS, kawal_rebalance_interval_ms=0)


def beat(driver: Driver, member_id: str, **rest: Any) -> Any:
    """Send a heartbeat and let what threads have done be seen."""
    answer = driver.beat("g", member_id, epoch_of(driver, member_id), **rest)
    driver.advance(0)
    return answer


def test_a_thread_works_out_what_a_member_of_very_many_topics_gets(driver: Driver) -> None:
    driver.threads.hold = True
    joined = driver.join_consumer("g", "a", *TOPICS)
    assert joined.waits
    assert held(driver, "a") == []
    driver.threads.do_work()
    driver.advance(0)
    assert given(joined) == sorted([0, 1, 2, 3] * 8)
    assert len(held(driver, "a")) == 32
    assert len(group_of(driver).owners) == 8


def test_few_topics_take_no_thread(driver: Driver) -> None:
    driver.threads.hold = True
    assert given(driver.join_consumer("g", "a", *TOPICS[:4])) == sorted([0, 1, 2, 3] * 4)


def test_what_was_worked_out_survives_a_restart(driver: Driver) -> None:
    driver.join_consumer("g", "a", *TOPICS)
    driver.advance(0)
    before = group_of(driver)
    driver.restart()
    after = group_of(driver)
    assert (after.current, after.owners, after.epoch) == (before.current, before.owners, before.epoch)


def test_two_members_of_very_many_topics_share_them_through_threads(driver: Driver) -> None:
    driver.join_consumer("g", "b", *TOPICS)
    driver.advance(0)
    driver.join_consumer("g", "a", *TOPICS)
    driver.advance(0)
    for _ in range(4):
        for member_id in "ab":
            current = group_of(driver).assignment(member_id).assigned
            beat(driver, member_id, owned={topic_id: sorted(found) for topic_id, found in current.items()})
    assert all(map(group_of(driver).reconciled, "ab"))
    assert sorted(held(driver, "a") + held(driver, "b")) == sorted([0, 1, 2, 3] * 8)


@pytest.mark.parametrize(
    "change",
    [
        (CurrentKey("g", "b"), MemberAssignment(epoch=1, assigned={UUID(int=1): {0: 1}})),
        (CurrentKey("g", "a"), MemberAssignment(epoch=1)),
        (MemberKey("g", "a"), MemberMetadata(client_id="other", client_host="/h")),
        (TargetKey("g", "a"), {UUID(int=1): frozenset({0})}),
        (TargetEpochKey("g"), TargetEpoch(9, 0)),
        (MemberKey("g", "a"), None),
    ],
)
def test_a_step_is_out_of_date_when_anything_has_changed_of_what_it_depends_on(
    driver: Driver, change: tuple[ConsumerGroupKey, Any]
) -> None:
    driver.join_consumer("g", "a", "t0")
    group = group_of(driver)
    context = driver.coordinator._context
    step = next_step.NextStep(context, group, "a", None, resubscribed=True, tells=True)
    assert step.is_current()
    group.replay(*change)
    assert not step.is_current()


def test_a_step_of_a_group_that_has_changed_is_worked_out_again(driver: Driver) -> None:
    driver.threads.hold = True
    joined = driver.join_consumer("g", "a", *TOPICS)
    driver.threads.do_work()
    driver.join_consumer("g", "b", "t0")
    driver.advance(0)
    assert joined.waits
    driver.threads.hold = False
    driver.threads.do_work()
    driver.advance(0)
    assert joined.error == ErrorCode.NONE
    assert not set(held(driver, "b")) - {0, 1, 2, 3}
    group = group_of(driver)
    for topic_id, found in group.assignment("a").assigned.items():
        assert set(found) == {index for index, name in group.owners[topic_id].items() if name == "a"}


def test_a_group_that_changes_under_every_step_gets_its_answer_without_a_thread(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_step.NextStep, "is_current", lambda _: False)
    worked_out: list[str] = []
    prepare = next_step.NextStep.prepare

    def counted(step: next_step.NextStep) -> None:
        worked_out.append(step.member_id)
        prepare(step)

    monkeypatch.setattr(next_step.NextStep, "prepare", counted)
    joined = driver.join_consumer("g", "a", *TOPICS)
    driver.advance(0)
    assert joined.error == ErrorCode.NONE
    assert worked_out == ["a"] * consumer_heartbeat.OUTDATED_MAX


def test_a_heartbeat_that_comes_meanwhile_waits_and_is_answered_after_it(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t0")
    driver.threads.hold = True
    first = driver.beat("g", "a", epoch_of(driver, "a"), topics=TOPICS)
    driver.threads.do_work()
    driver.advance(0)
    second = driver.beat("g", "a", epoch_of(driver, "a"))
    driver.threads.hold = False
    driver.threads.do_work()
    driver.advance(0)
    assert (first.error, second.error) == (ErrorCode.NONE, ErrorCode.NONE)
    assert len(held(driver, "a")) == 32


def test_a_member_that_leaves_meanwhile_is_told_so(driver: Driver) -> None:
    driver.threads.hold = True
    joined = driver.join_consumer("g", "a", *TOPICS)
    driver.threads.do_work()
    driver.beat("g", "a", -1)
    driver.advance(0)
    assert joined.error == ErrorCode.UNKNOWN_MEMBER_ID
    assert group_of(driver).owners == {}


def test_a_member_that_may_hold_what_a_later_version_wrote_is_fenced_by_the_thread(driver: Driver) -> None:
    driver.join_consumer("g", "a", *TOPICS)
    driver.advance(0)
    group = group_of(driver)
    current = group.current["a"]
    group.current["a"] = MemberAssignment(
        epoch=current.epoch,
        previous_epoch=current.previous_epoch,
        state=MemberState.UNKNOWN,
        assigned=current.assigned,
    )
    answer = beat(driver, "a")
    assert answer.error == ErrorCode.FENCED_MEMBER_EPOCH


def test_an_error_of_our_own_ends_the_heartbeat_and_is_told(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(next_step.NextStep, "prepare", broken)
    joined = driver.join_consumer("g", "a", *TOPICS)
    with pytest.raises(RuntimeError, match="on purpose"):
        driver.advance(0)
    assert joined.error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert group_of(driver).stepping is None


def test_if_its_record_is_lost_everything_is_as_before(driver: Driver) -> None:
    driver.join_consumer("g", "a", *TOPICS[:4])
    group = group_of(driver)
    before = (dict(group.current), dict(group.owners))
    answer = driver.beat("g", "a", epoch_of(driver, "a"), topics=TOPICS)
    driver.hold = True
    driver.advance(0)
    assert answer.waits
    assert len(group.owners) == 8
    driver.fail()
    assert answer.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (group.current, group.owners) == before


def test_the_loop_takes_no_line_of_python_for_each_topic_of_a_member(driver: Driver) -> None:
    topics = [f"many{number}" for number in range(1_500)]
    for name in topics:
        driver.topics.create(name, 1)
    driver.checks_memory = False
    driver.threads.hold = True
    lines = Lines()

    def pass_turns() -> None:
        for _ in range(6):
            driver.threads.do_work()
            lines.run("a tick", driver.advance, 0)

    joined = lines.run("joining", driver.join_consumer, "g", "b", *topics)
    pass_turns()
    assert len(joined.value.assignment.topic_partitions) == len(topics)
    second = lines.run("another joins", driver.join_consumer, "g", "a", *topics)
    pass_turns()
    moved = lines.run("it must give all up", driver.beat, "g", "b", epoch_of(driver, "b"))
    pass_turns()
    assert (second.error, moved.error) == (ErrorCode.NONE, ErrorCode.NONE)
    epoch = epoch_of(driver, "a")
    lines.run("it wants less", lambda: driver.beat("g", "a", epoch, topics=topics[1:]))
    pass_turns()
    assert lines.longest.size < len(topics), lines.longest
