"""Spark 4.2 structured streaming from topics: rate limits, checkpoints, topics that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import MakeTopic
from compat_tests.spark import run_available, spark_session
from compat_tests.topics import create_topic, delete_topic, grow_topic
from compat_tests.waiting import eventually


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def stream(spark: Any, broker: Broker, **options: Any) -> Any:
    """Return a streaming read from the earliest offset, whose values are numbers."""
    settings = {"kafka.bootstrap.servers": broker.bootstrap, "startingOffsets": "earliest", **options}
    rows = spark.readStream.format("kafka").options(**settings).load()
    return rows.selectExpr("cast(cast(value as string) as int) as number", "partition", "offset")


def numbers(broker: Broker, topic: str, first: int, count: int, *, partition: int = 0) -> None:
    produce(
        make_producer(broker), topic, [b"%d" % i for i in range(first, first + count)], partition=partition
    )


def landed(spark: Any, directory: Path) -> list[int]:
    return sorted(row.number for row in spark.read.parquet(str(directory / "rows")).collect())


def test_available_now_with_a_limit_reads_everything_in_batches_of_that_size(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    numbers(broker, topic, 0, 15)
    assert run_available(stream(spark, broker, subscribe=topic, maxOffsetsPerTrigger=5), tmp_path) == [
        5,
        5,
        5,
    ]
    assert landed(spark, tmp_path) == list(range(15))


def test_a_limit_is_shared_by_the_partitions(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(partitions=3)
    for partition, count in enumerate((100, 200, 10)):
        numbers(broker, topic, partition * 1_000, count, partition=partition)
    batches = run_available(stream(spark, broker, subscribe=topic, maxOffsetsPerTrigger=62), tmp_path)
    assert len(batches) >= 5
    assert max(batches) <= 64
    assert landed(spark, tmp_path) == [*range(100), *range(1_000, 1_200), *range(2_000, 2_010)]


def test_a_restart_from_the_checkpoint_reads_exactly_the_new_rows(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    numbers(broker, topic, 0, 50)
    assert sum(run_available(stream(spark, broker, subscribe=topic), tmp_path)) == 50
    assert run_available(stream(spark, broker, subscribe=topic), tmp_path) == []
    numbers(broker, topic, 50, 30)
    numbers(broker, topic, 80, 20, partition=1)
    assert sum(run_available(stream(spark, broker, subscribe=topic), tmp_path)) == 50
    assert landed(spark, tmp_path) == list(range(100))


def test_a_checkpoint_outlives_a_restart_of_the_broker(spark: Any, start_broker: Any, tmp_path: Path) -> None:
    own = start_broker()
    create_topic(own, "survivor", 1)
    numbers(own, "survivor", 0, 40)
    assert sum(run_available(stream(spark, own, subscribe="survivor"), tmp_path)) == 40
    own.kill()
    own.restart()
    numbers(own, "survivor", 40, 10)
    assert sum(run_available(stream(spark, own, subscribe="survivor"), tmp_path)) == 10
    assert landed(spark, tmp_path) == list(range(50))


def test_a_running_query_sees_new_rows_and_new_partitions(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    query = stream(spark, broker, subscribe=topic).writeStream.format("memory").queryName("live").start()

    def seen() -> set[int]:
        return {row.number for row in spark.table("live").collect()}

    try:
        numbers(broker, topic, 0, 5)
        eventually(lambda: seen() == set(range(5)), waiting_for="five rows")
        grow_topic(broker, topic, 2)
        numbers(broker, topic, 5, 5, partition=1)
        eventually(lambda: seen() == set(range(10)), waiting_for="rows of the new partition")
    finally:
        query.stop()


def test_a_stream_is_written_to_a_topic(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    numbers(broker, topic, 0, 100)
    target = create_topic(broker, f"{topic}-copy", 1)
    query = (
        stream(spark, broker, subscribe=topic)
        .selectExpr("cast(number as string) as value")
        .writeStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": broker.bootstrap, "topic": target})
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    with open_consumer(broker) as consumer:
        assert sorted(int(m.value()) for m in read(consumer, target, 100)) == list(range(100))


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_topic_made_again_with_fewer_records_is_data_loss(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path, fail: str
) -> None:
    topic = make_topic()
    numbers(broker, topic, 0, 10)
    source = stream(spark, broker, subscribe=topic, failOnDataLoss=fail)
    assert sum(run_available(source, tmp_path)) == 10
    delete_topic(broker, topic)
    make_topic()
    numbers(broker, topic, 10, 2)
    if fail == "true":
        with pytest.raises(Exception, match="was changed from 10 to 2"):
            run_available(source, tmp_path)
    else:
        run_available(source, tmp_path)
        numbers(broker, topic, 12, 10)
        run_available(source, tmp_path)
        assert set(landed(spark, tmp_path)) >= set(range(20, 22))
