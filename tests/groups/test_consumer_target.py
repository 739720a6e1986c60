"""Tests of groups/consumer_target.py: the causes of a new epoch, and the time of its assignment."""

from __future__ import annotations

from groups.config import GroupSettings
from groups.consumer_target import metadata_hash
from tests.groups.consumers import epoch_of, group_of, held
from tests.groups.driver import Driver
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
