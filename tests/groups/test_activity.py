"""Tests of groups/activity.py: the times of members' actions."""

from __future__ import annotations

from groups.activity import Activity
from tests.groups.classic import group_of as classic_group_of
from tests.groups.classic import one_member
from tests.groups.consumers import group_of
from tests.groups.driver import WALL_MS, Driver


def test_at_first_nothing_has_happened() -> None:
    assert Activity() == Activity(
        user="", joined_ms=0, subscribed_ms=0, rebalanced_ms=0, polled_ms=0, heartbeat_ms=0
    )


def test_a_consumers_beats_and_polls_are_told_apart(driver: Driver) -> None:
    driver.advance(1_000)
    driver.join_consumer("g", "a", "t")
    driver.advance(5_000)
    driver.beat("g", "a", 2)
    found = group_of(driver).activity["a"]
    assert (found.joined_ms, found.subscribed_ms, found.polled_ms, found.rebalanced_ms) == (
        WALL_MS + 1_000,
        WALL_MS + 1_000,
        WALL_MS + 1_000,
        WALL_MS + 1_000,
    )
    assert found.heartbeat_ms == WALL_MS + 6_000


def test_a_restart_forgets_what_members_did(driver: Driver) -> None:
    member_id = one_member(driver)
    assert classic_group_of(driver).members[member_id].activity.joined_ms > 0
    driver.restart()
    assert classic_group_of(driver).members[member_id].activity.joined_ms == 0
