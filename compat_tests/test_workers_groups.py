"""Two workers keep a group's settings where another worker leads the partitions."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from compat_tests.confluent import make_producer, open_consumer, take
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no such settings")

PARTITIONS = 4
DAY_MS = 86_400_000
ORIGIN = [("kawal.origin", b"elsewhere")]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersBroker]:
    """Start a gateway of two workers that looks for expired segments all the time."""
    settings = {"group.initial.rebalance.delay.ms": "0", "log.retention.check.interval.ms": "200"}
    broker = WorkersBroker(tmp_path_factory.mktemp("groups"), 2, **settings)
    broker.start()
    yield broker
    assert broker.stop()[0] == 0


def configure(broker: WorkersBroker, group: str, name: str, value: str) -> None:
    """Set a configuration of a group."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[entry])
    broker.admin().incremental_alter_configs([resource])[resource].result(60)


def fill(broker: WorkersBroker, topic: str, count: int, *, timestamp_ms: int = 0) -> None:
    """Write records to all partitions, every second one as if it had been restored."""
    producer = make_producer(broker, linger_ms=0, batch_num_messages=1)
    for number in range(count):
        for index in range(PARTITIONS):
            headers = ORIGIN if number % 2 else None
            producer.produce(topic, b"%d" % number, partition=index, timestamp=timestamp_ms, headers=headers)
    assert producer.flush(60) == 0


def starts(broker: WorkersBroker, topic: str) -> list[int]:
    """Return the log start of each partition."""
    with open_consumer(broker) as consumer:
        places = [TopicPartition(topic, index) for index in range(PARTITIONS)]
        return [consumer.get_watermark_offsets(place, timeout=60)[0] for place in places]


def commit(broker: WorkersBroker, group: str, topic: str, offset: int) -> None:
    """Commit an offset in each partition without being a member."""
    with open_consumer(broker, group_id=group) as consumer:
        offsets = [TopicPartition(topic, index, offset) for index in range(PARTITIONS)]
        consumer.commit(offsets=offsets, asynchronous=False)


def coordinator(broker: WorkersBroker, group: str) -> int:
    """Return the number of the worker that coordinates a group."""
    described = broker.admin().describe_consumer_groups([group])[group].result(60)
    return int(described.coordinator.id) - broker.ids[0]


def test_no_worker_deletes_what_an_important_group_has_not_read_also_while_its_coordinator_hangs(
    workers: WorkersBroker, topic: str
) -> None:
    old_ms = int(time.time() * 1_000) - 2 * DAY_MS
    limits = {"retention.ms": str(DAY_MS), "segment.ms": "1"}
    configure(workers, topic, "kawal.retention.important", "true")
    configure(workers, topic, "kawal.retention.important.topics", topic)
    create_topic(workers, topic, PARTITIONS, limits)
    fill(workers, topic, 10, timestamp_ms=old_ms)
    assert starts(workers, topic) == [0] * PARTITIONS
    commit(workers, topic, topic, 4)
    eventually(lambda: starts(workers, topic) == [4] * PARTITIONS, waiting_for="what was read to go")
    hanging = workers.children()[coordinator(workers, topic)]
    commit(workers, topic, topic, 7)
    os.kill(hanging, signal.SIGSTOP)
    try:
        time.sleep(1)
    finally:
        os.kill(hanging, signal.SIGCONT)
    eventually(lambda: starts(workers, topic) == [7] * PARTITIONS, waiting_for="what was read then to go")


def test_a_member_is_never_shown_what_its_group_leaves_out(workers: WorkersBroker, topic: str) -> None:
    configure(workers, topic, "kawal.consume.excluded", "true")
    create_topic(workers, topic, PARTITIONS)
    fill(workers, topic, 20, timestamp_ms=int(time.time() * 1_000))
    settings = {"client.id": topic, "auto.offset.reset": "earliest"}
    for protocol in ("classic", "consumer"):
        group = topic if protocol == "classic" else f"{topic}-2"
        configure(workers, group, "kawal.consume.excluded", "true")
        own = settings | {"group.id": group, "group.protocol": protocol, "client.id": group}
        with open_consumer(workers, **own) as first, open_consumer(workers, **own) as second:
            first.subscribe([topic])
            found = [message.value() for message in take(first, PARTITIONS * 10)]
            second.subscribe([topic])
            fill(workers, topic, 2, timestamp_ms=int(time.time() * 1_000))
            ends = time.monotonic() + 60
            while len(found) < PARTITIONS * 11 and time.monotonic() < ends:
                for consumer in (first, second):
                    message = consumer.poll(0.1)
                    if message is not None and message.error() is None:
                        found.append(message.value())
        assert {int(value) % 2 for value in found} == {0}
