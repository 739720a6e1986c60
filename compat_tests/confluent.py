"""confluent-kafka (librdkafka) with the settings that every test needs; reading a known number of records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from compat_tests.broker import Broker

WITHIN_SECONDS = 60.0


def make_producer(broker: Broker, **settings: Any) -> Any:
    """Return a producer; `linger_ms=5` and the like set librdkafka's properties."""
    return Producer(
        {"bootstrap.servers": broker.bootstrap, "log_level": 2, "linger.ms": 5, **_dotted(settings)}
    )


def lines_of(broker: Broker, topic: str) -> list[str]:
    """Return the values of all records of a topic's only partition."""
    with open_consumer(broker) as consumer:
        place = TopicPartition(topic, 0, 0)
        count = consumer.get_watermark_offsets(place, 60)[1]
        consumer.assign([place])
        return [message.value().decode() for message in take(consumer, count)]


@contextmanager
def open_consumer(broker: Broker, **settings: Any) -> Iterator[Any]:
    """Open a consumer for `assign`: it needs the name of a group and never joins it."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "log_level": 2,
            "group.id": "assigned-by-hand",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **_dotted(settings),
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()


def produce(producer: Any, topic: str, values: list[bytes], *, partition: int = 0) -> list[int]:
    """Produce `values` in order to one partition, wait for delivery and return the offsets (-1: no ack)."""
    offsets: list[int] = []
    for value in values:
        producer.produce(
            topic, value, partition=partition, on_delivery=lambda e, m: offsets.append(_offset(e, m))
        )
        producer.poll(0)
    left = producer.flush(WITHIN_SECONDS)
    assert left == 0, f"{left} records of {topic} were not delivered in {WITHIN_SECONDS} s"
    return offsets


def read(consumer: Any, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Any]:
    """Read `count` records of one partition from `offset` on; fail after a minute or at the first error."""
    consumer.assign([TopicPartition(topic, partition, offset)])
    return take(consumer, count)


def take(consumer: Any, count: int) -> list[Any]:
    """Consume `count` records from what is assigned; fail after a minute or at the first error."""
    records: list[Any] = []
    deadline = time.monotonic() + WITHIN_SECONDS
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records after {WITHIN_SECONDS} s"
        for message in consumer.consume(count - len(records), timeout=0.5):
            assert message.error() is None, message.error()
            records.append(message)
    return records


def _offset(error: Any, message: Message) -> int:
    assert error is None, error
    offset = message.offset()
    return -1 if offset is None else int(offset)


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name if name.endswith("_cb") else name.replace("_", "."): value for name, value in settings.items()
    }
