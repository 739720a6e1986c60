"""The setting that all parts share: a gateway in a directory of its own, topics, records, machine load."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks import proc
from benchmarks.clients import flights
from compat_tests.broker import Broker
from compat_tests.kawal_broker import KawalBroker

Tell = Callable[[str], None]
"""A function that takes a line of figures."""

TOPIC = "flights"
BATCH_BYTES = 200_000
"""As a busy producer makes them."""


@contextmanager
def gateway() -> Iterator[KawalBroker]:
    """Run a gateway with its defaults."""
    with tempfile.TemporaryDirectory(prefix="kawal-views-") as directory:
        broker = KawalBroker(Path(directory), {})
        broker.start()
        try:
            yield broker
        finally:
            broker.kill()


@contextmanager
def watching(brokers: Sequence[Broker], tell: Tell) -> Iterator[None]:
    """Tell at the end how much of the machine was used by neither brokers nor loads."""
    pids = [broker.process.pid for broker in brokers]
    before, began = _strangers_seconds(pids), time.monotonic()
    yield
    share = (_strangers_seconds(pids) - before) / (proc.CORES * (time.monotonic() - began))
    tell(f"others used {max(0.0, share):.0%} of the machine's {proc.CORES} cores meanwhile")


def _strangers_seconds(pids: Sequence[int]) -> float:
    known = sum(proc.cpu_seconds(pid) for pid in pids) + proc.own_cpu_seconds()
    return proc.machine_cpu_seconds() - known


WARNINGS = 4
"""librdkafka's log level (syslog's): at level 6 it tells which events an admin client left unread."""


def admin(broker: Broker) -> AdminClient:
    """Return an admin client; keep it until its answers are there, as they end with it."""
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": WARNINGS})


def create(broker: Broker, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic or a view; `kawal_sql` stands for `kawal.sql`."""
    new = NewTopic(
        name, partitions, -1, config={key.replace("_", "."): text for key, text in configs.items()}
    )
    client = admin(broker)
    client.create_topics([new])[name].result(30)


def drop(broker: Broker, name: str) -> None:
    """Delete a topic or a view."""
    client = admin(broker)
    client.delete_topics([name])[name].result(30)


def fill(
    broker: Broker,
    topic: str,
    count: int,
    codec: str = "none",
    value: Callable[[int], bytes] = flights.value,
) -> None:
    """Produce `count` flights in batches of about 200 KB, and wait for the acknowledgements."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "linger.ms": 50,
        "batch.size": BATCH_BYTES,
        "compression.type": codec,
        "queue.buffering.max.messages": 50_000,
    }
    producer = Producer(settings)
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value(number), partition=0)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 100 == 0:
            producer.poll(0)
    left = producer.flush(120)
    assert left == 0, f"{left} records of {topic} were not acknowledged"
