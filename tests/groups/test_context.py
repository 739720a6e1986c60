"""Tests of groups/context.py: the state that all handlers share."""

from __future__ import annotations

import pytest

from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.errors import NotLoaded
from groups.record_keys import GroupEpoch, GroupEpochKey, TargetEpoch, TargetEpochKey
from protocol.error_codes import ErrorCode
from tests.groups.classic import new_id
from tests.groups.driver import WALL_MS, Driver


def test_the_time_of_day_is_that_of_the_step_that_runs(driver: Driver) -> None:
    context = driver.coordinator._context
    context.now_ms = 7
    assert context.wall_ms == WALL_MS + 7
    driver.wall_offset_ms -= 1_000
    assert context.wall_ms == WALL_MS - 993


def test_groups_of_a_partition_that_is_not_loaded_are_refused(driver: Driver) -> None:
    context = driver.coordinator._context
    context.check_loaded("g")
    context.loaded.remove(context.partition("g"))
    with pytest.raises(NotLoaded):
        context.check_loaded("g")


def test_a_group_exists_with_members_or_with_offsets_alone(driver: Driver) -> None:
    context = driver.coordinator._context
    driver.commit("progress", {("t", 0): 1})
    new_id(driver, "pending")
    assert [context.exists(name) for name in ("progress", "pending", "nothing")] == [True, True, False]
    assert "progress" not in context.groups


def test_a_group_is_of_one_kind(driver: Driver) -> None:
    context = driver.coordinator._context
    context.put_group("old", ClassicGroup("old"))
    context.put_group("new", ConsumerGroup("new"))
    assert (context.classic("old") is not None, context.consumer("old")) == (True, None)
    assert (context.classic("new"), context.consumer("new") is not None) == (None, True)


def test_a_consumer_group_begins_with_its_first_record_and_ends_with_the_last_tombstone(
    driver: Driver,
) -> None:
    context = driver.coordinator._context
    assert context.replay(GroupEpochKey("g"), None) is None
    context.replay(TargetEpochKey("g"), TargetEpoch(3, 0))
    context.replay(GroupEpochKey("g"), GroupEpoch(3, 0))
    assert context.consumer("g") is not None
    context.replay(TargetEpochKey("g"), None)
    undo = context.replay(GroupEpochKey("g"), None)
    assert "g" not in context.groups
    assert undo is not None
    undo()
    group = context.consumer("g")
    assert group is not None
    assert group.epoch == 3


def test_whoever_waits_in_a_group_that_is_undone_is_told(driver: Driver) -> None:
    context = driver.coordinator._context
    undo = context.put_group("g", ClassicGroup("g"))
    member_id = new_id(driver)
    waiting = driver.join("g", member_id)
    assert waiting.waits
    undo()
    assert waiting.error == ErrorCode.NOT_COORDINATOR
    assert "g" not in context.groups


def test_ids_of_topics_that_do_not_exist_are_left_out(driver: Driver) -> None:
    topic = driver.topics.by_name["t"]
    assert driver.coordinator._context.topic_ids(["t", "u"]) == {topic.topic_id}
