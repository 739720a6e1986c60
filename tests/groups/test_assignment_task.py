"""Tests of groups/assignment_task.py."""

from __future__ import annotations

from groups.assignment_task import assignment_task
from groups.assignors import assign
from groups.offload import MEMBER_WEIGHT
from groups.subscriber import Subscriber
from tests.groups.consumers import group_of
from tests.groups.driver import Driver


def test_it_is_the_assignment_of_what_members_want(driver: Driver) -> None:
    driver.create_topic("u", 3)
    driver.join_consumer("g", "a", "t", "nothing")
    driver.join_consumer("g", "b", "t", "u", instance_id="static")
    topics = {name: topic.topic_id for name, topic in driver.topics.by_name.items()}
    found = assignment_task("range", group_of(driver), driver.topics).run()
    assert found == assign(
        "range",
        [
            Subscriber(member_id="a", topics=frozenset([topics["t"]]), had=group_of(driver).target_of("a")),
            Subscriber(member_id="b", topics=frozenset(topics.values()), instance_id="static"),
        ],
        {topics["t"]: 4, topics["u"]: 3},
    )


def test_regular_expressions_stand_for_their_topics(driver: Driver) -> None:
    driver.create_topic("tt", 2)
    driver.beat("g", "a", 0, regex="t+", owned={}, rebalance_ms=1_000)
    found = assignment_task("uniform", group_of(driver), driver.topics).run()
    assert sum(map(len, found["a"].values())) == 6


def test_its_weight_counts_partitions_members_and_what_each_of_them_wants(driver: Driver) -> None:
    driver.create_topic("u", 1_000)
    driver.join_consumer("g", "a", "t", "u")
    driver.join_consumer("g", "b", "t", "u")
    task = assignment_task("uniform", group_of(driver), driver.topics)
    assert task.weight == 4 + 1_000 + 2 * (MEMBER_WEIGHT + 2)


def test_it_does_not_change_with_the_group(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    task = assignment_task("uniform", group_of(driver), driver.topics)
    driver.grow_topic("t", 8)
    driver.join_consumer("g", "b", "t")
    assert sum(map(len, task.run()["a"].values())) == 4
