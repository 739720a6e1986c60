"""Requests changed for clusters of several nodes, where they would make the two differ from here on.

Partitions of the gateway stay where a rule puts them, and have one replica. Kafka's can be put anywhere, and
are put by chance: its requests say where the gateway has them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Final, TypeVar

from compat_tests.differential.clusters import Leaders, placed_topic
from compat_tests.differential.routing import Router
from compat_tests.differential.settling import FIRST_NODE
from compat_tests.differential.steps import Step
from compat_tests.differential.world import new_topic
from protocol.api_keys import ApiKey
from protocol.messages.create_partitions import CreatePartitionsAssignment
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest

T = TypeVar("T")

UNKNOWN_NODE: Final = 7
"""An id that no node has."""


def fitted(step: Step, router: Router, count: int) -> Step:
    """Return a step that asks for nothing that `count` brokers of Kafka do and the gateway refuses."""
    request = step.request
    if step.api is ApiKey.CREATE_TOPICS:
        topics = [_with_few_replicas(topic, count) for topic in request.topics]
        only = request.validate_only or not all(_is_in_turn(topic, count) for topic in topics)
        return replace(step, request=_changed(request, topics=topics, validate_only=only))
    if step.api is ApiKey.CREATE_PARTITIONS:
        only = request.validate_only or any(topic.assignments is not None for topic in request.topics)
        return replace(step, request=_changed(request, validate_only=only))
    if step.api is ApiKey.ALTER_PARTITION_REASSIGNMENTS:
        return replace(step, request=_moving_nothing(request, router, count))
    return step


def placed(step: Step, made: Leaders) -> Step:
    """Return a step for Kafka that puts the partitions in `made`, by topic, where the gateway has them."""
    request = step.request
    if step.api is ApiKey.CREATE_TOPICS and not request.validate_only:
        topics = [
            placed_topic(topic, made[topic.name]) if topic.name in made else topic for topic in request.topics
        ]
        return replace(step, request=_changed(request, topics=topics))
    if step.api is ApiKey.CREATE_PARTITIONS and not request.validate_only:
        topics = [_with_places(topic, made) for topic in request.topics]
        return replace(step, request=_changed(request, topics=topics))
    return step


def made_before(step: Step, made: Leaders) -> Step | None:
    """Return a step for Kafka that makes the topics which the gateway makes while it tells of them."""
    if step.api is not ApiKey.METADATA or not made:
        return None
    topics = [
        placed_topic(_changed(new_topic(name, -1), configs=[]), leaders) for name, leaders in made.items()
    ]
    return Step(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)


def _with_places(topic: Any, made: Leaders) -> Any:
    if topic.name not in made:
        return topic
    ids = [[FIRST_NODE + leader] for leader in made[topic.name]]
    return _changed(topic, assignments=[CreatePartitionsAssignment(broker_ids=replicas) for replicas in ids])


def _with_few_replicas(topic: CreatableTopic, count: int) -> CreatableTopic:
    """Return a topic that asks for one replica or for more than there are nodes."""
    if 1 < topic.replication_factor <= count:
        return _changed(topic, replication_factor=count + 1)
    return topic


def _is_in_turn(topic: CreatableTopic, count: int) -> bool:
    """Return whether a topic is asked for as the gateway places its partitions."""
    if any(len(item.broker_ids) != 1 for item in topic.assignments):
        return False
    ids = {item.partition_index: item.broker_ids[0] for item in topic.assignments}
    return all((node - index - ids.get(0, 0)) % count == 0 for index, node in ids.items())


def _moving_nothing(request: Any, router: Router, count: int) -> Any:
    """Return a request for replicas where they are, or on nodes that do not exist."""
    topics = []
    for topic in request.topics:
        partitions = []
        for item in topic.partitions:
            leader = router.leader_of(topic.name, item.partition_index)
            known = UNKNOWN_NODE if leader is None else FIRST_NODE + leader
            ids = {FIRST_NODE: known, FIRST_NODE + 1: UNKNOWN_NODE}
            wanted = item.replicas and [ids.get(node, node) for node in item.replicas]
            partitions.append(_changed(item, replicas=wanted))
        topics.append(_changed(topic, partitions=partitions))
    return _changed(request, topics=topics)


def _changed(value: T, **fields: Any) -> T:
    """Return a copy of a struct with other values in some fields."""
    made = copy(value)
    for name, item in fields.items():
        setattr(made, name, item)
    return made
