"""Spark's own tests of its Kafka sink and of batch reads, re-created: KafkaSinkSuite, KafkaRelationSuite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import MakeTopic
from compat_tests.spark import spark_session
from compat_tests.topics import create_topic, delete_topic


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def write(spark: Any, broker: Broker, columns: str, **options: str) -> None:
    """Write one row of these SQL columns."""
    spark.sql(f"SELECT {columns}").write.format("kafka").options(
        **{"kafka.bootstrap.servers": broker.bootstrap, **options}
    ).save()


def batch(spark: Any, broker: Broker, **options: Any) -> Any:
    return (
        spark.read.format("kafka").options(**{"kafka.bootstrap.servers": broker.bootstrap, **options}).load()
    )


def numbers(frame: Any) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


def test_the_topic_option_beats_the_topic_column(spark: Any, broker: Broker, make_topic: MakeTopic) -> None:
    """Re-create "batch - topic field and topic option"."""
    chosen = make_topic()
    other = create_topic(broker, f"{chosen}-other", 1)
    write(spark, broker, f"'{other}' AS topic, 'a' AS value", topic=chosen)
    write(spark, broker, f"'{other}' AS topic, 'b' AS value")
    with open_consumer(broker) as consumer:
        assert [message.value() for message in read(consumer, chosen, 1)] == [b"a"]
        assert [message.value() for message in read(consumer, other, 1)] == [b"b"]


def test_the_partition_column_beats_the_partitioner(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create "batch - partition column vs default partitioner"."""
    topic = make_topic(4)
    for partition in range(4):
        write(spark, broker, f"'{partition}' AS value, 'k' AS key, {partition} AS partition", topic=topic)
    rows = (
        batch(spark, broker, subscribe=topic).selectExpr("cast(value as string) as v", "partition").collect()
    )
    assert sorted((row.v, row.partition) for row in rows) == [(str(p), p) for p in range(4)]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("'v' AS other", "value"),
        ("1 AS value", "value"),
        ("'v' AS value, 1.5 AS key", "key"),
        ("'v' AS value, 5 AS topic", "topic"),
        ("'v' AS value, 'x' AS partition", "partition"),
        ("'v' AS value, 'x' AS headers", "headers"),
    ],
)
def test_columns_of_the_wrong_type_are_refused(
    spark: Any, broker: Broker, make_topic: MakeTopic, columns: str, problem: str
) -> None:
    """Re-create "batch - write data with bad schema" and "write data with valid schema but wrong types"."""
    topic = make_topic()
    options = {} if problem == "topic" else {"topic": topic}
    with pytest.raises(Exception, match=problem):
        write(spark, broker, columns, **options)
    assert batch(spark, broker, subscribe=topic).count() == 0


def test_a_row_without_a_topic_is_refused(spark: Any, broker: Broker) -> None:
    """Re-create "batch - null topic field value, and no topic option"."""
    with pytest.raises(Exception, match="null topic"):
        write(spark, broker, "cast(null as string) AS topic, 'v' AS value")


def test_a_topic_that_does_not_exist_fails_the_job(spark: Any, broker: Broker, topic: str) -> None:
    """Re-create "batch - write to non-existing topic": a name that no broker could create."""
    with pytest.raises(Exception, match=r"[Ii]nvalid|UnknownTopic|not present in metadata"):
        write(spark, broker, "'v' AS value", topic=f"{topic}/", **{"kafka.max.block.ms": "2000"})


@pytest.mark.parametrize("key", ["kafka.key.serializer", "kafka.value.serializer"])
def test_serializers_are_the_sinks_own(spark: Any, broker: Broker, make_topic: MakeTopic, key: str) -> None:
    """Re-create "batch - unsupported save modes/options": serializers."""
    with pytest.raises(Exception, match="serializer"):
        write(spark, broker, "'v' AS value", topic=make_topic(), **{key: "x"})


@pytest.mark.parametrize("mode", ["overwrite", "ignore"])
def test_a_topic_can_only_be_appended_to(
    spark: Any, broker: Broker, make_topic: MakeTopic, mode: str
) -> None:
    """Re-create "batch - unsupported save modes"."""
    topic = make_topic()
    frame = spark.sql("SELECT 'v' AS value")
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}
    with pytest.raises(Exception, match=r"(?i)mode|truncate|overwrite"):
        frame.write.format("kafka").options(**options).mode(mode).save()
    assert batch(spark, broker, subscribe=topic).count() == 0


def test_the_sink_tells_how_many_rows_it_wrote(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create "streaming - sink progress is produced"."""
    topic = make_topic()
    produce(make_producer(broker), topic, [b"%d" % number for number in range(5)])
    target = create_topic(broker, f"{topic}-copy", 1)
    source = (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic})
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        source.selectExpr("value")
        .writeStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": broker.bootstrap, "topic": target})
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert [each["sink"]["numOutputRows"] for each in query.recentProgress if each["numInputRows"]] == [5]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"startingOffsets": "latest"}, "starting offset can't be latest"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "can't be earliest"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "can't be latest"),
    ],
)
def test_a_batch_read_has_a_first_offset_and_a_last_one(
    spark: Any, broker: Broker, make_topic: MakeTopic, options: dict[str, str], problem: str
) -> None:
    """Re-create KafkaRelationSuite "bad batch query options"."""
    topic = make_topic()
    given = {key: value.replace('"t"', json.dumps(topic)) for key, value in options.items()}
    with pytest.raises(Exception, match=problem):
        batch(spark, broker, subscribe=topic, **given).collect()


def test_records_that_come_after_the_read_was_planned_are_left_out(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create KafkaRelationSuite "reuse same dataframe in query": each action reads up to its own end."""
    topic = make_topic()
    produce(make_producer(broker), topic, [b"1", b"2"])
    frame = batch(spark, broker, subscribe=topic)
    assert numbers(frame) == [1, 2]
    both = frame.select("value").union(frame.select("value"))
    assert numbers(both) == [1, 1, 2, 2]


def test_records_deleted_before_a_batch_read_are_left_out_without_doubling_others(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create "failOnDataLoss=false should not return duplicated records: batch"."""
    topic = make_topic()
    produce(make_producer(broker), topic, [b"%d" % number for number in range(5)])
    delete_topic(broker, topic)
    create_topic(broker, topic, 1)
    produce(make_producer(broker), topic, [b"%d" % number for number in range(10, 13)])
    asked = json.dumps({topic: {"0": 0}}), json.dumps({topic: {"0": 10}})
    options = {"startingOffsets": asked[0], "endingOffsets": asked[1], "failOnDataLoss": "false"}
    options["kafkaConsumer.pollTimeoutMs"] = "2000"
    assert numbers(batch(spark, broker, subscribe=topic, **options)) == [10, 11, 12]
