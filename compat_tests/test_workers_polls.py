"""Two workers watch that members of a group poll, although another worker has their partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from kafka import KafkaConsumer

from compat_tests.confluent import make_producer, produce
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka leaves this to clients")

LIMIT_MS = 3_000


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersBroker]:
    """Start a gateway of two workers."""
    broker = WorkersBroker(tmp_path_factory.mktemp("polls"), 2, **{"group.initial.rebalance.delay.ms": "0"})
    broker.start()
    yield broker
    assert broker.stop()[0] == 0


def led_by(broker: WorkersBroker, name: str, leader: int) -> str:
    """Create a topic of one partition that a worker leads, and return its name."""
    for number in range(8):
        topic = create_topic(broker, f"{name}-{number}")
        if broker.admin().list_topics(topic, timeout=60).topics[topic].partitions[0].leader == leader:
            return topic
    raise AssertionError(f"worker {leader} is given no partition")


def limit(broker: WorkersBroker, group: str) -> None:
    """Have members of a group removed that do not poll."""
    entry = ConfigEntry(
        "kawal.max.poll.interval.ms", str(LIMIT_MS), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[entry])
    broker.admin().incremental_alter_configs([resource])[resource].result(60)


def poll_for(consumer: Any, seconds: float) -> None:
    """Poll again and again."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        consumer.poll(timeout_ms=200)


def test_a_member_stays_as_long_as_it_polls_the_other_worker_and_no_longer(
    workers: WorkersBroker, topic: str
) -> None:
    group = topic
    limit(workers, group)
    described = workers.admin().describe_consumer_groups([group])[group].result(60)
    (other,) = set(workers.ids) - {described.coordinator.id}
    name = led_by(workers, topic, other)
    produce(make_producer(workers), name, [b"first"])
    consumer = KafkaConsumer(
        name,
        bootstrap_servers=workers.bootstrap,
        group_id=group,
        enable_auto_commit=False,
        session_timeout_ms=30_000,
        heartbeat_interval_ms=500,
        metadata_max_age_ms=1_000,  # the worker that is asked first may not know the topic yet
        auto_offset_reset="earliest",
    )
    # One long poll: kafka-python 3.0.1 forgets an assignment that arrives as a poll comes to its end.
    assert consumer.poll(timeout_ms=60_000), "it has its partition"
    poll_for(consumer, 4 * LIMIT_MS / 1000)
    assert f"group '{group}'" not in workers.process.output(), "it has polled"
    # From here on it sends heartbeats alone.
    eventually(
        lambda: f"group '{group}'" in workers.process.output(),
        waiting_for="its removal",
    )
    consumer.close(autocommit=False)
