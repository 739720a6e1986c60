"""Spark's own tests of batch reads and of options, re-created; and a broker that is killed in a batch.

The names of Spark's tests are in the docstrings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.spark import number_stream, spark_session
from compat_tests.test_spark_live import send
from compat_tests.topics import create_topic


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def numbers(spark: Any, broker: Broker, **options: Any) -> Any:
    """Return a batch read whose values are numbers."""
    settings = {"kafka.bootstrap.servers": broker.bootstrap, **options}
    rows = spark.read.format("kafka").options(**settings).load()
    return rows.selectExpr("cast(cast(value as string) as int) as number")


def values(rows: Any) -> list[int]:
    return sorted(row.number for row in rows.collect())


def test_a_batch_read_is_from_the_first_record_to_the_last_where_nothing_else_is_asked(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create KafkaRelationSuite "default starting and ending offsets" and "explicit earliest to…"."""
    topic = make_topic(2)
    send(broker, topic, [1, 2])
    send(broker, topic, [3], partition=1)
    assert values(numbers(spark, broker, subscribe=topic)) == [1, 2, 3]
    ends = {"startingOffsets": "earliest", "endingOffsets": "latest"}
    assert values(numbers(spark, broker, subscribe=topic, **ends)) == [1, 2, 3]


def test_a_read_that_is_used_twice_in_a_query_sees_what_is_there_each_time(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create KafkaRelationSuite "reuse same dataframe in query"."""
    topic = make_topic(1)
    send(broker, topic, [1, 2, 3])
    read = numbers(spark, broker, subscribe=topic)
    assert values(read.union(read)) == [1, 1, 2, 2, 3, 3]
    assert values(read.join(read.withColumnRenamed("number", "other"), on=read.number == 2)) == [2, 2, 2]
    send(broker, topic, [4])
    assert values(read) == [1, 2, 3, 4]


def test_names_of_options_may_be_written_in_any_case(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create KafkaSourceProviderSuite "options should be handled as case-insensitive"."""
    topic = make_topic(1)
    send(broker, topic, list(range(30)))
    options = {"SUBSCRIBE": topic, "STARTINGoffsets": json.dumps({topic: {"0": 10}}), "MINPARTITIONS": "3"}
    read = numbers(spark, broker, **options)
    assert values(read) == list(range(10, 30))
    assert read.rdd.getNumPartitions() == 3


def test_a_batch_whose_broker_is_killed_after_it_was_planned_is_read_when_the_broker_is_back(
    spark: Any, start_broker: StartBroker, tmp_path: Path
) -> None:
    """Added to Spark's own: the gateway restarts in the middle of a batch, which is read all the same."""
    own = start_broker()
    create_topic(own, "survivor", 1)
    send(own, "survivor", list(range(50)))
    seen: list[list[int]] = []

    def die(rows: Any, _number: int) -> None:
        own.kill()
        own.restart()
        seen.append(values(rows))

    query = number_stream(spark, own, subscribe="survivor").writeStream.foreachBatch(die)
    running = query.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert running.awaitTermination(120)
    assert seen == [list(range(50))]
