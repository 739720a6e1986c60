"""Spark's own tests of its Kafka source, re-created: queries that run while their topics change.

The names of Spark's tests are in the docstrings. Each query is waited for by what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, read
from compat_tests.conftest import MakeTopic
from compat_tests.spark import in_real_time, number_stream, run_available, spark_session
from compat_tests.topics import create_topic, delete_topic, grow_topic
from compat_tests.waiting import eventually

WITHIN = 60
READERS = 8


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def send(broker: Broker, topic: str, numbers: list[int], *, partition: int = 0) -> None:
    producer = make_producer(broker)
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(WITHIN) == 0


@contextmanager
def running(source: Any, name: str) -> Iterator[Any]:
    """Run a stream into the table in memory of this name for the block."""
    query = source.writeStream.format("memory").queryName(name).start()
    try:
        yield query
    finally:
        query.stop()


def await_numbers(spark: Any, name: str, numbers: list[int]) -> None:
    eventually(
        lambda: sorted(row.number for row in spark.table(name).collect()) == numbers,
        waiting_for=f"{len(numbers)} numbers",
    )


def test_a_query_goes_on_when_one_of_its_topics_is_deleted_while_it_runs(
    spark: Any, broker: Broker, topic: str
) -> None:
    """Re-create "delete a topic when a Spark job is running"."""
    names = [create_topic(broker, f"{topic}-{letter}", 1) for letter in "ab"]
    for name in names:
        send(broker, name, [1, 2])
    source = number_stream(spark, broker, subscribePattern=f"^{re.escape(topic)}-.$", failOnDataLoss="false")
    with running(source, "deleted"):
        await_numbers(spark, "deleted", [1, 1, 2, 2])
        delete_topic(broker, names[0])
        send(broker, names[1], [3])
        await_numbers(spark, "deleted", [1, 1, 2, 2, 3])


def test_a_query_that_starts_again_without_new_records_knows_where_it_is(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create "SPARK-22956: currentPartitionOffsets should be set when no new data comes in"."""
    topic = make_topic(5)
    options = {"subscribe": topic, "maxOffsetsPerTrigger": 5}
    send(broker, topic, [1])
    assert run_available(number_stream(spark, broker, **options), tmp_path) == [1]
    assert run_available(number_stream(spark, broker, **options), tmp_path) == []
    for partition in range(5):
        send(broker, topic, [10 + partition], partition=partition)
    assert sum(run_available(number_stream(spark, broker, **options), tmp_path)) == 5


@pytest.mark.parametrize(("level", "seen"), [("read_committed", True), ("read_uncommitted", False)])
def test_batches_of_three_offsets_begin_end_and_lie_within_what_no_reader_sees(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path, level: str, seen: bool
) -> None:
    """Re-create "read Kafka transactional messages": first, last, middle or all of a batch is invisible."""
    topic = make_topic(1)
    producer = make_producer(broker, transactional_id=topic)
    producer.init_transactions(WITHIN)
    written: list[tuple[list[int], str]] = [
        ([1, 2, 3, 4, 5], "commit"),
        ([6, 7, 8], "abort"),
        ([9, 10], "commit"),
        ([11, 12, 13, 14, 15, 16], "abort"),
        ([17], "commit"),
    ]
    for numbers, end in written:
        producer.begin_transaction()
        for number in numbers:
            producer.produce(topic, b"%d" % number, partition=0)
        assert producer.flush(WITHIN) == 0  # an abort takes back what was not sent
        getattr(producer, f"{end}_transaction")(WITHIN)
    options = {"subscribe": topic, "maxOffsetsPerTrigger": 3, "kafka.isolation.level": level}
    batches = run_available(number_stream(spark, broker, **options), tmp_path)
    assert max(batches) <= 3
    expected = [number for numbers, end in written for number in numbers if end == "commit" or not seen]
    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(row.number for row in rows) == sorted(expected)


def test_a_query_without_a_limit_is_nowhere_behind(spark: Any, broker: Broker, make_topic: MakeTopic) -> None:
    """Re-create "test custom metrics - no rate limit" and "input row metrics"."""
    topic = make_topic(2)
    send(broker, topic, list(range(10)))
    with running(number_stream(spark, broker, subscribe=topic), "unlimited") as query:
        query.processAllAvailable()
        [batch] = [each for each in query.recentProgress if each["numInputRows"]]
    metrics = batch["sources"][0]["metrics"]
    assert (batch["numInputRows"], batch["sources"][0]["numInputRows"]) == (10, 10)
    names = ("minOffsetsBehindLatest", "maxOffsetsBehindLatest", "avgOffsetsBehindLatest")
    assert [float(metrics[name]) for name in names] == [0, 0, 0]


def test_queries_at_once_read_one_partition_each_to_its_end(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    send(broker, topic, list(range(2_000)))
    names = [f"reader_{number}" for number in range(READERS)]
    queries = [
        number_stream(spark, broker, subscribe=topic, maxOffsetsPerTrigger=1_000)
        .writeStream.format("memory")
        .queryName(name)
        .trigger(availableNow=True)
        .start()
        for name in names
    ]
    assert all(query.awaitTermination(120) for query in queries)
    assert [spark.table(name).count() for name in names] == [2_000] * READERS


def test_a_query_in_real_time_mode_passes_on_what_comes_and_outlives_its_batches(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create KafkaRealTimeModeSuite "simple map" and "simple map with empty batch"."""
    topic = make_topic(1)
    target = create_topic(broker, f"{topic}-out", 1)
    query = in_real_time(spark, broker, number_stream(spark, broker, subscribe=topic), target, tmp_path)
    try:
        with open_consumer(broker) as consumer:
            send(broker, topic, [1, 2])
            assert [int(m.value()) for m in read(consumer, target, 2)] == [1, 2]
            eventually(  # a batch of which no record has come
                lambda: any(not each["numInputRows"] for each in query.recentProgress),
                waiting_for="an empty batch",
            )
            send(broker, topic, [3])
            assert [int(m.value()) for m in read(consumer, target, 1, offset=2)] == [3]
    finally:
        query.stop()


def test_a_query_in_real_time_mode_takes_a_partition_that_is_added(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create KafkaRealTimeModeSuite "add partition"."""
    topic = make_topic(1)
    target = create_topic(broker, f"{topic}-out", 1)
    query = in_real_time(spark, broker, number_stream(spark, broker, subscribe=topic), target, tmp_path)
    try:
        with open_consumer(broker) as consumer:
            send(broker, topic, [1])
            read(consumer, target, 1)
            grow_topic(broker, topic, 2)
            send(broker, topic, [2], partition=1)
            assert [int(m.value()) for m in read(consumer, target, 1, offset=1)] == [2]
    finally:
        query.stop()
