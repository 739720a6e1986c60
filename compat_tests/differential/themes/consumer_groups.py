"""Groups of KIP-848: one member at a time, right and wrong, dynamic and static."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.steps import Step, Steps, topic_id
from compat_tests.differential.themes.classic_groups import NOBODY, commit, committed, join
from compat_tests.differential.world import World
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2
FIRST_EPOCH = 2
"""The epoch of the first member of a group whose subscription resolves to something."""


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    for version in (0, 1):
        yield from _refused(f"{world.prefix}-refused{version}", version, world)
        yield from _one_member(f"{world.prefix}-group{version}", version, world)
        yield from _static(f"{world.prefix}-static{version}", version, world)
    yield from _of_two_kinds(world)


def beat(group: str, version: int, who: str, epoch: int, world: World, **fields: Any) -> Step:
    """Send a heartbeat; one that joins says all that a member has to say."""
    given: dict[str, Any] = {}
    if epoch == JOIN:
        given = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": [world.one],
            "topic_partitions": [],
        }
    request = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=who, member_epoch=epoch, **(given | fields)
    )
    return Step(request, version)


def _refused(group: str, version: int, world: World) -> Steps:
    for fields in (
        {"rebalance_timeout_ms": -1},
        {"subscribed_topic_names": None},
        {"topic_partitions": None},
        {"topic_partitions": [TopicPartitions(topic_id=topic_id(world.one), partitions=[0])]},
        {"server_assignor": "none"},
        {"server_assignor": ""},
        {"instance_id": ""},
        {"rack_id": ""},
    ):
        yield beat(group, version, "m", JOIN, world, **fields)
        yield beat(f"{group}-left", version, "m", LEAVE, world)
    yield beat("", version, "m", JOIN, world)
    for epoch in (1, LEAVE, LEAVE_FOR_A_WHILE, -3):
        yield beat(group, version, "m", epoch, world)
    if version == 1:
        yield beat(group, version, "", JOIN, world)
        yield beat(group, version, "m", JOIN, world, subscribed_topic_names=None, subscribed_topic_regex="[")
    yield _described(group, version)


def _one_member(group: str, version: int, world: World) -> Steps:
    yield beat(group, version, "m", JOIN, world)
    yield beat(group, version, "m", FIRST_EPOCH, world)
    held = [TopicPartitions(topic_id=topic_id(world.one), partitions=[0])]
    yield beat(group, version, "m", FIRST_EPOCH, world, topic_partitions=held)
    yield _described(group, version)
    for who, epoch in (("m", FIRST_EPOCH + 1), (NOBODY, FIRST_EPOCH), (NOBODY, LEAVE), ("m", -3)):
        yield beat(group, version, who, epoch, world)
    for epoch in (FIRST_EPOCH, FIRST_EPOCH - 1, FIRST_EPOCH + 1, -1):
        for at in (2, 8, 9, 10):
            yield commit(group, at, "m", epoch, world)
            yield commit(group, at, NOBODY, epoch, world)
    for epoch in (FIRST_EPOCH, FIRST_EPOCH - 1, FIRST_EPOCH + 1):
        for who in ("m", NOBODY):
            yield from committed(group, 9, world, member_id=who, member_epoch=epoch)
            yield from committed(group, 10, world, member_id=who, member_epoch=epoch)
    yield Step(DeleteGroupsRequest(groups_names=[group]), 2)
    yield beat(group, version, "m", LEAVE, world)
    yield beat(group, version, "m", LEAVE, world)
    yield _described(group, version)
    yield Step(ListGroupsRequest(types_filter=["consumer"]), 5)
    yield Step(DeleteGroupsRequest(groups_names=[group]), 2)
    yield _described(group, version)


def _static(group: str, version: int, world: World) -> Steps:
    yield beat(group, version, "first", JOIN, world, instance_id="i")
    yield beat(group, version, "second", JOIN, world, instance_id="i")
    yield beat(group, version, "second", FIRST_EPOCH, world, instance_id="i")
    yield beat(group, version, "first", FIRST_EPOCH, world, instance_id="other")
    yield beat(group, version, "first", FIRST_EPOCH, world, instance_id="i")
    yield beat(group, version, "first", LEAVE_FOR_A_WHILE, world, instance_id="i")
    yield _described(group, version)
    yield beat(group, version, "second", JOIN, world, instance_id="i")
    yield beat(group, version, "first", FIRST_EPOCH, world, instance_id="i")
    yield beat(group, version, "second", FIRST_EPOCH, world, instance_id="i")
    yield beat(group, version, "second", LEAVE, world, instance_id="i")


def _of_two_kinds(world: World) -> Steps:
    """Ask each API for a group of the other kind."""
    consumer, classic = f"{world.prefix}-of-consumers", f"{world.prefix}-classic"
    yield beat(consumer, 1, "m", JOIN, world)
    yield commit(classic, 8, "", -1, world)
    for version in (0, 1):
        yield _described(classic, version)
    for version in range(7):
        yield Step(DescribeGroupsRequest(groups=[consumer]), version)
    yield join(consumer, 5, "", world, protocol_type="other")
    yield Step(ListGroupsRequest(), 5)


def _described(group: str, version: int) -> Step:
    request = ConsumerGroupDescribeRequest(group_ids=[group, ""], include_authorized_operations=bool(version))
    return Step(request, version)
