"""The server's CPU time for each record it looks at, read from stored batches."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition

from benchmarks import proc
from benchmarks.clients import flights
from benchmarks.views_wire.setting import TOPIC, Tell, create, fill, gateway
from compat_tests.broker import Broker

RECORDS, QUICK_RECORDS = 200_000, 60_000
STATEMENTS = {
    "1 %, two columns": "SELECT id, carrier FROM flights WHERE delay = 99",
    "1 %, whole record": "SELECT * FROM flights WHERE delay = 99",
    "nothing": "SELECT id FROM flights WHERE delay > 1000",
    "everything, two columns": "SELECT id, carrier FROM flights WHERE delay >= 0",
}
CODECS = ("none", "lz4", "zstd")


def measure(tell: Tell, *, quick: bool) -> None:
    """Measure processor time per record looked at, by codec: from stored batches, then from the cache."""
    count = QUICK_RECORDS if quick else RECORDS
    for codec in CODECS:
        with gateway() as broker:
            create(broker, TOPIC, kawal_columns=flights.COLUMNS)
            fill(broker, TOPIC, count, codec)
            # The first view of all pays for loading the code of views, which has nothing to do with records.
            create(broker, "first", -1, kawal_sql="SELECT id FROM flights WHERE delay = 98")
            tell(f"{codec:>5}, the first view since the start: {_cost(broker, 'first', count)[0]:.3f} s")
            for number, (title, sql) in enumerate(STATEMENTS.items()):
                view = f"v{number}"
                create(broker, view, -1, kawal_sql=sql)
                used, seconds = _cost(broker, view, count)
                tell(
                    f"{codec:>5}, {title}: {used / count * 1e6:.2f} µs per record,"
                    f" {count / used:,.0f} records/s per core ({count / seconds:,.0f}/s seen)"
                )
                used, _ = _cost(broker, view, count)
                tell(f"{'':>5}  again: {used / count * 1e6:.2f} µs per record")


def _cost(broker: Broker, view: str, end: int) -> tuple[float, float]:
    """Return the processor seconds of the server, and the seconds, to read a view to its end."""
    before = proc.run_seconds(broker.process.pid)
    seconds = read_all(broker, view, end)
    return proc.run_seconds(broker.process.pid) - before, seconds


def read_all(broker: Broker, topic: str, end: int) -> float:
    """Return the seconds that reading a topic from 0 to `end` takes."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "bench",
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        # The end is told by an answer without records, which a server delays for this long.
        "fetch.wait.max.ms": 10,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    began = time.monotonic()
    while True:
        first = consumer.poll(0.5)
        # What is there, without waiting for a fixed number.
        for message in [] if first is None else [first, *consumer.consume(10_000, 0)]:
            if message.error() is not None and message.offset() >= end:
                consumer.close()
                return time.monotonic() - began
