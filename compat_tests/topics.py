"""Topics for tests whose subject is something else: ready to use when the call returns."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from compat_tests.broker import Broker
from compat_tests.waiting import eventually


def create_topic(
    broker: Broker, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> str:
    """Create a topic and wait until every partition is served; return its name."""
    admin = _admin(broker)
    new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(configs or {}))
    admin.create_topics([new])[name].result(timeout=60)
    _wait_until_served(admin, name, partitions)
    return name


def grow_topic(broker: Broker, name: str, partitions: int) -> None:
    """Raise the number of partitions and wait until every one is served."""
    admin = _admin(broker)
    admin.create_partitions([NewPartitions(name, partitions)])[name].result(timeout=60)
    _wait_until_served(admin, name, partitions)


def delete_topic(broker: Broker, name: str) -> None:
    """Delete a topic and wait until metadata no longer lists it."""
    admin = _admin(broker)
    admin.delete_topics([name])[name].result(timeout=60)
    eventually(lambda: name not in admin.list_topics(timeout=60).topics, waiting_for=f"{name} to go")


def wait_until_all_is_served(broker: Broker) -> None:
    """Wait until every partition of every topic tells its end: after a restart leaders are chosen again."""
    admin = _admin(broker)
    eventually(lambda: _served(admin, None, 0), waiting_for="every partition of every topic")


def _wait_until_served(admin: AdminClient, name: str, partitions: int) -> None:
    """Wait until metadata shows all partitions and each of them tells its end.

    Kafka's broker learns of a new partition a moment after its metadata shows it.
    """
    wanted = f"all {partitions} partitions of {name}"
    eventually(lambda: _served(admin, name, partitions), waiting_for=wanted)


def _served(admin: AdminClient, name: str | None, partitions: int) -> bool:
    # All topics are listed: asking for one by name could create it (Metadata with auto-creation).
    topics = admin.list_topics(timeout=60).topics
    if name is not None:
        topics = {name: topics[name]} if name in topics else {}
        if sum(len(topic.partitions) for topic in topics.values()) != partitions:
            return False
    asked = {
        TopicPartition(topic.topic, index): OffsetSpec.latest()
        for topic in topics.values()
        for index in topic.partitions
    }
    return not asked or all(
        future.exception(timeout=60) is None for future in admin.list_offsets(asked).values()
    )


def _admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
