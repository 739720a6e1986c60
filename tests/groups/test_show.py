"""Tests of groups/show.py."""

from __future__ import annotations

import pytest

from groups.show import LOST_SHOWN_MS
from tests.groups.classic import one_member
from tests.groups.consumers import settle
from tests.groups.driver import WALL_MS, Driver


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.create_topic("t", 2)
    return driver


def rows(driver: Driver) -> list[tuple[str, str]]:
    return [(row.consumer_id, row.status) for row in driver.coordinator.consumers(driver.now_ms)]


# --- SHOW CONSUMERS -----------------------------------------------------------------------------------------


def test_a_classic_member_is_shown_with_its_times(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.advance(5_000)
    driver.heartbeat("g", member_id, 1)
    [row] = driver.coordinator.consumers(driver.now_ms)
    assert (row.group_id, row.consumer_id, row.status) == ("g", member_id, "ready")
    assert (row.client_id, row.host, row.user, row.topics) == ("app", "/127.0.0.1", "ANONYMOUS", ("t",))
    assert (row.subscribe_ms, row.rebalance_ms) == (WALL_MS, WALL_MS + 3_000)
    assert (row.poll_ms, row.idle_ms) == (WALL_MS, 8_000)
    assert row.parameters == "protocol:classic,assignor:range,session:10000ms,rebalance:20000ms"


def test_a_commit_ends_its_idleness_and_a_heartbeat_does_not(driver: Driver) -> None:
    member_id = one_member(driver)
    driver.advance(5_000)
    driver.heartbeat("g", member_id, 1)
    assert driver.coordinator.consumers(driver.now_ms)[0].idle_ms == 8_000
    driver.commit("g", {("t", 0): 5}, member_id=member_id, generation=1)
    assert driver.coordinator.consumers(driver.now_ms)[0].idle_ms == 0


def test_a_member_of_the_consumer_protocol_is_shown_with_its_epoch(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.commit("g", {("t", 0): 5}, member_id="a", generation=2)
    [row] = driver.coordinator.consumers(driver.now_ms)
    assert (row.consumer_id, row.status, row.topics) == ("a", "ready", ("t",))
    assert row.parameters == "protocol:consumer,assignor:tdengine,epoch:2,rebalance:30000ms"


def test_members_of_a_group_that_is_being_divided_anew_are_rebalancing(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.join_consumer("g", "b", "t")
    assert rows(driver) == [("a", "rebalancing"), ("b", "rebalancing")]
    settle(driver, "a", "b")
    assert rows(driver) == [("a", "ready"), ("b", "ready")]


def test_members_that_vanish_are_shown_as_lost_for_a_while(driver: Driver) -> None:
    member_id = one_member(driver, "classic")
    driver.join_consumer("consumer", "a", "t")
    driver.advance(12_000)
    shown = {row.consumer_id: row for row in driver.coordinator.consumers(driver.now_ms)}
    assert set(shown) == {member_id, "a"}
    assert {row.status for row in shown.values()} == {"lost"}
    assert shown["a"].parameters == "reason:its session timed out"
    assert shown["a"].topics == ("t",)
    driver.advance(LOST_SHOWN_MS + 1)
    assert rows(driver) == []


def test_a_static_member_that_went_away_is_lost_until_it_comes_back(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t", instance_id="i")
    driver.beat("g", "a", -2, instance_id="i")
    assert rows(driver) == [("a", "lost")]
    driver.join_consumer("g", "b", "t", instance_id="i")
    assert rows(driver) == [("b", "ready")]


def test_members_that_leave_are_not_lost(driver: Driver) -> None:
    driver.leave("g", (one_member(driver), None))
    driver.join_consumer("h", "a", "t")
    driver.beat("h", "a", -1)
    assert rows(driver) == []


def test_only_some_lost_members_are_remembered(driver: Driver) -> None:
    for number in range(300):
        driver.join_consumer(f"g{number}", "a", "t")
    driver.advance(12_000)
    assert len(rows(driver)) == 256


# --- SHOW SUBSCRIPTIONS -------------------------------------------------------------------------------------


def test_every_partition_of_a_subscription_has_a_row(driver: Driver) -> None:
    member_id = one_member(driver, "classic")
    driver.commit("classic", {("t", 1): 5}, member_id=member_id, generation=1)
    driver.commit("classic", {("t", 1): 8}, member_id=member_id, generation=1)
    found = list(driver.coordinator.subscriptions(driver.now_ms))
    assert [(row.topic, row.group_id, row.partition) for row in found] == [
        ("t", "classic", 0),
        ("t", "classic", 1),
    ]
    assert [(row.consumer_id, row.offset, row.rows) for row in found] == [
        (member_id, None, 0),
        (member_id, 8, 3),
    ]
    assert {(row.client_id, row.host, row.user) for row in found} == {("app", "/127.0.0.1", "ANONYMOUS")}


def test_partitions_of_a_consumer_group_show_who_has_them(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.join_consumer("g", "b", "t")
    settle(driver, "a", "b")
    found = list(driver.coordinator.subscriptions(driver.now_ms))
    assert {row.consumer_id for row in found} == {"a", "b"}


def test_progress_without_a_consumer_is_shown_too(driver: Driver) -> None:
    driver.commit("g", {("t", 0): 5})
    found = list(driver.coordinator.subscriptions(driver.now_ms))
    assert [(row.consumer_id, row.offset) for row in found] == [(None, 5), (None, None)]


def test_only_the_groups_that_are_asked_for_are_shown(driver: Driver) -> None:
    driver.commit("idle", {("t", 0): 5})
    driver.join_consumer("g", "a", "t")
    assert driver.coordinator.group_ids() == ["g", "idle"]
    assert {row.group_id for row in driver.coordinator.subscriptions(driver.now_ms, ["idle"])} == {"idle"}
    assert driver.coordinator.consumers(driver.now_ms, ["idle", "unknown"]) == []


def test_a_lost_member_is_shown_with_its_group_only(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.advance(12_000)
    assert driver.coordinator.group_ids() == ["g"]
    assert [row.status for row in driver.coordinator.consumers(driver.now_ms, ["g"])] == ["lost"]
    assert driver.coordinator.consumers(driver.now_ms, ["h"]) == []


def test_topics_that_are_gone_have_no_rows(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t", "nothing")
    driver.delete_topic("t")
    assert list(driver.coordinator.subscriptions(driver.now_ms)) == []


# --- counts and subscribers ---------------------------------------------------------------------------------


def test_groups_members_and_offsets_are_counted(driver: Driver) -> None:
    member_id = one_member(driver, "classic")
    driver.commit("classic", {("t", 0): 5, ("t", 1): 5}, member_id=member_id, generation=1)
    driver.join_consumer("consumer", "a", "t")
    found = driver.coordinator.counts()
    assert (found["offsets"], found["members"], found["rebalances"]) == (2, 2, 2)
    assert (found["classic:Stable"], found["consumer:Stable"]) == (1, 1)


def test_groups_that_subscribe_to_a_topic_are_named(driver: Driver) -> None:
    one_member(driver, "classic")
    driver.join_consumer("consumer", "a", "t")
    driver.commit("simple", {("t", 0): 5})
    assert sorted(driver.coordinator.subscribers("t")) == ["classic", "consumer"]
    assert driver.coordinator.subscribers("u") == []


def test_progress_is_shown_without_a_look_at_the_members_assignments(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metrics ask for it, and a group may have 10,000 members."""
    member_id = one_member(driver)
    driver.commit("g", {("t", 1): 5}, member_id=member_id, generation=1)
    shown = list(driver.coordinator.subscriptions(driver.now_ms, ["g"]))
    monkeypatch.setattr("groups.show._owners", None)
    progress = list(driver.coordinator.progress("g", driver.now_ms))
    assert [(row.partition, row.offset, row.consumer_id) for row in progress] == [
        (0, None, None),
        (1, 5, None),
    ]
    assert [row.consumer_id is None for row in shown] == [False, False]
