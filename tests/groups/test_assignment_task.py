"""Tests of groups/assignment_task.py."""

from __future__ import annotations

from typing import Any

import pytest

from groups.assignment import Assignment
from groups.assignment_task import assignment_task
from groups.assignors import assign
from groups.offload import MEMBER_WEIGHT
from groups.subscriber import Subscriber
from tests.broker.wide_requests import Lines
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


def test_a_group_of_many_members_is_looked_at_without_a_line_of_python_for_each(driver: Driver) -> None:
    members = 200
    for number in range(members):
        driver.join_consumer("g", f"m{number}", "t")
    lines = Lines()
    task = lines.run("making", assignment_task, "uniform", group_of(driver), driver.topics)
    assert len(task.wishes) == members
    lines.run("weighing", lambda: task.weight)
    assert lines.longest.size < members, lines.longest


def test_very_many_names_are_looked_up_by_the_thread_alone(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groups.assignment_task.NAMES_AT_ONCE", 2)
    for name in "uv":
        driver.topics.create(name, 1)
    driver.join_consumer("g", "a", "t", "u", "v", "w")
    task = assignment_task("uniform", group_of(driver), driver.topics)
    assert task.weight == MEMBER_WEIGHT + 4
    driver.topics.create("w", 2)
    assert sum(map(len, task.run()["a"].values())) == 8
    driver.topics.delete("w")
    with_w = task.metadata_hash()
    assert with_w != assignment_task("uniform", group_of(driver), driver.topics).metadata_hash()


class NotAsked(dict[str, Assignment]):
    """Targets that may be copied, and are not asked for one by one."""

    def get(self, *_: object) -> Any:
        """Fail."""
        raise AssertionError("a target was asked for")


def test_what_each_member_had_is_looked_up_where_the_task_is_run(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    group = group_of(driver)
    group.target = NotAsked(group.target)
    task = assignment_task("uniform", group, driver.topics)
    assert task.weight == 4 + 1 + MEMBER_WEIGHT
    assert sum(map(len, task.run()["a"].values())) == 4
