"""The partitions that a client's members have, in groups of both protocols."""

from __future__ import annotations

import pytest

from groups import fetchers
from groups.fetchers import Memberships
from groups.topics import Client
from tests.groups.classic import one_member
from tests.groups.consumers import held, settle
from tests.groups.driver import Driver

APP = Client(version=1, client_id="app", host="/127.0.0.1")


def test_members_of_the_consumer_protocol_have_what_they_are_assigned_or_give_up() -> None:
    driver = Driver()
    topic = driver.create_topic("t", 2)
    driver.join_consumer("g", "a", "t")
    settle(driver, "a")
    assert driver.coordinator.fetched_by(APP) == {"g": {(topic.topic_id, 0), (topic.topic_id, 1)}}
    before = driver.coordinator.membership_changes
    driver.join_consumer("g", "b", "t")
    assert driver.coordinator.membership_changes > before
    settle(driver, "a", "b")
    # Both are the same client.
    assert (held(driver, "a"), held(driver, "b")) in (([0], [1]), ([1], [0]))
    assert len(driver.coordinator.fetched_by(APP, ["g"])["g"]) == 2
    other = APP._replace(host="/10.0.0.1"), APP._replace(client_id="kgo")
    assert [driver.coordinator.fetched_by(client) for client in other] == [{}, {}]
    assert driver.coordinator.fetched_by(APP, ["h"]) == {}


def test_a_classic_member_has_what_its_leader_gave_it() -> None:
    driver = Driver()
    topic = driver.create_topic("t", 2)
    before = driver.coordinator.membership_changes
    member_id = one_member(driver)
    assert driver.coordinator.membership_changes > before
    found = driver.coordinator.fetched_by(APP)["g"]
    assert {(topic.topic_id, 0), (topic.topic_id, 1)} <= found
    driver.leave("g", (member_id, None))
    assert driver.coordinator.fetched_by(APP) == {}
    assert driver.coordinator.is_known("g")


KEY = APP.host, APP.client_id


def members_of(driver: Driver, *keys: tuple[str, str], groups: tuple[str, ...] | None = None) -> Memberships:
    steps = driver.coordinator.memberships(set(keys), groups)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Memberships = end.value
            return found


def test_memberships_are_told_for_several_clients_also_without_partitions() -> None:
    driver = Driver()
    topic = driver.create_topic("t", 1)
    driver.join_consumer("g", "a", "t")
    driver.join_consumer("idle", "b", "missing")
    settle(driver, "a")
    assert members_of(driver, KEY, ("/10.0.0.1", "app")) == {KEY: {"g": {(topic.topic_id, 0)}, "idle": set()}}
    assert members_of(driver, KEY, groups=("idle", "unknown")) == {KEY: {"idle": set()}}
    assert members_of(driver) == {}


def test_a_classic_members_groups_are_told_too() -> None:
    driver = Driver()
    topic = driver.create_topic("t", 2)
    member_id = one_member(driver)
    assert {(topic.topic_id, 0), (topic.topic_id, 1)} <= members_of(driver, KEY)[KEY]["g"]
    driver.leave("g", (member_id, None))
    assert members_of(driver, KEY) == {}


def test_very_many_members_are_looked_at_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetchers, "MEMBERS_PER_STEP", 2)
    driver = Driver()
    driver.create_topic("t", 1)
    for member in "abcde":
        driver.join_consumer("g", member, "t")
    assert len(list(driver.coordinator.memberships({KEY}))) == 2


def test_rounds_change_with_the_members_of_the_groups_alone() -> None:
    driver = Driver()
    driver.create_topic("t", 2)
    assert driver.coordinator.rounds(["g", "h"]) == ()
    driver.join_consumer("g", "a", "t")
    first = driver.coordinator.rounds(["g", "h"])
    driver.join_consumer("other", "b", "t")
    assert driver.coordinator.rounds(["g", "h"]) == first
    driver.join_consumer("g", "c", "t")
    second = driver.coordinator.rounds(["g", "h"])
    assert second != first
