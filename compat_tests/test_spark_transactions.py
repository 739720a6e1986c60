"""Spark reads committed records only, where kafka.isolation.level=read_committed asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import MakeTopic
from compat_tests.spark import run_available, spark_session

WITHIN = 60


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def producer_of(broker: Broker, name: str) -> Any:
    producer = make_producer(broker, transactional_id=name)
    producer.init_transactions(WITHIN)
    return producer


def write(producer: Any, topic: str, first: int, *, end: str | None, partitions: int = 2) -> None:
    """Write ten numbers in a transaction, and commit it, abort it or leave it open."""
    producer.begin_transaction()
    for number in range(first, first + 10):
        producer.produce(topic, b"%d" % number, partition=number % partitions)
    producer.flush(WITHIN)
    if end is not None:
        getattr(producer, f"{end}_transaction")(WITHIN)


def options(broker: Broker, topic: str, level: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "kafka.isolation.level": level,
    }


def numbers(frame: Any) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


def expected(*firsts: int) -> list[int]:
    return [number for first in firsts for number in range(first, first + 10)]


def test_a_batch_reads_committed_records_up_to_the_last_stable_offset(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    producer, other = producer_of(broker, topic), producer_of(broker, f"{topic}-other")
    for number, end in enumerate(("commit", "abort", "commit", "abort")):
        write(producer, topic, 10 * number, end=end)
    write(other, topic, 40, end=None)
    write(producer, topic, 50, end="commit")
    for level, found in (
        ("read_committed", expected(0, 20)),
        ("read_uncommitted", expected(0, 10, 20, 30, 40, 50)),
    ):
        rows = spark.read.format("kafka").options(**options(broker, topic, level)).load()
        assert numbers(rows) == found
    other.commit_transaction(WITHIN)
    rows = spark.read.format("kafka").options(**options(broker, topic, "read_committed")).load()
    assert numbers(rows) == expected(0, 20, 40, 50)


def test_a_stream_lands_what_is_committed_when_it_is_and_nothing_twice(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    producer, other = producer_of(broker, topic), producer_of(broker, f"{topic}-other")
    settings = {**options(broker, topic, "read_committed"), "maxOffsetsPerTrigger": "20"}

    def landed() -> list[int]:
        stream = spark.readStream.format("kafka").options(**settings).load()
        run_available(stream.selectExpr("cast(value as string) as value"), tmp_path)
        return numbers(spark.read.parquet(str(tmp_path / "rows")))

    write(producer, topic, 0, end="commit")
    write(producer, topic, 10, end="abort")
    write(other, topic, 20, end=None)
    write(producer, topic, 30, end="commit")
    assert landed() == expected(0)
    other.abort_transaction(WITHIN)
    assert landed() == expected(0, 30)
    write(producer, topic, 40, end="abort")
    write(producer, topic, 50, end="commit")
    assert landed() == expected(0, 30, 50)
