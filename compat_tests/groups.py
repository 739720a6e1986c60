"""Groups of confluent-kafka consumers: join, share partitions, poll together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.waiting import eventually

WITHIN_SECONDS = 60.0
COORDINATOR_AWAY = (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR)


@contextmanager
def group_consumer(broker: Broker, group_id: str, *topics: str, **settings: Any) -> Iterator[Any]:
    """Open a member of a group; `session_timeout_ms=30000` and the like set librdkafka's properties.

    Its session is longer than a busy machine may stop it or the broker.
    """
    wanted = {name.replace("_", "."): value for name, value in settings.items()}
    classic = wanted.get("group.protocol", "classic") == "classic"
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "log_level": 2,
            "group.id": group_id,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **({"session.timeout.ms": 30_000, "heartbeat.interval.ms": 250} if classic else {}),
            **wanted,
        }
    )
    if topics:
        consumer.subscribe(list(topics))
    try:
        yield consumer
    finally:
        consumer.close()


def partitions_of(consumer: Any) -> list[int]:
    """Return the partitions a consumer holds, in order."""
    return sorted(place.partition for place in consumer.assignment())


def poll_until(condition: Callable[[], bool], *consumers: Any, what: str) -> list[Any]:
    """Poll all consumers until the condition holds; return the records that came."""
    records: list[Any] = []
    deadline = time.monotonic() + WITHIN_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: {[partitions_of(consumer) for consumer in consumers]}"
        for consumer in consumers:
            message = consumer.poll(0.02)
            if message is not None:
                assert message.error() is None, message.error()
                records.append(message)
    return records


def wait_for_shares(*consumers: Any, sizes: list[int]) -> list[Any]:
    """Poll until the members hold these numbers of partitions, in any order, each partition once."""

    def shared() -> bool:
        held = [partitions_of(consumer) for consumer in consumers]
        every = [index for part in held for index in part]
        return sorted(map(len, held)) == sizes and len(every) == len(set(every))

    return poll_until(shared, *consumers, what=f"shares {sizes}")


def fill(broker: Broker, topic: str, partitions: int, count: int) -> None:
    """Produce `count` records to each partition: `partition:number`."""
    producer = make_producer(broker)
    for partition in range(partitions):
        for number in range(count):
            producer.produce(topic, b"%d:%d" % (partition, number), partition=partition)
    assert producer.flush(60) == 0


def admin_of(broker: Broker) -> Any:
    """Return an admin client."""
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})


def committed_of(broker: Broker, group_id: str, topic: str = "") -> dict[int, int]:
    """Return what a group has committed, by partition of a topic, or of its only one.

    A coordinator that is being loaded, as after a restart, is asked again: librdkafka does not do so.
    """
    places = eventually(lambda: _progress_of(broker, group_id), waiting_for=f"the coordinator of {group_id}")
    return {place.partition: place.offset for place in places[0] if topic in ("", place.topic)}


def _progress_of(broker: Broker, group_id: str) -> tuple[list[TopicPartition]] | None:
    """Return all that a group has committed; None while its coordinator is not there."""
    admin = admin_of(broker)  # kept until the answer is there: it ends with its last reference
    future = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)])[group_id]
    try:
        return (future.result(60).topic_partitions,)
    except KafkaException as refusal:
        if refusal.args[0].retriable() or refusal.args[0].code() in COORDINATOR_AWAY:
            return None
        raise


def offsets(topic: str, **by_partition: int) -> list[TopicPartition]:
    """Return offsets given as `p0=5` and the like."""
    return [TopicPartition(topic, int(name[1:]), offset) for name, offset in by_partition.items()]
