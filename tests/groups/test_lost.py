"""Tests of groups/lost.py: consumers that vanished without leaving."""

from __future__ import annotations

from groups.lost import LostConsumer
from tests.groups.driver import WALL_MS, Driver


def test_who_was_lost_is_remembered_with_when_and_why(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t")
    driver.advance(12_000)
    (lost,) = driver.coordinator._context.lost
    assert lost == LostConsumer(
        group_id="g",
        member_id="a",
        client_id=lost.client_id,
        host=lost.host,
        user="ANONYMOUS",
        topics=("t",),
        lost_ms=WALL_MS + 12_000,
        reason="its session timed out",
    )
