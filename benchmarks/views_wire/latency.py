"""The time from producing a record until a client that wants it has it, at 200 records a second.

The ways take turns, in rounds: Apache Kafka and Kawal's topic, also with a client that filters for itself,
and views. Kafka does not sync before it shows a record; with `flush.messages=1` it does, as Kawal does.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.clients import flights
from benchmarks.clients.late_flights import Flight
from benchmarks.servers import KafkaServer
from benchmarks.summary import percentile
from benchmarks.views_wire.setting import TOPIC, Tell, create, gateway, watching
from compat_tests.broker import Broker

ROUNDS, QUICK_ROUNDS = 3, 1
WANTED, QUICK_WANTED = 500, 200
"""The records wanted in a round and way; a third as many in the ways that want a tenth."""
WARM_UP = 50
EVERY_SECONDS = 0.005
PRIORITY = 10
WAIT_SECONDS = 10.0
SYNCED = "synced"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to get records: the topics to produce to and to read from; one record in `one_in` is wanted."""

    title: str
    broker: Broker
    source: str
    topic: str
    one_in: int = 1


def measure(tell: Tell, *, quick: bool) -> None:
    """Measure every way in each round, print a table."""
    seen: dict[str, list[list[float]]] = defaultdict(list)
    with before_others(), _ways() as ways, watching((ways[0].broker, ways[-1].broker), tell):
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            for way in ways:
                wanted = (QUICK_WANTED if quick else WANTED) // (1 if way.one_in == 1 else 3)
                seen[way.title].append(latencies_ms(way, wanted))
    for line in table(seen):
        tell(line)


@contextmanager
def before_others() -> Iterator[None]:
    """Let processes started inside, as root, run before all others, so that these do not disturb the figures.

    The load is low: it starves no process.
    """
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, policy, param)


@contextmanager
def _ways() -> Iterator[list[Way]]:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="kawal-latency-"))
        kafka = KafkaServer(Path(directory) / "kafka", {})
        kafka.start()
        stack.callback(kafka.kill)
        kawal = stack.enter_context(gateway())
        create(kafka, TOPIC)
        create(kafka, SYNCED, flush_messages="1")
        create(kawal, TOPIC, kawal_columns=flights.COLUMNS)
        create(kawal, "all", -1, kawal_sql=f"SELECT id, delay, carrier FROM {TOPIC} WHERE delay >= 0")
        create(kawal, "tenth", -1, kawal_sql=f"SELECT id, delay, carrier FROM {TOPIC} WHERE delay % 10 = 9")
        yield [
            Way("Kafka", kafka, TOPIC, TOPIC),
            Way("Kafka, flush.messages=1", kafka, SYNCED, SYNCED),
            Way("Kawal", kawal, TOPIC, TOPIC),
            Way("Kawal, a view of everything", kawal, TOPIC, "all"),
            Way("Kafka, client filters 10 %", kafka, TOPIC, TOPIC, 10),
            Way("Kafka, flush.messages=1, client filters 10 %", kafka, SYNCED, SYNCED, 10),
            Way("Kawal, client filters 10 %", kawal, TOPIC, TOPIC, 10),
            Way("Kawal, a view of 10 %", kawal, TOPIC, "tenth", 10),
        ]


def table(seen: dict[str, list[list[float]]]) -> Iterator[str]:
    """Yield lines: median and p99 of all rounds, the least and greatest p99 of a round; milliseconds."""
    yield "| | p50 | p99 | p99 of the rounds |"
    yield "| --- | --- | --- | --- |"
    for title, rounds in seen.items():
        ordered = sorted(value for times in rounds for value in times)
        p99s = [percentile(sorted(times), 0.99) for times in rounds]
        yield (
            f"| {title} | {percentile(ordered, 0.5):.2f} ms | {percentile(ordered, 0.99):.2f} ms"
            f" | {min(p99s):.2f}-{max(p99s):.2f} ms |"
        )


def latencies_ms(way: Way, wanted: int) -> list[float]:
    """Return the times of this many wanted records, after some that warm up."""
    producer = Producer({"bootstrap.servers": way.broker.bootstrap, "linger.ms": 0})
    consumer = Consumer(
        {"bootstrap.servers": way.broker.bootstrap, "group.id": "l", "auto.offset.reset": "error"}
    )
    _, high = consumer.get_watermark_offsets(TopicPartition(way.topic, 0), 30)
    consumer.assign([TopicPartition(way.topic, 0, high)])
    consumer.poll(0.5)
    decode = msgspec.json.Decoder(Flight).decode
    seen: list[float] = []
    number = 0
    while len(seen) < WARM_UP + wanted:
        number += 1
        sent = time.monotonic()
        producer.produce(way.source, flights.detailed(number), partition=0)
        producer.poll(0)
        if number % way.one_in == way.one_in - 1:
            _wait_for(consumer, decode, number)
            seen.append((time.monotonic() - sent) * 1e3)
        time.sleep(max(0, EVERY_SECONDS - (time.monotonic() - sent)))
    producer.flush(10)
    consumer.close()
    return seen[WARM_UP:]


def _wait_for(consumer: Consumer, decode: Callable[[bytes], Flight], number: int) -> None:
    """Read until the flight is there; skip what comes before it."""
    while True:
        message = consumer.poll(WAIT_SECONDS)
        assert message is not None, f"flight {number} did not come in {WAIT_SECONDS:.0f} s"
        assert message.error() is None, message.error()
        if decode(message.value()).id == number:
            return
