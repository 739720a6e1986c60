"""Two nodes of each broker: Kawal's workers, and Kafka's brokers, of which the first is the controller, too.

The coordinators of both are the same nodes: Kafka's internal topics are made beforehand where Kawal has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from compat_tests.broker import HOST, Broker
from compat_tests.differential.settling import FIRST_NODE, SETTINGS, warm_up
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from compat_tests.workers import WorkersBroker
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

GROUPS_TOPIC, TRANSACTIONS_TOPIC = "__consumer_offsets", "__transaction_state"

INTERNAL: Mapping[str, Mapping[str, str]] = {
    GROUPS_TOPIC: {"cleanup.policy": "compact", "compression.type": "producer"},
    TRANSACTIONS_TOPIC: {"cleanup.policy": "compact", "compression.type": "uncompressed"},
}
"""The internal topics whose leaders matter to clients, with Kafka's own configs for them.

Source: AutoTopicCreationManager of Kafka 4.3.
"""

Leaders = Mapping[str, Sequence[int]]
"""The numbers of the nodes that lead the partitions of topics, by their names."""


class KafkaNode(KafkaBroker):
    """A broker of a cluster; the `first` is the controller, too."""

    def __init__(
        self, directory: Path, settings: Mapping[str, str], *, number: int, first: KafkaNode | None
    ) -> None:
        super().__init__(directory, settings)
        self._number, self._first = number, first
        self._id: str = super()._cluster_id() if first is None else first._id

    def _cluster_id(self) -> str:
        return self._id

    def _properties(self) -> str:
        if self._first is not None:
            controller = f"{FIRST_NODE}@{HOST}:{self._first._controller_port}"
            own = {
                "process.roles": "broker",
                "node.id": str(FIRST_NODE + self._number),
                "listeners": self._listeners(),
                "controller.quorum.voters": controller,
            }
            self.settings.update(own)
        return super()._properties()


@contextmanager
def kawal_nodes(directory: Path, count: int) -> Iterator[tuple[list[Broker], Leaders]]:
    """Start a gateway of several workers; give each of them, and where its internal topics lie."""
    broker = WorkersBroker(directory, count, **SETTINGS["kawal"])
    broker.start()
    try:
        warm_up(broker)
        nodes = broker.each()
        with raw_client(broker) as client:
            yield [*nodes], {name: _leaders(client, name) for name in INTERNAL}
    finally:
        broker.stop()


@contextmanager
def kafka_nodes(directory: Path, count: int, internal: Leaders) -> Iterator[list[Broker]]:
    """Start a cluster of Kafka's brokers, whose internal topics lie where they are told to."""
    nodes: list[KafkaNode] = []
    try:
        for number in range(count):
            first = nodes[0] if nodes else None
            node = KafkaNode(directory / str(number), SETTINGS["kafka"], number=number, first=first)
            nodes.append(node)
            node.start()
        with raw_client(nodes[0]) as client:
            _make_internal(client, count, internal)
        for node in nodes:
            warm_up(node)
        yield [*nodes]
    finally:
        for node in reversed(nodes):
            if node.was_started:
                node.kill()


def placed_topic(topic: CreatableTopic, leaders: Sequence[int]) -> CreatableTopic:
    """Return a topic as it is asked for, with its partitions on certain nodes."""
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=[FIRST_NODE + leader])
        for index, leader in enumerate(leaders)
    ]
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=assignments,
        configs=topic.configs,
    )


def _make_internal(client: RawClient, count: int, internal: Leaders) -> None:
    def all_are_there() -> bool:
        return len(client.call(MetadataRequest(topics=[]), 12).brokers) == count

    eventually(all_are_there, waiting_for=f"{count} brokers")
    topics = []
    for name, configs in INTERNAL.items():
        pairs = [CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
        asked = CreatableTopic(
            name=name, num_partitions=-1, replication_factor=-1, assignments=[], configs=pairs
        )
        topics.append(placed_topic(asked, internal[name]))
    answer = client.call(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
    assert not any(topic.error_code for topic in answer.topics), answer


def _leaders(client: RawClient, name: str) -> list[int]:
    def found() -> list[int]:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = client.call(request, 12).topics
        led = {part.partition_index: part.leader_id - FIRST_NODE for part in topic.partitions}
        return [led[index] for index in range(len(led))]

    return eventually(found, waiting_for=name)
