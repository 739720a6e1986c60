"""Tests of groups/share/topic_removal.py."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.share import topic_removal
from groups.share.state_records import ShareKey
from groups.share.topic_removal import DROPPED_AT_ONCE, GATHER_MS
from tests.groups.share.driver import TOPIC_ID, Driver

WIDE = 3 * DROPPED_AT_ONCE + 1


def delete(driver: Driver) -> None:
    del driver.topics.by_id[TOPIC_ID], driver.topics.by_name["jobs"]
    driver.machine.topics_changed(driver.now_ms, created=(), deleted=("jobs",), grown=())
    driver.pump()


def wide() -> Driver:
    driver = Driver()
    for index in range(WIDE):
        driver.initialize(key=ShareKey("g", TOPIC_ID, index))
    return driver


def test_many_share_partitions_of_a_deleted_topic_are_forgotten_some_at_a_time() -> None:
    driver = wide()
    delete(driver)
    assert len(driver.machine.table.shares) == WIDE - DROPPED_AT_ONCE
    driver.advance(1)
    assert len(driver.machine.table.shares) == WIDE - 2 * DROPPED_AT_ONCE
    driver.advance(10)
    assert not driver.machine.table.shares
    driver.restart()
    assert not driver.machine.table.shares


def test_a_crash_in_between_leaves_none() -> None:
    driver = wide()
    delete(driver)
    driver.restart()
    assert not driver.machine.table.shares


def test_others_are_not_touched() -> None:
    driver = wide()
    driver.topics.add("mails", UUID(int=2))
    driver.initialize(key=ShareKey("g", UUID(int=2), 0))
    delete(driver)
    driver.advance(10)
    assert list(driver.machine.table.shares) == [ShareKey("g", UUID(int=2), 0)]


def test_where_it_takes_longer_to_look_deletions_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_removal, "TOPICS_AT_ONCE", 0)
    driver = Driver()
    driver.initialize()
    delete(driver)
    driver.advance(GATHER_MS - 1)
    assert driver.machine.table.shares
    driver.advance(1)
    assert not driver.machine.table.shares
