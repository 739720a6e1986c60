"""Spark 4.2 batch reads and writes with its Kafka connector (kafka-clients 3.9)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import MakeTopic
from compat_tests.spark import spark_session
from compat_tests.times import START_MS


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def batch(spark: Any, broker: Broker, **options: Any) -> Any:
    """Return a batch read; `subscribe` and every other option as the connector names them."""
    return (
        spark.read.format("kafka").options(**{"kafka.bootstrap.servers": broker.bootstrap, **options}).load()
    )


def values(frame: Any) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


def numbered(broker: Broker, topic: str, *, count: int, partition: int = 0, first: int = 0) -> None:
    """Produce the numbers `first`.. with the timestamp START_MS + number."""
    producer = make_producer(broker)
    for i in range(first, first + count):
        producer.produce(topic, b"%d" % i, partition=partition, timestamp=START_MS + i)
    assert producer.flush(60) == 0


def test_a_batch_read_returns_every_column(spark: Any, broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    headers = [("trace", b"1"), ("trace", b"2"), ("null", None)]
    producer = make_producer(broker)
    producer.produce(topic, b"v0", b"k0", partition=0, timestamp=START_MS, headers=headers)
    producer.produce(topic, None, b"k1", partition=0, timestamp=START_MS + 1)
    producer.produce(topic, b"", None, partition=0, timestamp=START_MS + 2)
    assert producer.flush(60) == 0
    frame = batch(spark, broker, subscribe=topic, includeHeaders="true")
    rows = frame.selectExpr("*", "unix_millis(timestamp) as ms").orderBy("offset").collect()
    assert [(r.key, r.value, r.topic, r.partition, r.offset, r.ms, r.timestampType) for r in rows] == [
        (b"k0", b"v0", topic, 0, 0, START_MS, 0),
        (b"k1", None, topic, 0, 1, START_MS + 1, 0),
        (None, b"", topic, 0, 2, START_MS + 2, 0),
    ]
    assert [(h.key, h.value) for h in rows[0].headers] == headers
    assert [r.headers for r in rows[1:]] == [None, None]


def test_a_batch_read_between_offsets_takes_exactly_those(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    numbered(broker, topic, count=100)
    numbered(broker, topic, count=100, partition=1, first=1_000)
    starts, ends = json.dumps({topic: {"0": 10, "1": -2}}), json.dumps({topic: {"0": 20, "1": 5}})
    frame = batch(spark, broker, subscribe=topic, startingOffsets=starts, endingOffsets=ends)
    assert values(frame) == [*range(10, 20), *range(1_000, 1_005)]
    one = batch(spark, broker, assign=json.dumps({topic: [1]}))
    assert values(one) == list(range(1_000, 1_100))


def test_a_batch_read_between_timestamps_takes_exactly_those(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    numbered(broker, topic, count=100)
    numbered(broker, topic, count=100, partition=1)
    globally = batch(
        spark, broker, subscribe=topic, startingTimestamp=START_MS + 30, endingTimestamp=START_MS + 33
    )
    assert values(globally) == [30, 30, 31, 31, 32, 32]
    starts = json.dumps({topic: {"0": START_MS + 98, "1": START_MS + 50}})
    ends = json.dumps({topic: {"0": START_MS + 9_999, "1": START_MS + 52}})
    each = batch(
        spark, broker, subscribe=topic, startingOffsetsByTimestamp=starts, endingOffsetsByTimestamp=ends
    )
    assert values(each) == [50, 51, 98, 99]


def test_a_start_after_the_last_timestamp_fails_or_reads_nothing_as_asked(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    numbered(broker, topic, count=5)
    options = {"subscribe": topic, "startingTimestamp": START_MS + 9_999}
    with pytest.raises(Exception, match="No offset matched"):
        batch(spark, broker, **options).collect()
    assert values(batch(spark, broker, startingOffsetsByTimestampStrategy="latest", **options)) == []


def test_min_partitions_lets_several_tasks_read_one_partition(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    numbered(broker, topic, count=1_000)
    frame = batch(spark, broker, subscribe=topic, minPartitions="8")
    assert frame.rdd.getNumPartitions() == 8
    assert values(frame) == list(range(1_000))


def test_a_pattern_subscribes_to_every_topic_it_matches(spark: Any, broker: Broker, topic: str) -> None:
    for i, name in enumerate((f"{topic}-a", f"{topic}-b", f"other-{topic}")):
        produce(make_producer(broker), name, [b"%d" % i])
    assert values(batch(spark, broker, subscribePattern=f"^{topic}-.*")) == [0, 1]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_of_every_codec_are_read(
    spark: Any, broker: Broker, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic()
    producer = make_producer(broker, compression_type=codec, linger_ms=50)
    produce(producer, topic, [b"%09d" % i for i in range(5_000)])
    assert values(batch(spark, broker, subscribe=topic)) == list(range(5_000))


def test_log_append_time_and_read_committed_are_understood(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    numbered(broker, topic, count=3)
    rows = batch(spark, broker, subscribe=topic, **{"kafka.isolation.level": "read_committed"}).collect()
    assert [r.timestampType for r in rows] == [1, 1, 1]
    assert min(r.timestamp.timestamp() for r in rows) * 1_000 > START_MS + 10_000


def test_an_unknown_topic_fails_the_read(spark: Any, broker: Broker, topic: str) -> None:
    with pytest.raises(Exception, match=r"UnknownTopicOrPartition|does not host this topic"):
        batch(spark, broker, subscribe=topic).collect()


def test_the_sink_writes_keys_values_headers_and_partitions(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    frame = spark.sql(
        """SELECT * FROM VALUES
             (binary('k0'), binary('v0'), 0, array(named_struct('key', 'h', 'value', binary('1')),
                                                   named_struct('key', 'h', 'value', binary(NULL)))),
             (NULL, binary('v1'), 1, NULL) AS rows(key, value, partition, headers)"""
    )
    frame.write.format("kafka").options(
        **{"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "includeHeaders": "true"}
    ).save()
    with open_consumer(broker) as consumer:
        (first,) = read(consumer, topic, 1)
        (second,) = read(consumer, topic, 1, partition=1)
    assert (first.key(), first.value(), first.headers()) == (b"k0", b"v0", [("h", b"1"), ("h", None)])
    assert (second.key(), second.value(), second.headers()) == (None, b"v1", None)


def test_many_rows_survive_the_sink_and_the_source(spark: Any, broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=4)
    rows = spark.range(100_000).selectExpr("cast(id as string) as key", "cast(id * 7 as string) as value")
    rows.write.format("kafka").options(**{"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}).save()
    back = batch(spark, broker, subscribe=topic).selectExpr(
        "count(*) as n",
        "sum(cast(cast(value as string) as bigint)) as total",
        "count(distinct partition) as partitions",
    )
    row = back.first()
    assert (row.n, row.total, row.partitions) == (100_000, 7 * sum(range(100_000)), 4)
