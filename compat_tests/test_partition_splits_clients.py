"""Partitions that split under Java's clients, franz-go and Spark: each sees the records of a key in order."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.confluent import make_producer
from compat_tests.conftest import MakeTopic
from compat_tests.java import java_command
from compat_tests.spark import run_available, spark_session
from compat_tests.test_partition_splits import KEYS, SPLITTING, split
from compat_tests.test_share_groups import configure
from compat_tests.topics import create_topic

pytestmark = [
    pytest.mark.only_kawal(reason="partitions of Apache Kafka do not split"),
    pytest.mark.timeout(300),
]

SPLITS = (0, 1, 0, 2)
STEP = 400
"""The numbers written under each key between two splits."""

NUMBERS = STEP * (len(SPLITS) + 1)
RECORDS = NUMBERS * len(KEYS)
WITHIN_SECONDS = 120

ROW = re.compile(r"\d+ \S+ \d+")
"""A partition, a key and a number, as Splits.java prints a record."""


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def in_order(rows: list[tuple[int, str, int]], numbers: int = NUMBERS) -> None:
    """Check that rows of partition, key and number have each key's numbers in order, over all partitions."""
    by_key: dict[str, list[int]] = {}
    for _, key, number in rows:
        by_key.setdefault(key, []).append(number)
    assert by_key == {key.decode(): list(range(numbers)) for key in KEYS}


def _row(line: str) -> tuple[int, str, int]:
    partition, key, number = line.split()
    return int(partition), key, int(number)


@contextmanager
def java(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run Splits.java until the end of the block."""
    command = java_command(str(Path(__file__).with_name("Splits.java")), *arguments)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(writer: subprocess.Popen[str], upto: int) -> None:
    """Have the writer write all numbers up to one."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(f"{upto}\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == f"written {upto}\n"


def test_java_reads_each_key_in_order_by_every_kind_of_group_while_it_writes_over_splits(
    broker: Broker, make_topic: MakeTopic
) -> None:
    kept = make_topic(**SPLITTING)
    if not shares_in_order(broker, kept):
        configs = {key.replace("_", "."): value for key, value in SPLITTING.items()}
        again = create_topic(broker, f"{kept}-again", 1, configs)
        assert shares_in_order(broker, again), "a share group gave a key's records in another order, twice"


def shares_in_order(broker: Broker, topic: str) -> bool:
    """Read a topic by each kind of group while it is written and split; only a share group may fail in order.

    What a busy member does not take in time is given again, after what comes later: so share groups are.
    """
    configure(broker, f"{topic}-java-share", share_auto_offset_reset="earliest")
    with ExitStack() as running:
        writer = running.enter_context(java(broker.bootstrap, topic, "write"))
        ask(writer, 10)
        readers = [
            running.enter_context(java(broker.bootstrap, topic, protocol, str(RECORDS)))
            for protocol in ("consumer", "classic", "share")
        ]
        for number, partition in enumerate((*SPLITS, None), 1):
            ask(writer, number * STEP)
            if partition is not None:
                split(broker, topic, partition)
        for reader in readers:
            out, err = reader.communicate(timeout=WITHIN_SECONDS)
            assert reader.returncode == 0, err
            # Java's log goes there, too: what is answered while its consumer leaves is an error to it.
            rows = [_row(line) for line in out.splitlines() if ROW.fullmatch(line)]
            assert len({partition for partition, _, _ in rows}) > 1
            if reader is not readers[-1]:
                in_order(rows)
    in_order(sorted(rows, key=lambda row: row[2]))
    numbers = [[number for _, found, number in rows if found == key.decode()] for key in KEYS]
    return all(found == sorted(found) for found in numbers)


def write(broker: Broker, topic: str, numbers: range) -> None:
    """Write numbers under each key, by librdkafka's own hash; values are words for franz-go's share group."""
    producer = make_producer(broker, metadata_max_age_ms=1_000)
    for number in numbers:
        for key in KEYS:
            producer.produce(topic, b"%d" % number, key)
        producer.poll(0)
    assert producer.flush(60) == 0


def test_franz_go_gets_a_child_after_it_has_committed_the_parent(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(**SPLITTING)
    write(broker, topic, range(STEP))
    split(broker, topic, 0)
    write(broker, topic, range(STEP, 2 * STEP))
    program = Program("franz-go", COMMANDS["franz-go"], tmp_path / "program.log")
    try:
        asked = {"bootstrap": broker.bootstrap, "topic": topic, "group": topic}
        # All of the parent, with what came for its half after the split; then the child.
        parent = program.ask("consume_group", **asked, count=3 * STEP)["records"]
        assert {record["partition"] for record in parent} == {0}
        child = program.ask("consume_group", **asked, count=STEP)["records"]
        assert {record["partition"] for record in child} == {1}
    finally:
        program.close()
    rows = [(record["partition"], record["key"], int(record["value"])) for record in parent + child]
    in_order(rows, 2 * STEP)


def test_a_share_group_of_franz_go_gets_all_records_over_splits(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(**SPLITTING)
    configure(broker, topic, share_auto_offset_reset="earliest")
    producer = make_producer(broker, metadata_max_age_ms=1_000)
    program = Program("franz-go", COMMANDS["franz-go"], tmp_path / "program.log")
    count = 0
    try:
        for partition in SPLITS[:2]:
            for key in KEYS * 20:
                producer.produce(topic, b"accept", key)
                count += 1
            assert producer.flush(60) == 0
            split(broker, topic, partition)
        asked = {"bootstrap": broker.bootstrap, "topic": topic, "group": topic, "wait": 0, "strict": 0}
        seen = program.ask("work", **asked, count=count)
    finally:
        program.close()
    assert seen["deliveries"] == [["accept", 1]] * count
    assert seen["refused"] == []


def _rows(frame: Any) -> list[tuple[int, str, int]]:
    found = frame.selectExpr("partition", "cast(key as string) as key", "cast(value as string) as value")
    return [(row.partition, row.key, int(row.value)) for row in found.collect()]


def test_spark_reads_all_records_once_over_splits_as_a_batch_and_as_a_stream(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Spark has no group that is held back: each record comes once, and each partition in its order."""
    topic = make_topic(**SPLITTING)
    spark = spark_session()
    options = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    for number, partition in enumerate(SPLITS[:3]):
        write(broker, topic, range(number * STEP, number * STEP + STEP // 2))
        split(broker, topic, partition)
        write(broker, topic, range(number * STEP + STEP // 2, (number + 1) * STEP))
        run_available(spark.readStream.format("kafka").options(**options).load(), tmp_path)
        everything = {(key.decode(), value) for key in KEYS for value in range((number + 1) * STEP)}
        batch = _rows(spark.read.format("kafka").options(**options).load())
        landed = _rows(spark.read.parquet(str(tmp_path / "rows")))
        for rows in (batch, landed):
            assert len(rows) == len(everything)
            assert {(key, value) for _, key, value in rows} == everything
    assert {partition for partition, _, _ in landed} >= {0, 1}
