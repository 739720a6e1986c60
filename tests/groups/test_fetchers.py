"""The partitions that a client's members have, in groups of both protocols."""

from __future__ import annotations

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
