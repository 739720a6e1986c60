"""The members of a client, and the partitions that they have, in groups of both protocols."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from groups import fetchers
from groups.fetchers import by_name
from protocol.consumer_protocol import ConsumerProtocolAssignment, TopicPartition, encode_assignment
from tests.groups.classic import ALL, join_waiting, one_member
from tests.groups.consumers import held, settle
from tests.groups.driver import Driver

APP = "/127.0.0.1", "app"


def partitions(driver: Driver, group_id: str, member_id: str) -> list[dict[Any, set[int]]]:
    """Return what a member has, by topic, in each of its parts."""
    found = driver.coordinator.held(group_id, member_id)
    parts = by_name(found) if isinstance(found, bytes) else found
    return [{topic: set(indexes) for topic, indexes in part.items()} for part in parts]


def members(driver: Driver) -> list[tuple[str, str]]:
    return list(driver.coordinator.clients.members_of(APP))


def test_members_of_the_consumer_protocol_have_what_they_are_assigned_and_give_up() -> None:
    driver = Driver()
    topic = driver.create_topic("t", 2)
    driver.join_consumer("g", "a", "t")
    settle(driver, "a")
    assert members(driver) == [("g", "a")]
    assert partitions(driver, "g", "a") == [{topic.topic_id: {0, 1}}, {}]
    driver.join_consumer("g", "b", "t")
    driver.beat("g", "a", 2)
    (kept,), (given_up,) = (part[topic.topic_id] for part in partitions(driver, "g", "a"))
    settle(driver, "a", "b")
    assert (held(driver, "a"), held(driver, "b")) == ([kept], [given_up])
    assert partitions(driver, "g", "b") == [{topic.topic_id: {given_up}}, {}]
    assert partitions(driver, "g", "unknown") == [{}, {}]


def test_a_classic_member_has_what_its_leader_gave_it() -> None:
    driver = Driver()
    driver.create_topic("t", 2)
    member_id = one_member(driver)
    assert members(driver) == [("g", member_id)]
    (found,) = partitions(driver, "g", member_id)
    assert found["t"] >= {0, 1}
    driver.leave("g", (member_id, None))
    assert members(driver) == []
    assert partitions(driver, "g", member_id) == partitions(driver, "no group", "a") == [{}]
    assert driver.coordinator.are_known(["g"])


def test_a_change_of_any_member_is_one_of_its_client() -> None:
    driver = Driver()
    driver.create_topic("t", 2)
    driver.checks_memory = False  # that follows the client, too
    clients = driver.coordinator.clients
    clients.watch(APP)
    driver.join_consumer("g", "a", "t")
    assert clients.take(APP) == {("g", "a")}
    driver.join_consumer("g", "b", "t")
    assert clients.take(APP) == {("g", "b")}, "the first one has as much as before"
    settle(driver, "a", "b")
    assert clients.take(APP) == {("g", "a"), ("g", "b")}
    driver.beat("g", "b", -1)
    assert clients.take(APP) == {("g", "b")}


def test_a_classic_member_changes_when_it_joins_gets_its_assignment_and_leaves() -> None:
    driver = Driver("t")
    driver.checks_memory = False  # that follows the client, too
    clients = driver.coordinator.clients
    clients.watch(APP)
    member_id, _ = join_waiting(driver)
    driver.advance(driver.config.group_initial_rebalance_delay_ms)
    assert clients.take(APP) == {("g", member_id)}
    driver.sync_group("g", member_id, 1, {member_id: ALL})
    assert clients.take(APP) == {("g", member_id)}
    driver.heartbeat("g", member_id, 1)
    assert not clients.has_changed(APP)
    driver.leave("g", (member_id, None))
    assert clients.take(APP) == {("g", member_id)}


def test_an_assignment_that_names_a_topic_twice_gives_all_of_it() -> None:
    topics = [
        TopicPartition(topic=name, partitions=indexes)
        for name, indexes in (("t", [1, 2]), ("u", [0]), ("t", [2, 3]))
    ]
    blob = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=topics))
    assert by_name(blob) == ({"t": {1, 2, 3}, "u": {0}},)
    assert by_name(blob[:-9]) == (), "it cannot be read"


def rounds(driver: Driver, *group_ids: str) -> tuple[tuple[str, int, int], ...]:
    steps: Generator[None, None, Any] = driver.coordinator.rounds(group_ids)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: tuple[tuple[str, int, int], ...] = end.value
            return found


def test_rounds_change_with_the_members_of_the_groups_alone() -> None:
    driver = Driver()
    driver.create_topic("t", 2)
    assert rounds(driver, "g", "h") == ()
    driver.join_consumer("g", "a", "t")
    one_member(driver, "h")
    first = rounds(driver, "g", "h")
    assert [group_id for group_id, _, _ in first] == ["g", "h"]
    driver.join_consumer("other", "b", "t")
    assert rounds(driver, "g", "h") == first
    driver.join_consumer("g", "c", "t")
    assert rounds(driver, "g", "h") != first


def test_the_rounds_of_very_many_groups_are_told_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetchers, "GROUPS_PER_STEP", 2)
    driver = Driver("t")
    for group_id in "abcde":
        driver.join_consumer(group_id, "m", "t")
    assert len(list(driver.coordinator.rounds("abcde"))) == 3
    assert len(rounds(driver, *"abcde")) == 5
