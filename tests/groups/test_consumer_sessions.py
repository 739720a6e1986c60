"""Tests of groups/consumer_sessions.py: members over time."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.groups.consumers import epoch_of, group_of, held, settle, two_members
from tests.groups.driver import Driver
from tests.groups.kit import given


def test_a_silent_member_is_removed_after_its_session(driver: Driver) -> None:
    two_members(driver)
    driver.advance(11_999)
    driver.beat("g", "b", epoch_of(driver, "b"))
    assert "a" in group_of(driver).metadata
    driver.advance(1)
    assert list(group_of(driver).metadata) == ["b"]
    assert driver.beat("g", "a", 3).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_its_partitions_go_to_the_others(driver: Driver) -> None:
    two_members(driver)
    for _ in range(3):
        driver.advance(4_000)
        answer = driver.beat("g", "b", epoch_of(driver, "b"))
    assert given(answer) == [0, 1, 2, 3]


def test_a_beat_keeps_the_member(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    for _ in range(10):
        driver.advance(11_999)
        assert driver.beat("g", "a", 2).error == ErrorCode.NONE


def test_a_refused_beat_does_not_keep_it(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.advance(11_000)
    driver.beat("g", "a", 9)
    driver.advance(1_000)
    assert group_of(driver).metadata == {}


def test_sessions_begin_anew_after_a_restart(driver: Driver) -> None:
    two_members(driver)
    driver.advance(11_000)
    driver.restart()
    driver.advance(11_999)
    assert set(group_of(driver).metadata) == {"a", "b"}
    driver.advance(1)
    assert group_of(driver).metadata == {}


def test_whoever_does_not_give_partitions_up_in_time_is_removed(driver: Driver) -> None:
    topic = driver.topics.by_name["t"]
    driver.join_consumer("g", "a", "t", rebalance_ms=10_000)
    driver.join_consumer("g", "b", "t")
    driver.advance(2_000)
    everything = {topic.topic_id: [0, 1, 2, 3]}
    driver.beat("g", "a", 2, owned=everything)
    for _ in range(4):
        driver.advance(2_499)
        driver.beat("g", "a", 2, owned=everything)
        driver.beat("g", "b", epoch_of(driver, "b"))
    assert "a" in group_of(driver).metadata
    driver.advance(4)
    assert list(group_of(driver).metadata) == ["b"]
    [lost] = [row for row in driver.coordinator.consumers(driver.now_ms) if row.status == "lost"]
    assert "rebalance timeout" in lost.parameters


def test_whoever_does_so_is_not(driver: Driver) -> None:
    topic = driver.topics.by_name["t"]
    driver.join_consumer("g", "a", "t", rebalance_ms=3_000)
    driver.join_consumer("g", "b", "t")
    driver.advance(2_000)
    driver.beat("g", "a", 2)
    driver.beat("g", "a", 2, owned={topic.topic_id: [0, 1]})
    driver.advance(9_000)
    assert "a" in group_of(driver).metadata


def test_a_revocation_under_way_at_a_restart_has_its_limit_again(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t", rebalance_ms=5_000)
    driver.join_consumer("g", "b", "t")
    driver.advance(2_000)
    driver.beat("g", "a", 2)
    driver.restart()
    driver.advance(5_000)
    assert list(group_of(driver).metadata) == ["b"]


def test_members_that_stand_by_take_over(driver: Driver) -> None:
    driver.create_topic("narrow", 2)
    for name in "abc":
        driver.join_consumer("g", name, "narrow")
    settle(driver, *"abc")
    [idle] = [name for name in "abc" if not held(driver, name)]
    [first, second] = [name for name in "abc" if name != idle]
    lost = held(driver, first)
    driver.beat("g", first, -1)
    settle(driver, second, idle)
    assert held(driver, idle) == lost


def test_the_last_member_leaves_an_empty_group_that_keeps_counting(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.beat("g", "a", -1)
    group = group_of(driver)
    assert (group.metadata, group.owners, group.epoch) == ({}, {}, 3)
    answer = driver.join_consumer("g", "b", "t")
    assert answer.value.member_epoch == 4
    assert given(answer) == [0, 1, 2, 3]
