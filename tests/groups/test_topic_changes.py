"""Tests of groups/topic_changes.py."""

from __future__ import annotations

from typing import Any

import pytest

from groups import topic_changes
from groups.context import Context
from tests.groups.consumers import epoch_of, group_of
from tests.groups.driver import Driver
from tests.groups.kit import given


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.create_topic("t", 2)
    driver.join_consumer("g", "a", "t", "later")
    driver.advance(2_000)
    return driver


def test_a_topic_that_grows_is_assigned_anew(driver: Driver) -> None:
    driver.grow_topic("t", 5)
    driver.advance(100)
    assert given(driver.beat("g", "a", 2)) == [0, 1, 2, 3, 4]


def test_a_topic_that_appears_is_assigned(driver: Driver) -> None:
    driver.create_topic("later", 1)
    driver.advance(100)
    assert len(given(driver.beat("g", "a", 2)) or ()) == 3


def test_a_topic_that_is_deleted_is_taken_away(driver: Driver) -> None:
    driver.delete_topic("t")
    driver.advance(100)
    assert given(driver.beat("g", "a", 2, owned={})) == []


def test_a_topic_that_is_made_anew_is_another_one(driver: Driver) -> None:
    old = driver.topics.by_name["t"].topic_id
    driver.delete_topic("t")
    new = driver.create_topic("t", 2)
    driver.advance(100)
    answer = driver.beat("g", "a", 2, owned={old: [0, 1]})
    assert given(answer) == []
    assert list(group_of(driver).assignment("a").revoking) == [old]
    answer = driver.beat("g", "a", epoch_of(driver, "a"), owned={})
    assert answer.value.assignment is not None
    assert [topic.topic_id for topic in answer.value.assignment.topic_partitions] == [new.topic_id]


def test_other_topics_change_nothing(driver: Driver) -> None:
    driver.create_topic("other")
    driver.advance(100)
    assert group_of(driver).epoch == 2


def test_many_changes_make_one_epoch(driver: Driver) -> None:
    for count in range(3, 9):
        driver.grow_topic("t", count)
    driver.advance(100)
    assert group_of(driver).epoch == 3


def test_topics_that_changed_while_the_server_was_down_are_seen_after_it(driver: Driver) -> None:
    driver.topics.by_name["t"].partition_count = 4
    driver.restart()
    assert given(driver.beat("g", "a", 2)) == [0, 1, 2, 3]


def test_a_change_that_could_not_be_stored_is_not_forgotten(driver: Driver) -> None:
    driver.hold = True
    driver.grow_topic("t", 5)
    driver.advance(100)
    driver.fail()
    driver.hold = False
    assert group_of(driver).epoch == 2
    assert given(driver.beat("g", "a", 2)) is None
    driver.advance(3_000)
    assert given(driver.beat("g", "a", 2)) == [0, 1, 2, 3, 4]


def test_a_deletion_of_offsets_that_could_not_be_stored_is_done_later(driver: Driver) -> None:
    driver.commit("simple", {("t", 0): 5, ("t", 1): 6})
    driver.hold = True
    driver.delete_topic("t")
    driver.fail()
    assert driver.committed("simple", "t", 0) is None, "it is out of sight"
    driver.hold = False
    driver.create_topic("t", 2)
    driver.commit("simple", {("t", 1): 7})
    driver.advance(1_000)
    assert driver.committed("simple", "t", 0) is None
    # It was committed in the new topic of that name.
    assert driver.committed("simple", "t", 1) is not None
    driver.restart()
    assert [driver.committed("simple", "t", index) for index in (0, 1)] == [None, 7]


def test_committed_offsets_go_with_their_topic(driver: Driver) -> None:
    driver.commit("simple", {("t", 0): 5, ("t", 1): 6})
    driver.delete_topic("t")
    assert driver.committed("simple", "t", 0) is None
    driver.create_topic("t", 2)
    driver.restart()
    assert driver.committed("simple", "t", 0) is None


def test_so_do_those_that_are_on_their_way(driver: Driver) -> None:
    driver.hold = True
    driver.commit("simple", {("t", 0): 5})
    driver.delete_topic("t")
    driver.sync()
    assert driver.committed("simple", "t", 0) is None


def test_very_many_groups_are_told_some_in_each_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_changes, "GROUPS_PER_TICK", 3)
    driver = Driver("t")
    for number in range(10):
        driver.join_consumer(f"g{number}", "m", "t", "new", "newer")
    driver.advance(10_000)
    epochs = [group_of(driver, f"g{number}").epoch for number in range(10)]
    driver.create_topic("new")
    driver.now_ms += topic_changes.GATHER_MS
    told = []
    for _ in range(4):
        driver.coordinator.tick(driver.now_ms)
        driver.now_ms += 1
        now = [group_of(driver, f"g{number}").epoch for number in range(10)]
        told.append(sum(after > before for before, after in zip(epochs, now, strict=True)))
    assert told == [3, 6, 9, 10]
    driver.create_topic("newer")
    driver.advance(10_000)
    assert all(group_of(driver, f"g{number}").epoch > epochs[number] + 1 for number in range(10))


def test_a_group_of_very_many_topics_is_told_in_a_tick_of_its_own(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_changes, "NAMES_AT_ONCE", 1)
    for name in ("h", "i"):
        driver.join_consumer(name, "a", "t", "later")
    driver.advance(2_000)
    told: list[str] = []
    follow = topic_changes._follow

    def noted(context: Context, group: Any, changed: frozenset[str]) -> None:
        told.append(group.group_id)
        follow(context, group, changed)

    monkeypatch.setattr(topic_changes, "_follow", noted)
    driver.grow_topic("t", 5)
    driver.now_ms += 100
    ticks = []
    for _ in range(4):
        told.clear()
        driver.coordinator.tick(driver.now_ms)
        driver.flush()
        ticks.append(len(told))
        driver.now_ms += 1
    assert ticks == [1, 1, 1, 0]
