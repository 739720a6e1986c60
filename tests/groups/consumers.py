"""Consumer groups in the state in which a test begins."""

from __future__ import annotations

from groups.consumer_group import ConsumerGroup
from tests.groups.driver import Driver, Topic

DURABLE = ("epoch", "metadata_hash", "metadata", "current", "target", "target_epoch", "regexes")
"""The attributes of a consumer group that its records make."""


def group_of(driver: Driver, group_id: str = "g") -> ConsumerGroup:
    """Return the coordinator's own object, for facts that no request shows."""
    group = driver.coordinator._context.groups[group_id]
    assert isinstance(group, ConsumerGroup)
    return group


def epoch_of(driver: Driver, member_id: str, group_id: str = "g") -> int:
    return group_of(driver, group_id).assignment(member_id).epoch


def held(driver: Driver, member_id: str, group_id: str = "g") -> list[int]:
    """Return the partitions that a member has, of all topics."""
    assigned = group_of(driver, group_id).assignment(member_id).assigned
    return sorted(index for partitions in assigned.values() for index in partitions)


def settle(driver: Driver, *member_ids: str, group_id: str = "g", version: int = 1) -> None:
    """Let members send heartbeats with what they really have, until all have reached the target."""
    driver.advance(driver.config.kawal_rebalance_interval_ms)
    for _ in range(4):
        for member_id in member_ids:
            current = group_of(driver, group_id).assignment(member_id)
            owned = {topic_id: sorted(partitions) for topic_id, partitions in current.assigned.items()}
            driver.beat(group_id, member_id, current.epoch, owned=owned, version=version)
    assert all(map(group_of(driver, group_id).reconciled, member_ids))


def two_members(driver: Driver, group_id: str = "g") -> Topic:
    """Make members a and b of a stable group with 4 partitions of topic t."""
    topic = driver.topics.by_name.get("t") or driver.create_topic("t")
    driver.join_consumer(group_id, "a", "t")
    driver.join_consumer(group_id, "b", "t")
    settle(driver, "a", "b", group_id=group_id)
    return topic
