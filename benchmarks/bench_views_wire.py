"""What views cost on the wire: `python -m benchmarks.bench_views_wire [--only NAME …]`.

    bytes      what a client receives of 1 KB JSON records of which 1 % match, from the topic and from a view
    scan       processor time of the server for each record it looks at, read from stored batches
    latency    from produce to consume, on the plain topic and on a view that shows every record
    thousand   1,000 views with one waiting consumer each: memory, processor time idle and under load

Raw sockets for what is to be counted, librdkafka for latencies.  The gateway runs with its defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.clients.idle_views import IdleConsumers
from compat_tests.kawal_broker import KawalBroker

COLUMNS = "id bigint, delay int, carrier varchar(8), body varchar(2000)"
VALUE_BYTES = 1_024
RECORDS = 200_000
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
VIEWS = 1_000


def value(number: int) -> bytes:
    """One JSON record of 1 KB; of a hundred records one has a delay of 99."""
    head = {"id": number, "delay": number % 100, "carrier": f"C{number % 20}"}
    text = json.dumps(head)[:-1] + ', "body": "'
    return (text + "x" * (VALUE_BYTES - len(text) - 2) + '"}').encode()


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_bytes(pid: int) -> int:
    """The resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


@contextmanager
def gateway() -> Iterator[KawalBroker]:
    """A gateway in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="kawal-views-") as directory:
        broker = KawalBroker(Path(directory), {})
        broker.start()
        try:
            yield broker
        finally:
            broker.kill()


def create(broker: KawalBroker, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic or a view."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    new = NewTopic(
        name, partitions, -1, config={key.replace("_", "."): text for key, text in configs.items()}
    )
    admin.create_topics([new])[name].result(30)


def fill(broker: KawalBroker, count: int, codec: str = "none") -> None:
    """Create `flights` with so many records in batches of about 200 KB, as a busy producer makes them."""
    create(broker, "flights", kawal_columns=COLUMNS)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 50,
            "batch.size": 200_000,
            "compression.type": codec,
        }
    )
    for number in range(count):
        while True:
            try:
                producer.produce("flights", value(number), partition=0)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush(120)


def read_all(broker: KawalBroker, topic: str, end: int) -> float:
    """The seconds that reading a topic from 0 to `end` takes."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "bench",
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    began = time.monotonic()
    while True:
        for message in consumer.consume(10_000, 0.5):
            if message.error() is not None and message.offset() >= end:
                consumer.close()
                return time.monotonic() - began


def measure_bytes(tell: Callable[[str], None]) -> None:
    """Bytes to the client at 1 %."""
    with gateway() as broker:
        fill(broker, RECORDS)
        create(broker, "late", -1, kawal_sql="SELECT id, carrier FROM flights WHERE delay = 99")
        create(broker, "whole", -1, kawal_sql="SELECT * FROM flights WHERE delay = 99")
        plain = IdleConsumers.bytes_of_topic(broker.port, "flights", RECORDS)
        tell(f"plain topic: {plain:,} bytes of answers, filtered by the client")
        for view in ("late", "whole"):
            sent = IdleConsumers.bytes_of_topic(broker.port, view, RECORDS)
            tell(f"view {view}: {sent:,} bytes of answers, {plain / sent:.0f} times fewer")


def measure_scan(tell: Callable[[str], None]) -> None:
    """Processor time per record looked at."""
    statements = {
        "1 %, two columns": "SELECT id, carrier FROM flights WHERE delay = 99",
        "1 %, whole record": "SELECT * FROM flights WHERE delay = 99",
        "nothing": "SELECT id FROM flights WHERE delay > 1000",
        "everything, two columns": "SELECT id, carrier FROM flights WHERE delay >= 0",
    }
    for codec in ("none", "lz4", "zstd"):
        with gateway() as broker:
            fill(broker, RECORDS, codec)
            for number, (title, sql) in enumerate(statements.items()):
                create(broker, f"v{number}", -1, kawal_sql=sql)
                before = processor_seconds(broker.process.pid)
                seconds = read_all(broker, f"v{number}", RECORDS)
                used = processor_seconds(broker.process.pid) - before
                tell(
                    f"{codec:>5}, {title}: {used / RECORDS * 1e6:.2f} µs per record,"
                    f" {RECORDS / used:,.0f} records/s per core ({RECORDS / seconds:,.0f}/s seen)"
                )
                before = processor_seconds(broker.process.pid)
                read_all(broker, f"v{number}", RECORDS)
                used = processor_seconds(broker.process.pid) - before
                tell(f"{'':>5}  again: {used / RECORDS * 1e6:.2f} µs per record")


def measure_latency(tell: Callable[[str], None]) -> None:
    """From produce to consume at 200 records a second."""
    with gateway() as broker:
        create(broker, "flights", kawal_columns=COLUMNS)
        create(broker, "all", -1, kawal_sql="SELECT id, delay FROM flights WHERE delay >= 0")
        for topic in ("flights", "all", "flights", "all"):
            p50, p99 = _latency(broker, topic, 2_000)
            tell(f"{topic}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def _latency(broker: KawalBroker, topic: str, count: int) -> tuple[float, float]:
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
        producer.produce("flights", value(number), partition=0)
        producer.poll(0)
        message = consumer.poll(5)
        assert message is not None
        assert message.error() is None, message.error()
        seen.append((time.monotonic() - sent) * 1e3)
        time.sleep(max(0, 0.005 - (time.monotonic() - sent)))
    producer.flush(10)
    consumer.close()
    cuts = quantiles(seen[100:], n=100)
    return cuts[49], cuts[98]


def measure_thousand(tell: Callable[[str], None]) -> None:
    """1,000 views on one topic with one waiting consumer each."""
    with gateway() as broker:
        create(broker, "flights", kawal_columns=COLUMNS)
        pid = broker.process.pid
        empty = memory_bytes(pid)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        began = time.monotonic()
        for start in range(0, VIEWS, 100):
            new = [
                NewTopic(
                    f"v{number}",
                    -1,
                    -1,
                    config={"kawal.sql": f"SELECT id FROM flights WHERE id % {VIEWS} = {number}"},
                )
                for number in range(start, start + 100)
            ]
            for made in admin.create_topics(new).values():
                made.result(60)
        tell(f"{VIEWS} views made in {time.monotonic() - began:.1f} s")
        with IdleConsumers(broker.port, [f"v{number}" for number in range(VIEWS)]) as consumers:
            consumers.run(3)
            tell(f"memory: {(memory_bytes(pid) - empty) / 1e6:.0f} MB more than with none")
            _under(consumers, pid, 0, tell, broker)
            for rate in (10, 100, 1_000, 10_000):
                _under(consumers, pid, rate, tell, broker)
            tell(f"memory at the end: {memory_bytes(pid) / 1e6:.0f} MB")


def _under(
    consumers: IdleConsumers, pid: int, rate: int, tell: Callable[[str], None], broker: KawalBroker
) -> None:
    """Ten seconds with so many records a second."""
    seconds = 10
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20})
    acknowledged: list[float] = []
    before, answers, began = processor_seconds(pid), consumers.answers, time.monotonic()
    sent = 0
    while (elapsed := time.monotonic() - began) < seconds:
        while sent < rate * elapsed:
            at = time.monotonic()
            producer.produce(
                "flights",
                value(sent),
                partition=0,
                on_delivery=lambda *_, at=at: acknowledged.append(time.monotonic() - at),
            )
            sent += 1
        producer.poll(0)
        consumers.run(0.02)
    used = processor_seconds(pid) - before
    producer.flush(60)
    p99 = (
        f", produce p99 {quantiles(acknowledged, n=100)[98] * 1e3:.0f} ms" if len(acknowledged) > 100 else ""
    )
    tell(
        f"{rate:,} records/s: {used / seconds:.0%} of a core,"
        f" {(consumers.answers - answers) / seconds:,.0f} answers/s{p99}"
    )
    if rate:
        lag = consumers.run_until_all_at(sent_end(broker), within_seconds=60)
        tell(f"      all views at the end {lag:.1f} s after the last record")


def sent_end(broker: KawalBroker) -> int:
    """The end of the source."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "e"})
    end = int(consumer.get_watermark_offsets(TopicPartition("flights", 0), 10)[1])
    consumer.close()
    return end


PARTS = {
    "bytes": measure_bytes,
    "scan": measure_scan,
    "latency": measure_latency,
    "thousand": measure_thousand,
}


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    for name in parser.parse_args().only:
        print(f"--- {name}", flush=True)
        PARTS[name](lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
