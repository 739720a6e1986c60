"""Spark's own tests of its Kafka source, re-created: ranges of offsets, deleted ones, and ends that move.

The names of Spark's tests are in the docstrings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.spark import in_real_time, number_stream, run_available, spark_session
from compat_tests.test_spark_live import send
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def test_a_batch_is_split_so_that_no_task_reads_more_records_than_asked(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    """Re-create KafkaOffsetRangeCalculatorSuite "with maxRecordsPerPartition"."""
    topic = make_topic(2)
    send(broker, topic, list(range(900)))
    send(broker, topic, list(range(900, 1_000)), partition=1)
    tasks: list[list[int]] = []

    def look(rows: Any, _number: int) -> None:
        read = rows.selectExpr("number", "spark_partition_id() as task").groupBy("task").count().collect()
        tasks.append(sorted(row["count"] for row in read))

    options = {"subscribe": topic, "maxRecordsPerPartition": 300}
    query = number_stream(spark, broker, **options).writeStream.foreachBatch(look)
    assert query.trigger(availableNow=True).start().awaitTermination(60)
    assert tasks == [[100, 300, 300, 300]]


def test_records_deleted_before_a_stream_reads_them_are_left_out_without_doubling_others(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create "failOnDataLoss=false should not return duplicated records: microbatch"."""
    topic = make_topic(1)
    send(broker, topic, list(range(50)))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    place = TopicPartition(topic, 0, 30)
    assert admin.delete_records([place])[place].result(60).low_watermark == 30
    start = {"startingOffsets": json.dumps({topic: {"0": 0}}), "failOnDataLoss": "false"}
    source = number_stream(spark, broker, subscribe=topic, maxOffsetsPerTrigger=20, **start)
    run_available(source, tmp_path)
    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(row.number for row in rows) == list(range(30, 50))


def test_a_query_in_real_time_mode_asks_for_the_end_again_when_its_batch_ends(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """Re-create KafkaRealTimeModeSuite "fetches latestOffset again at end of the batch"."""
    topic = make_topic(1)
    target = create_topic(broker, f"{topic}-out", 1)
    query = in_real_time(spark, broker, number_stream(spark, broker, subscribe=topic), target, tmp_path)
    try:
        send(broker, topic, [1, 2, 3])
        ended = eventually(
            lambda: [each["sources"][0] for each in query.recentProgress if each["numInputRows"]],
            waiting_for="the end of a batch with records",
        )[-1]
    finally:
        query.stop()
    ends = [_offsets(ended[name]) for name in ("endOffset", "latestOffset")]
    assert ends == [{topic: {"0": 3}}] * 2


def _offsets(shown: Any) -> Any:
    return json.loads(shown) if isinstance(shown, str) else shown
