"""Spark's own tests of its Kafka source, re-created: every way to subscribe and to start.

The names of Spark's tests are in the docstrings. Each run reads what is there and ends
(Trigger.AvailableNow).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import MakeTopic
from compat_tests.spark import run_available, spark_session
from compat_tests.times import START_MS
from compat_tests.topics import create_topic, delete_topic

FIRST = {0: [0, 1, 2, 3, 4], 1: [100, 101, 102, 103, 104]}
"""The numbers in each partition before the query begins; offset n has the timestamp START_MS + n."""

HOWS = ["assign", "subscribe", "subscribePattern"]
STARTS = ["latest", "earliest", "offsets", "timestamps", "timestamp"]
TAKEN = {
    "latest": [],
    "earliest": [*FIRST[0], *FIRST[1]],
    "offsets": [3, 4, *FIRST[1]],
    "timestamps": [2, 3, 4, 104],
    "timestamp": [3, 4, 103, 104],
}
"""The numbers that a query with each start takes first."""


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def stream(spark: Any, broker: Broker, **options: Any) -> Any:
    """Return a streaming read whose values are numbers."""
    settings = {"kafka.bootstrap.servers": broker.bootstrap, **options}
    rows = spark.readStream.format("kafka").options(**settings).load()
    return rows.selectExpr("cast(cast(value as string) as int) as number", "partition", "offset")


def landed(spark: Any, directory: Path) -> list[int]:
    rows = directory / "rows"
    if not list(rows.glob("*.parquet")):
        return []
    return sorted(row.number for row in spark.read.parquet(str(rows)).collect())


def produce_numbers(broker: Broker, topic: str, numbers: dict[int, list[int]], *, first: int = 0) -> None:
    """Produce numbers to partitions; `first` is the offset, and so the timestamp, of the first in each."""
    producer = make_producer(broker)
    for partition, some in numbers.items():
        for at, number in enumerate(some, first):
            producer.produce(topic, b"%d" % number, partition=partition, timestamp=START_MS + at)
    assert producer.flush(60) == 0


def subscription(how: str, topic: str) -> dict[str, str]:
    return {
        "assign": {"assign": json.dumps({topic: [0, 1]})},
        "subscribe": {"subscribe": topic},
        "subscribePattern": {"subscribePattern": f"^{re.escape(topic)}$"},
    }[how]


def start(word: str, topic: str) -> dict[str, Any]:
    starts: dict[str, dict[str, Any]] = {
        "latest": {"startingOffsets": "latest"},
        "earliest": {"startingOffsets": "earliest"},
        "offsets": {"startingOffsets": json.dumps({topic: {"0": 3, "1": -2}})},
        "timestamps": {
            "startingOffsetsByTimestamp": json.dumps({topic: {"0": START_MS + 2, "1": START_MS + 4}})
        },
        "timestamp": {"startingTimestamp": START_MS + 3},
    }
    return starts[word]


def delete_before(broker: Broker, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    [deleted] = admin.delete_records([TopicPartition(topic, partition, offset)]).values()
    assert deleted.result(60).low_watermark == offset


@pytest.mark.parametrize("fail", ["true", "false"])
@pytest.mark.parametrize("word", STARTS)
@pytest.mark.parametrize("how", HOWS)
def test_every_subscription_starts_where_it_is_told_and_sees_deleted_records(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path, how: str, word: str, fail: str
) -> None:
    """Re-create "assign / subscribing topic by name / by pattern from latest / earliest / … offsets"."""
    topic = make_topic(2)
    produce_numbers(broker, topic, FIRST)
    options = {**subscription(how, topic), **start(word, topic), "failOnDataLoss": fail}
    source = stream(spark, broker, **options)
    run_available(source, tmp_path)
    assert landed(spark, tmp_path) == TAKEN[word]

    produce_numbers(broker, topic, {0: [5, 6], 1: [105]}, first=5)
    run_available(source, tmp_path)
    assert landed(spark, tmp_path) == sorted([*TAKEN[word], 5, 6, 105])

    produce_numbers(broker, topic, {0: [7, 8, 9]}, first=7)
    delete_before(broker, topic, 0, 9)
    if fail == "true":
        with pytest.raises(
            Exception, match=r"was changed from|[Cc]annot fetch|out of range|may have been lost"
        ):
            run_available(source, tmp_path)
    else:
        run_available(source, tmp_path)
        assert landed(spark, tmp_path) == sorted([*TAKEN[word], 5, 6, 105, 9])


@pytest.mark.parametrize("strategy", ["error", "latest"])
@pytest.mark.parametrize("key", ["startingTimestamp", "startingOffsetsByTimestamp"])
def test_a_start_after_the_last_record_is_an_error_or_the_end(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path, key: str, strategy: str
) -> None:
    """Re-create "… with non-matching starting offset" for both kinds of timestamps."""
    topic = make_topic(2)
    produce_numbers(broker, topic, FIRST)
    late = START_MS + 99_999
    given = late if key == "startingTimestamp" else json.dumps({topic: {"0": late, "1": late}})
    options = {"subscribe": topic, key: given, "startingOffsetsByTimestampStrategy": strategy}
    source = stream(spark, broker, **options)
    if strategy == "error":
        with pytest.raises(Exception, match="No offset matched"):
            run_available(source, tmp_path)
        return
    run_available(source, tmp_path)
    produce_numbers(broker, topic, {0: [5]}, first=5)
    run_available(source, tmp_path)
    assert landed(spark, tmp_path) == [5]


def test_a_batch_waits_for_the_least_number_of_records_or_for_the_delay(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create "minOffsetsPerTrigger" and "compositeReadLimit": a batch of 8 to 10, then a wait."""
    topic = make_topic(1)
    produce_numbers(broker, topic, {0: list(range(25))})
    options = {"minOffsetsPerTrigger": 8, "maxOffsetsPerTrigger": 10, "maxTriggerDelay": "60m"}
    source = stream(spark, broker, subscribe=topic, startingOffsets="earliest", **options)
    query = source.writeStream.format("memory").queryName("composite").start()
    try:
        query.processAllAvailable()
        sizes = [each["numInputRows"] for each in query.recentProgress if each["numInputRows"]]
        assert sizes == [10, 10]
        produce_numbers(broker, topic, {0: list(range(25, 28))})
        query.processAllAvailable()
        assert sum(each["numInputRows"] for each in query.recentProgress) == 28
    finally:
        query.stop()


def test_a_pattern_goes_on_when_one_of_its_topics_is_deleted(
    spark: Any, broker: Broker, topic: str, tmp_path: Path
) -> None:
    """Re-create "subscribing topic by pattern with topic deletions"."""
    names = [create_topic(broker, f"{topic}-{letter}", 1) for letter in "ab"]
    produce_numbers(broker, names[0], {0: [1, 2, 3]})
    options = {"subscribePattern": f"^{re.escape(topic)}-.$", "startingOffsets": "earliest"}
    source = stream(spark, broker, failOnDataLoss="false", **options)
    run_available(source, tmp_path)
    delete_topic(broker, names[0])
    produce_numbers(broker, names[1], {0: [4, 5]})
    run_available(source, tmp_path)
    assert landed(spark, tmp_path) == [1, 2, 3, 4, 5]


def test_a_topic_of_a_pattern_that_is_made_again_between_batches_is_data_loss(
    spark: Any, broker: Broker, topic: str, tmp_path: Path
) -> None:
    """Re-create "subscribe topic by pattern with topic recreation between batches"."""
    names = [create_topic(broker, f"{topic}-{letter}", 1) for letter in "ab"]
    for name in names:
        produce_numbers(broker, name, {0: [1, 3]})
    options = {"subscribePattern": f"^{re.escape(topic)}-.$", "startingOffsets": "earliest"}
    source = stream(spark, broker, failOnDataLoss="true", **options)
    run_available(source, tmp_path)
    delete_topic(broker, names[0])
    create_topic(broker, names[0], 1)
    produce_numbers(broker, names[0], {0: [4]})
    produce_numbers(broker, names[1], {0: [6]})
    with pytest.raises(Exception, match="was changed from 2 to 1"):
        run_available(source, tmp_path)


def test_one_partition_is_read_by_several_tasks_in_every_batch(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create "SPARK-30656: minPartitions" for a stream, with a consumer for each range of offsets."""
    topic = make_topic(1)
    produce_numbers(broker, topic, {0: list(range(1_000))})
    source = stream(spark, broker, subscribe=topic, startingOffsets="earliest", minPartitions=6)
    assert run_available(source, tmp_path) == [1_000]
    assert landed(spark, tmp_path) == list(range(1_000))


def test_keys_and_values_that_are_null_are_rows(spark: Any, broker: Broker, make_topic: MakeTopic) -> None:
    """Re-create "SPARK-27494: read kafka record containing null key/values"."""
    topic = make_topic(1)
    producer = make_producer(broker)
    for key, value in ((None, b"v"), (b"k", None), (None, None)):
        producer.produce(topic, value, key=key, partition=0)
    assert producer.flush(60) == 0
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    query = (
        spark.readStream.format("kafka")
        .options(**options)
        .load()
        .selectExpr("cast(key as string) as key", "cast(value as string) as value", "offset")
        .writeStream.format("memory")
        .queryName("nulls")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    rows = spark.table("nulls").orderBy("offset").collect()
    assert [(row.key, row.value) for row in rows] == [(None, "v"), ("k", None), (None, None)]


def test_a_stream_joined_with_itself_reads_the_same_offsets_on_both_sides(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create "ensure stream-stream self-join generates only one offset in log and correct metrics"."""
    topic = make_topic(2)
    produce_numbers(broker, topic, {0: [1, 2], 1: [3]})
    numbers = stream(spark, broker, subscribe=topic, startingOffsets="earliest").select("number")
    query = (
        numbers.alias("a")
        .join(numbers.alias("b"), "number")
        .writeStream.format("memory")
        .queryName("joined")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(90)
    assert sorted(row.number for row in spark.table("joined").collect()) == [1, 2, 3]


def test_a_watermark_moves_with_the_records_timestamps(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create "KafkaSource with watermark"."""
    topic = make_topic(1)
    produce_numbers(broker, topic, {0: [1, 2, 3]})
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    query = (
        spark.readStream.format("kafka")
        .options(**options)
        .load()
        .withWatermark("timestamp", "10 seconds")
        .groupBy("topic")
        .count()
        .writeStream.format("memory")
        .queryName("watermark")
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(90)
    assert [row["count"] for row in spark.table("watermark").collect()] == [3]


def test_the_progress_tells_how_far_behind_the_query_is(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create "test custom metrics - with rate limit": offsets behind the latest, least, most and mean."""
    topic = make_topic(2)
    produce_numbers(broker, topic, {0: list(range(10)), 1: list(range(4))})
    source = stream(spark, broker, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=2)
    query = source.writeStream.format("memory").queryName("metrics").start()
    try:
        query.processAllAvailable()
        behind = [each["sources"][0]["metrics"] for each in query.recentProgress if each["numInputRows"]]
    finally:
        query.stop()
    assert float(behind[0]["maxOffsetsBehindLatest"]) >= 8
    assert {"minOffsetsBehindLatest", "avgOffsetsBehindLatest"} <= behind[0].keys()
    assert float(behind[-1]["maxOffsetsBehindLatest"]) == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "one of the following source options must be specified|must be specified"),
        ({"subscribe": "t", "subscribePattern": "t.*"}, "Only one of"),
        ({"assign": ""}, "No topicpartitions to assign"),
        ({"subscribe": ""}, "No topics to subscribe"),
        ({"subscribePattern": ""}, "Pattern to subscribe is empty"),
        ({"subscribe": "t", "startingOffsets": "nonsense"}, "Unexpected format|nonsense"),
        ({"subscribe": "t", "kafka.auto.offset.reset": "latest"}, "auto.offset.reset. is not supported"),
        ({"subscribe": "t", "kafka.key.deserializer": "x"}, "key.deserializer"),
        ({"subscribe": "t", "kafka.enable.auto.commit": "true"}, "enable.auto.commit"),
        ({"subscribe": "t", "kafka.interceptor.classes": "x"}, "interceptor.classes"),
    ],
)
def test_options_that_contradict_the_source_are_refused(
    spark: Any, broker: Broker, tmp_path: Path, options: dict[str, str], problem: str
) -> None:
    """Re-create "bad source options" and "unsupported kafka configs"."""
    with pytest.raises(Exception, match=problem):
        run_available(stream(spark, broker, **options), tmp_path)
