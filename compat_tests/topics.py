"""Topics for tests whose subject is something else: ready to use when the call returns."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from compat_tests.broker import Broker
from compat_tests.waiting import eventually


def create_topic(
    broker: Broker, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> str:
    """Create a topic and wait until metadata shows a leader for every partition; return its name."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(configs or {}))
    admin.create_topics([new])[name].result(timeout=15)
    _wait_for_leaders(admin, name, partitions)
    return name


def grow_topic(broker: Broker, name: str, partitions: int) -> None:
    """Raise the number of partitions and wait until every one has a leader."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_partitions([NewPartitions(name, partitions)])[name].result(timeout=15)
    _wait_for_leaders(admin, name, partitions)


def delete_topic(broker: Broker, name: str) -> None:
    """Delete a topic and wait until metadata no longer lists it."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics([name])[name].result(timeout=15)
    eventually(lambda: name not in admin.list_topics(timeout=5).topics, waiting_for=f"{name} to go")


def _wait_for_leaders(admin: AdminClient, name: str, partitions: int) -> None:
    def led() -> bool:
        # All topics are listed: asking for one by name could create it (Metadata with auto-creation).
        found = admin.list_topics(timeout=5).topics.get(name)
        known = found.partitions.values() if found else ()
        return len(known) == partitions and all(one.leader >= 0 for one in known)

    eventually(led, waiting_for=f"leaders of all {partitions} partitions of {name}")
