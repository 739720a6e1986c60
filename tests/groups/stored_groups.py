"""A log with groups of every kind, and the state that it makes."""

from __future__ import annotations

from typing import Any

from groups.consumer_group import ConsumerGroup
from groups.coordinator import Coordinator
from groups.effects import EncodedRecord
from tests.groups.classic import one_member, two_members
from tests.groups.consumers import DURABLE
from tests.groups.driver import Driver


def every_kind() -> Driver:
    """Return a driver whose log has groups of every kind."""
    driver = Driver("t", "u", partitions=1)
    two_members(driver, "classic")
    driver.join("static", instance_id="i", version=3)
    driver.advance(3_000)
    driver.join_consumer("consumer", "a", "t", regex="u.*")
    driver.join_consumer("consumer", "b", "t", instance_id="j")
    driver.advance(2_000)
    driver.beat("consumer", "a", 2)
    driver.join_consumer("upgraded", "x", "t")
    driver.join("upgraded", version=3)
    for index in range(4):
        driver.commit("simple", {("t", index): index, ("u", index): index})
    driver.leave("empty", (one_member(driver, "empty"), None))
    return driver


def state(coordinator: Coordinator) -> dict[str, Any]:
    """Return all durable state in a form that can be compared."""
    context = coordinator._context
    found: dict[str, Any] = {}
    for group_id, group in context.groups.items():
        if isinstance(group, ConsumerGroup):
            found[group_id] = [getattr(group, name) for name in DURABLE]
        else:
            members = {
                name: (member.assignment, member.instance_id) for name, member in group.members.items()
            }
            found[group_id] = [group.state, group.generation, group.leader, group.protocol, members]
    found["offsets"] = {
        group_id: sorted(context.offsets.iterate(group_id)) for group_id in context.offsets.groups()
    }
    return found


def stored(driver: Driver) -> dict[str, Any]:
    """Return the state that is in the log: nothing of group `static`, which awaits its first assignment."""
    return {name: found for name, found in state(driver.coordinator).items() if name != "static"}


def loaded(driver: Driver, records: list[EncodedRecord]) -> Coordinator:
    coordinator = Coordinator(
        config=driver.config, topics=driver.topics, random=driver.random, wall_ms=lambda now_ms: now_ms
    )
    for key, value in records:
        coordinator.replay(0, memoryview(key), None if value is None else memoryview(value))
    return coordinator
