"""Tests of groups/consumer_target.py: the causes of a new epoch, and the time of its assignment."""

from __future__ import annotations

from typing import Any

import pytest

from groups import assignment_task, consumer_target, large_target
from groups.config import GroupSettings
from groups.consumer_target import NOT_ASSIGNED_HERE, ConsumerTarget, metadata_hash
from groups.effects import EncodedRecord
from groups.offload import MEMBER_WEIGHT, Work, WorkDone
from groups.record_keys import Key, TargetKey
from groups.records import encode_record
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tests.groups.consumers import epoch_of, group_of, held
from tests.groups.driver import Answer, Driver
from tests.groups.kit import given


def test_the_first_change_after_a_quiet_time_is_assigned_at_once(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.advance(2_000)
    driver.join_consumer("g", "b", "t")
    assert group_of(driver).target_epoch == group_of(driver).epoch == 3


def test_changes_that_follow_are_gathered_and_assigned_together(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    for name in "bcd":
        driver.advance(500)
        driver.join_consumer("g", name, "t")
    group = group_of(driver)
    assert (group.epoch, group.target_epoch) == (5, 2)
    driver.advance(499)
    assert group.target_epoch == 2
    driver.advance(1)
    assert group.target_epoch == 5
    assert {
        name: len(group.target[name][driver.topics.by_name["t"].topic_id]) for name in "abcd"
    } == dict.fromkeys("abcd", 1)


def test_with_an_interval_of_zero_everything_is_assigned_at_once() -> None:
    driver = Driver("t", kawal_rebalance_interval_ms=0)
    for name in "abc":
        driver.join_consumer("g", name, "t")
        assert group_of(driver).target_epoch == group_of(driver).epoch


def test_a_group_may_have_its_own_interval(driver: Driver) -> None:
    driver.settings["g"] = GroupSettings(consumer_assignment_interval_ms=5_000)
    driver.join_consumer("g", "a", "t")
    driver.join_consumer("g", "b", "t")
    driver.advance(4_999)
    assert group_of(driver).target_epoch == 2
    driver.advance(1)
    assert group_of(driver).target_epoch == 3


def test_whoever_comes_to_an_empty_group_need_not_wait(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.beat("g", "a", -1)
    assert given(driver.join_consumer("g", "b", "t")) == [0, 1, 2, 3]


def test_the_hash_of_topics_changes_with_each_of_them(driver: Driver) -> None:
    context = driver.coordinator._context
    names = frozenset({"t", "u"})
    seen = [metadata_hash(context, names)]
    driver.create_topic("u", 1)
    seen.append(metadata_hash(context, names))
    driver.grow_topic("u", 2)
    seen.append(metadata_hash(context, names))
    driver.delete_topic("u")
    assert metadata_hash(context, names) == seen[0]
    driver.create_topic("u", 2)
    seen.append(metadata_hash(context, names))
    assert len(set(seen)) == 4
    assert metadata_hash(context, frozenset({"nothing"})) == 0


def test_only_targets_that_changed_are_written(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.advance(2_000)
    before = sum(map(len, driver.log.values()))
    driver.create_topic("u", 4)
    driver.beat("g", "a", epoch_of(driver, "a"), topics=["t", "u"])
    # Metadata, epoch, one target, the target's epoch, and the member's assignment.
    assert sum(map(len, driver.log.values())) - before == 5
    assert len(held(driver, "a")) == 8


# --- targets that a thread computes -----------------------------------------------------------------


@pytest.fixture
def slow() -> Driver:
    """Return a driver whose assignments of any topic are made in a thread, which waits for `do_work`."""
    driver = Driver("t", weight_max=MEMBER_WEIGHT)
    driver.threads.hold = True
    return driver


def done(driver: Driver) -> None:
    """Let the thread finish and its target be stored."""
    driver.threads.do_work()
    driver.advance(1)


def join_slowly(driver: Driver, *names: str, **rest: Any) -> list[Answer[ConsumerGroupHeartbeatResponse]]:
    answers = [driver.join_consumer("g", name, "t", **rest) for name in names]
    done(driver)
    return answers


def test_a_heartbeat_waits_for_the_large_target_that_it_causes(slow: Driver) -> None:
    answer = slow.join_consumer("g", "a", "t")
    assert answer.waits
    other = slow.beat("other", "b", 0, topics=[], owned={}, rebalance_ms=1)
    assert given(other) == [], "other groups do not wait"
    done(slow)
    assert given(answer) == [0, 1, 2, 3]


def test_a_target_whose_record_a_thread_has_written_is_there_after_a_restart(
    slow: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_target, "TOPICS_AT_ONCE", 0)
    encoded: list[Key] = []

    def noted(key: Key, value: Any) -> EncodedRecord:
        encoded.append(key)
        return encode_record(key, value)

    monkeypatch.setattr(consumer_target, "encode_record", noted)
    join_slowly(slow, "a", "b")
    before = dict(group_of(slow).target)
    assert [type(key) for key in encoded] == [TargetKey]
    slow.restart()
    assert dict(group_of(slow).target) == before


def test_those_that_come_meanwhile_get_the_next_target(slow: Driver) -> None:
    first = slow.join_consumer("g", "a", "t")
    second = slow.join_consumer("g", "b", "t")
    assert second.waits, "there is no epoch yet that it could be told"
    done(slow)
    assert (given(first), given(second)) == ([0, 1, 2, 3], [])
    assert second.value.member_epoch == 2
    slow.advance(slow.config.kawal_rebalance_interval_ms)
    done(slow)
    assert [sum(map(len, group_of(slow).target_of(name).values())) for name in "ab"] == [2, 2]
    assert group_of(slow).target_epoch == group_of(slow).epoch


def test_a_large_target_is_stored_some_members_at_a_time(
    slow: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConsumerTarget, "AT_ONCE", 1)
    slow.create_topic("wide", 10)
    for number in range(5):
        slow.join_consumer("g", f"m{number}", "wide")
    done(slow)
    slow.advance(slow.config.kawal_rebalance_interval_ms)
    slow.threads.do_work()
    stored = []
    for _ in range(5):
        slow.advance(1)
        group = group_of(slow)
        stored.append((len([name for name in group.target if group.target[name]]), group.target_epoch))
    assert stored == [(2, 2), (3, 2), (4, 2), (5, 2), (5, 6)]


def test_a_target_whose_cause_was_not_stored_is_void(slow: Driver) -> None:
    slow.hold = True
    answer = slow.join_consumer("g", "a", "t")
    slow.fail()
    assert answer.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    slow.hold = False
    done(slow)
    assert slow.coordinator._context.consumer("g") is None
    assert join_slowly(slow, "a")[0].value.error_code == ErrorCode.NONE


def test_a_part_of_a_target_that_is_lost_makes_it_void_and_it_is_computed_again(
    slow: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConsumerTarget, "AT_ONCE", 1)
    answers = join_slowly(slow, "a", "b")
    slow.advance(slow.config.kawal_rebalance_interval_ms)
    slow.threads.do_work()
    slow.hold = True
    slow.coordinator.tick(slow.now_ms)
    slow.flush()
    slow.fail()
    slow.hold = False
    for _ in range(4):
        slow.advance(slow.config.kawal_rebalance_interval_ms)
        slow.threads.do_work()
    group = group_of(slow)
    assert group.target_epoch == group.epoch
    assert [sum(map(len, group.target_of(name).values())) for name in "ab"] == [2, 2]
    assert given(answers[0]) == [0, 1, 2, 3]


def test_a_static_member_that_comes_back_meanwhile_is_part_of_the_next_target(slow: Driver) -> None:
    [answer] = join_slowly(slow, "a", instance_id="one")
    slow.beat("g", "a", -2, instance_id="one")
    slow.join_consumer("g", "b", "t")
    slow.advance(slow.config.kawal_rebalance_interval_ms)
    slow.join_consumer("g", "again", "t", instance_id="one")
    for _ in range(3):
        done(slow)
        slow.advance(slow.config.kawal_rebalance_interval_ms)
    group = group_of(slow)
    assert set(group.target) == {"again", "b"}
    assert group.target_epoch == group.epoch
    places = [index for target in group.target.values() for indexes in target.values() for index in indexes]
    assert sorted(places) == [0, 1, 2, 3]
    assert answer.value.error_code == ErrorCode.NONE


def test_whoever_waits_for_a_target_is_told_when_the_partition_is_unloaded(slow: Driver) -> None:
    answer = slow.join_consumer("g", "a", "t")
    slow.coordinator.unload(range(5), slow.now_ms)
    assert answer.value.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    slow.coordinator.loaded(range(5), slow.now_ms)
    done(slow)
    assert join_slowly(slow, "a")[0].value.error_code == ErrorCode.NONE


def test_a_member_that_is_removed_while_it_waits_is_told(slow: Driver) -> None:
    answer = slow.join_consumer("g", "a", "t")
    slow.beat("g", "a", -1)
    done(slow)
    assert answer.value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_error_in_the_thread_is_an_error_of_the_group(
    slow: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = slow.join_consumer("g", "a", "t")
    monkeypatch.setattr("groups.assignment_task.assign", lambda *_: 1 // 0)
    slow.threads.do_work()
    slow.coordinator.tick(slow.now_ms)
    [failed] = slow.coordinator.take_internal_errors()
    assert isinstance(failed.error, ZeroDivisionError)
    assert failed.group_id == "g"
    assert answer.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_after_a_first_target_that_became_void_the_next_is_computed_at_once(slow: Driver) -> None:
    slow.hold = True
    lost = slow.join_consumer("g", "a", "t")
    slow.fail()
    slow.hold = False
    waiting = slow.join_consumer("g", "b", "t")
    done(slow)
    later = slow.join_consumer("g", "b", "t")
    done(slow)
    assert lost.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    for answer in (waiting, later):
        assert answer.value.error_code or answer.value.member_epoch > 0


def test_members_that_have_an_epoch_do_not_wait(slow: Driver) -> None:
    join_slowly(slow, "a")
    slow.advance(slow.config.kawal_rebalance_interval_ms)
    newcomer = slow.join_consumer("g", "b", "t")
    assert newcomer.waits
    assert slow.beat("g", "a", 2).value.member_epoch == 2
    assert slow.join_consumer("g", "c", "t").value.member_epoch == 2
    done(slow)
    assert newcomer.value.member_epoch == 3


@pytest.fixture
def many(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Return a coordinator for which three names are very many: a thread looks their topics up."""
    for module in (assignment_task, consumer_target):
        monkeypatch.setattr(module, "NAMES_AT_ONCE", 2)
    driver.coordinator._context.weight_max = 0
    for name in ("u", "v"):
        driver.create_topic(name)
    driver.advance(1_000)
    return driver


def test_the_hash_of_very_many_topics_is_stored_with_their_target(many: Driver) -> None:
    context = many.coordinator._context
    many.threads.hold = True
    many.join_consumer("g", "a", "t", "u", "v")
    assert group_of(many).metadata_hash == NOT_ASSIGNED_HERE
    many.threads.do_work()
    many.advance(0)
    group = group_of(many)
    assert group.metadata_hash == metadata_hash(context, frozenset({"t", "u", "v"}))
    assert (group.epoch, group.target_epoch) == (2, 2)
    many.restart()
    assert group_of(many).metadata_hash == group.metadata_hash


def test_a_heartbeat_does_not_count_a_change_while_the_target_of_very_many_topics_is_made(
    many: Driver,
) -> None:
    many.join_consumer("g", "a", "t", "u", "v")
    many.advance(0)
    many.threads.hold = True
    many.beat("g", "a", epoch_of(many, "a"), topics=["t", "u", "v", "w"])
    many.advance(1_000)
    many.beat("g", "a", epoch_of(many, "a"))
    assert group_of(many).epoch == 3


@pytest.mark.parametrize("change", ["created", "grown", "deleted"])
def test_a_topic_that_changes_while_a_thread_looks_very_many_up_is_assigned(
    many: Driver, change: str
) -> None:
    context = many.coordinator._context
    offloaded: list[tuple[Work, WorkDone]] = []
    context.offload = lambda work, done: offloaded.append((work, done))
    many.join_consumer("g", "a", "t", "u", "v", "w")
    ((work, done),) = offloaded
    work()
    if change == "created":
        many.create_topic("w", 3)
    elif change == "grown":
        many.grow_topic("t", 9)
    else:
        many.delete_topic("u")
    # The group is told of the change before what the thread has done is seen.
    many.advance(1_000)
    context.offload = many.threads.offload
    done(None)
    many.advance(2_000)
    many.beat("g", "a", epoch_of(many, "a"))
    many.advance(0)
    assert len(held(many, "a")) == {"created": 15, "grown": 17, "deleted": 8}[change]


def test_a_group_of_very_many_topics_follows_those_that_change_later_and_no_others(many: Driver) -> None:
    many.join_consumer("g", "a", "t", "u", "v")
    many.advance(2_000)
    many.create_topic("other")
    many.advance(2_000)
    assert group_of(many).epoch == 2
    many.grow_topic("v", 6)
    many.advance(2_000)
    assert group_of(many).epoch == 3
    many.beat("g", "a", epoch_of(many, "a"))
    many.advance(0)
    assert len(held(many, "a")) == 14


def test_names_of_very_many_topics_that_are_not_there_make_no_epoch_after_the_first(many: Driver) -> None:
    many.join_consumer("g", "a", "x", "y", "z")
    many.advance(2_000)
    many.beat("g", "a", epoch_of(many, "a"))
    assert (group_of(many).epoch, group_of(many).metadata_hash) == (2, NOT_ASSIGNED_HERE)
    many.create_topic("x")
    many.advance(2_000)
    many.beat("g", "a", epoch_of(many, "a"))
    many.advance(0)
    assert len(held(many, "a")) == 4
    assert group_of(many).metadata_hash != NOT_ASSIGNED_HERE
