"""From produce to consume at 200 records a second."""

from __future__ import annotations

import time
from statistics import quantiles

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.clients import flights
from benchmarks.views_wire.setting import TOPIC, Tell, create, gateway
from compat_tests.broker import Broker

ROUNDS, QUICK_ROUNDS = 2_000, 600
WARM_UP = 100
EVERY_SECONDS = 0.005


def measure(tell: Tell, *, quick: bool) -> None:
    """The plain topic and a view that shows every record, by turns."""
    with gateway() as broker:
        create(broker, TOPIC, kawal_columns=flights.COLUMNS)
        create(broker, "all", -1, kawal_sql="SELECT id, delay FROM flights WHERE delay >= 0")
        for topic in (TOPIC, "all") * 2:
            p50, p99 = round_trips(broker, topic, QUICK_ROUNDS if quick else ROUNDS)
            tell(f"{topic}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def round_trips(broker: Broker, topic: str, count: int) -> tuple[float, float]:
    """Median and p99 in ms from producing a flight to having it from `topic`."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "l", "auto.offset.reset": "error"}
    )
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
    consumer.assign([TopicPartition(topic, 0, high)])
    consumer.poll(0.5)
    seen: list[float] = []
    for number in range(count):
        sent = time.monotonic()
        producer.produce(TOPIC, flights.value(number), partition=0)
        producer.poll(0)
        message = consumer.poll(5)
        assert message is not None
        assert message.error() is None, message.error()
        seen.append((time.monotonic() - sent) * 1e3)
        time.sleep(max(0, EVERY_SECONDS - (time.monotonic() - sent)))
    producer.flush(10)
    consumer.close()
    cuts = quantiles(seen[WARM_UP:], n=100)
    return cuts[49], cuts[98]
