"""Topics made, grown, deleted and made again: one broken rule after the other, and several at once."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.pools import CONFIGS
from compat_tests.differential.steps import Step, Steps, topic_id
from compat_tests.differential.world import World, create_topics, new_topic
from compat_tests.requests import ZERO
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    yield from _created(world)
    yield from _assigned(world)
    yield from _configured(world)
    yield from _grown(world)
    yield from _deleted(world)
    yield from _made_again(world)


def _topic(name: str, **fields: Any) -> CreatableTopic:
    given: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1, "assignments": [], "configs": []}
    return CreatableTopic(name=name, **(given | fields))


def _created(world: World) -> Steps:
    name = f"{world.prefix}-new"
    for number, (partitions, replicas) in enumerate(
        [(-1, -1), (1, 1), (0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (0, 0), (0, 2), (20_000, 1), (1, 32767)]
    ):
        topic = _topic(f"{name}{number}", num_partitions=partitions, replication_factor=replicas)
        for version in (2, 4, 5, 7):
            yield create_topics(topic, version=version, validate_only=True)
    for bad in [*world.names(), "x" * 249, "x" * 250, "a\x00b", "…", "__mine"]:
        yield create_topics(_topic(bad), validate_only=True)
    yield create_topics(validate_only=True)
    yield create_topics()
    yield create_topics(_topic(name), _topic(name), _topic(f"{name}-other"), validate_only=True)
    yield create_topics(_topic(world.one), _topic(world.one), _topic(name), validate_only=True)
    twins = [_topic(f"{world.prefix}{mark}twin") for mark in "._-"]
    yield create_topics(*twins, validate_only=True)
    # Of these Kafka creates two: they do not count among the topics of the sequence.
    yield create_topics(*(_topic(f"other{mark}{world.prefix}") for mark in "._"))
    yield create_topics(twins[0], twins[2])
    yield create_topics(twins[0], twins[1], twins[2])
    yield create_topics(_topic(name, num_partitions=2), _topic(""), _topic(world.one), _topic(f"{name}b"))
    yield create_topics(_topic(name, num_partitions=2))


def _assigned(world: World) -> Steps:
    name = f"{world.prefix}-assigned"
    cases: list[list[tuple[int, list[int]]]] = [
        [(0, [1])],
        [(1, [1]), (0, [1])],
        [(1, [1])],
        [(0, [1]), (2, [1])],
        [(0, [1]), (0, [1])],
        [(0, [])],
        [(0, [1, 1])],
        [(0, [2])],
        [(0, [1, 2])],
        [(0, [1]), (1, [1, 2])],
        [(-1, [1])],
    ]
    for number, assignments in enumerate(cases):
        wanted = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in assignments
        ]
        yield create_topics(_topic(f"{name}{number}", assignments=wanted), version=5 + number % 3)
        yield create_topics(
            _topic(f"{name}a{number}", assignments=wanted, num_partitions=1),
            _topic(f"{name}b{number}", assignments=wanted, replication_factor=1),
            _topic(world.one, assignments=wanted, replication_factor=1),
            validate_only=True,
        )


def _configured(world: World) -> Steps:
    name = f"{world.prefix}-configured"
    for number, (key, value) in enumerate(CONFIGS):
        config = CreatableTopicConfig(name=key, value=value)
        yield create_topics(
            _topic(f"{name}{number}", configs=[config]), version=2 + number % 6, validate_only=True
        )
    for _ in range(30):
        pairs = world.random.sample(CONFIGS, 3)
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in pairs]
        partitions = world.random.choice([1, 1, 1, 0])
        topic = _topic(name, configs=configs, num_partitions=partitions)
        yield create_topics(topic, validate_only=True)
    twice = [CreatableTopicConfig(name="flush.ms", value=value) for value in ("1", "2")]
    yield create_topics(_topic(name, configs=twice), validate_only=True)


def _grown(world: World) -> Steps:
    asked: list[list[tuple[str, int, list[list[int]] | None]]] = [
        [],
        [(world.one, 1, None)],
        [(world.one, 0, None)],
        [(world.one, -1, None)],
        [(world.three, 2, None)],
        [(world.one, 2, [])],
        [(world.one, 2, [[1], [1]])],
        [(world.one, 2, [[2]])],
        [(world.one, 2, [[1, 1]])],
        [(world.one, 2, [[]])],
        [(world.one, 3, [[1], [1, 2]])],
        [(world.one, 1, [[1]])],
        [(world.one, 2, None), (world.one, 3, None), (world.three, 4, None)],
        [(world.never, 2, None), ("", 2, None), (f"{world.prefix} blank", 2, None)],
        [(world.never, 2, None), (world.never, 3, None)],
        [(world.one, 2, [[1]]), (world.gone, 2, None)],
        [(world.three, 5, None)],
    ]
    for number, wanted in enumerate(asked):
        topics = [
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if ids is None
                else [CreatePartitionsAssignment(broker_ids=ids_of_partition) for ids_of_partition in ids],
            )
            for name, count, ids in wanted
        ]
        for only in (True, False):
            request = CreatePartitionsRequest(topics=topics, timeout_ms=10_000, validate_only=only)
            yield Step(request, (number + only) % 4)
    yield from _shown(world)


def _deleted(world: World) -> Steps:
    def by_state(*items: tuple[str | None, Any]) -> Step:
        topics = [DeleteTopicState(name=name, topic_id=identity) for name, identity in items]
        return Step(DeleteTopicsRequest(topics=topics, timeout_ms=10_000), 6)

    def by_name(*names: str, version: int = 5) -> Step:
        return Step(DeleteTopicsRequest(topic_names=list(names), timeout_ms=10_000), version)

    one, gone, never = topic_id(world.one), topic_id(world.gone), topic_id(world.never)
    yield by_state()
    yield by_state((None, ZERO))
    yield by_state((None, ZERO), (None, ZERO))
    yield by_state((world.one, one))
    yield by_state((None, gone), (None, never), (world.gone, ZERO), ("", ZERO), ("a b", ZERO))
    yield by_state((None, never), (None, never))
    yield by_state((world.one, ZERO), (world.one, ZERO))
    yield by_state((None, one), (None, one))
    yield by_state((world.one, ZERO), (None, one))
    yield by_state((None, one), (world.one, ZERO), (world.one, ZERO))
    for version in (1, 4, 5):
        yield by_name(version=version)
        yield by_name(world.never, world.never, world.three, world.three, version=version)
        yield by_name("", "..", "a/b", version=version)
    yield from _shown(world)
    yield by_name(world.three, world.never, version=4)
    yield by_state((None, topic_id(world.stamped)), (world.keyed, ZERO), (None, never))
    yield by_state((None, topic_id(world.stamped)), (world.keyed, ZERO))
    yield from _shown(world)


def _made_again(world: World) -> Steps:
    yield create_topics(new_topic(world.three, 2), version=7)
    ids = [MetadataRequestTopic(name=None, topic_id=topic_id(world.three, number)) for number in (1, 2)]
    yield Step(MetadataRequest(topics=ids), 12)
    for number in (1, 2):
        state = DeleteTopicState(name=None, topic_id=topic_id(world.three, number))
        yield Step(DeleteTopicsRequest(topics=[state], timeout_ms=10_000), 6)
    yield Step(MetadataRequest(topics=ids), 13)
    yield Step(DeleteTopicsRequest(topic_names=[world.one], timeout_ms=10_000), 3)
    nameless = [MetadataRequestTopic(name=None), MetadataRequestTopic(name=world.three)]
    yield Step(MetadataRequest(topics=nameless, allow_auto_topic_creation=False), 12)


def _shown(world: World) -> Steps:
    topics = [MetadataRequestTopic(name=name) for name in (*world.existing, world.gone, world.never)]
    yield Step(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)
    yield Step(MetadataRequest(topics=None), 9)
