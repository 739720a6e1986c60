"""Spark with `useDeprecatedOffsetFetching`: its driver finds offsets as a member of a consumer group."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.groups import admin_of, fill
from compat_tests.spark import run_available, spark_session
from compat_tests.topics import grow_topic

DEPRECATED = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = spark_session()
    session.conf.set(DEPRECATED, "true")
    yield session
    session.conf.unset(DEPRECATED)


def options(broker: Broker, topic: str, group_id: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "groupIdPrefix": group_id,
    }


def groups_beginning_with(broker: Broker, prefix: str) -> list[str]:
    admin = admin_of(broker)
    listed = admin.list_consumer_groups().result(60).valid
    return [group.group_id for group in listed if group.group_id.startswith(prefix)]


def test_a_batch_read_finds_its_ends_through_a_group(
    spark: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=3)
    fill(broker, topic, partitions=3, count=20)
    ends = json.dumps({topic: {"0": -1, "1": 7, "2": -1}})
    frame = spark.read.format("kafka").options(**options(broker, topic, topic), endingOffsets=ends).load()
    assert frame.count() == 20 + 7 + 20
    assert groups_beginning_with(broker, topic)


def test_a_stream_goes_on_where_its_checkpoint_is_and_sees_new_partitions(
    spark: Any, broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    for turn, partitions in enumerate((2, 4)):
        if partitions > 2:
            grow_topic(broker, topic, partitions)
        fill(broker, topic, partitions=partitions, count=10)
        stream = spark.readStream.format("kafka").options(**options(broker, topic, topic)).load()
        assert sum(run_available(stream.selectExpr("CAST(value AS STRING)"), tmp_path)) == 10 * partitions
        assert len(groups_beginning_with(broker, topic)) > turn
    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    wanted = [f"{index}:{number}" for index in (0, 1) for number in range(10)] * 2
    wanted += [f"{index}:{number}" for index in (2, 3) for number in range(10)]
    assert sorted(row.value for row in rows) == sorted(wanted)
