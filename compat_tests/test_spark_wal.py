"""Spark's format `kawal.wal` reads from a gateway's files what its Kafka source gets from the gateway."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from compat_tests.confluent import make_producer
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.nodes import NodesCluster, as_broker
from compat_tests.object_store import BUCKET, ObjectStore, object_store
from compat_tests.spark import run_available, spark_session
from compat_tests.test_remote_copy import ROUNDS_WITHIN_SECONDS, settings, wait_for_rounds
from compat_tests.test_tiered_topics import produce, tiered_broker, wait_until_small
from compat_tests.times import START_MS
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from pipeline.log_source.source import KawalLog

pytestmark = pytest.mark.only_kawal(reason="the files are the gateway's")

COUNT = 6_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def spark() -> Any:
    session = spark_session()
    session.dataSource.register(KawalLog)
    return session


@pytest.fixture
def gateway(start_broker: StartBroker) -> KawalBroker:
    broker = start_broker(kawal_segment_bytes="1048576", log_cleaner_backoff_ms="500")
    assert isinstance(broker, KawalBroker)
    return broker


def fill(broker: KawalBroker, topic: str) -> None:
    """Write records of all codecs, keys, headers and nulls, committed and aborted, into three partitions."""
    chance = random.Random(7)
    for number, codec in enumerate(CODECS):
        producer = make_producer(
            broker,
            **{"compression.type": codec, "transactional.id": f"{topic}-{codec}", "linger.ms": "20"},
        )
        producer.init_transactions(60)
        for part in range(4):
            producer.begin_transaction()
            for at in range(COUNT // len(CODECS) // 4):
                producer.produce(
                    topic,
                    chance.choice([None, b"", chance.randbytes(chance.randrange(600))]),
                    chance.choice([None, b"k%d" % at]),
                    at % 3,
                    timestamp=START_MS + 1000 * number + at,
                    headers=chance.choice([None, [("trace", b"%d" % at), ("null", None)]]),
                )
            if part % 2:
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)


def rows(frame: Any) -> list[Any]:
    return sorted(
        (tuple(row[:-1]), None if row.headers is None else tuple(map(tuple, row.headers)))
        for row in frame.selectExpr(
            "topic", "partition", "offset", "hex(coalesce(key, 'none'))", "key is null", "hex(value)",
            "value is null", "unix_micros(timestamp)", "timestampType", "headers",
        ).collect()
    )  # fmt: skip


def from_gateway(spark: Any, broker: KawalBroker, topic: str) -> Any:
    options = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "kafka.isolation.level": "read_committed",
        "subscribe": topic,
        "includeHeaders": "true",
    }
    return spark.read.format("kafka").options(**options).load()


def from_files(spark: Any, broker: KawalBroker, topic: str, **options: str) -> Any:
    reader = spark.read.format("kawal.wal").options(subscribe=topic, includeHeaders="true", **options)
    return reader.load(str(broker.directory / "data"))


def test_all_columns_of_all_committed_records_are_equal_and_conditions_hold(
    spark: Any, gateway: KawalBroker
) -> None:
    create_topic(gateway, "t", 3)
    fill(gateway, "t")
    expected = rows(from_gateway(spark, gateway, "t"))
    assert len(expected) == COUNT // 2
    gateway.stop()
    assert rows(from_files(spark, gateway, "t")) == expected
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        narrow = from_files(spark, gateway, "t", pushFilters="true").where("partition = 1 and offset >= 700")
        assert rows(narrow) == [row for row in expected if row[0][1] == 1 and row[0][2] >= 700]
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_what_a_killed_gateway_has_acknowledged_is_there(spark: Any, gateway: KawalBroker) -> None:
    create_topic(gateway, "t", 3)
    fill(gateway, "t")
    expected = rows(from_gateway(spark, gateway, "t"))
    gateway.kill()
    assert rows(from_files(spark, gateway, "t")) == expected
    gateway.start()
    assert rows(from_gateway(spark, gateway, "t")) == expected


def test_a_compacted_topic_is_read_as_the_gateway_serves_it(spark: Any, gateway: KawalBroker) -> None:
    settings = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
    create_topic(gateway, "t", 3, settings)
    fill_keyed(gateway, "t")
    eventually(
        lambda: from_gateway(spark, gateway, "t").count() < COUNT // 2,
        waiting_for="compaction",
        within_seconds=120,
    )
    gateway.stop()
    gateway.start()  # what is compacted meanwhile shows
    expected = rows(from_gateway(spark, gateway, "t"))
    gateway.stop()
    assert rows(from_files(spark, gateway, "t")) == expected


def fill_keyed(broker: KawalBroker, topic: str) -> None:
    producer = make_producer(broker, **{"linger.ms": "20"})
    for number in range(COUNT):
        producer.produce(topic, b"%d" % number + bytes(800), b"%d" % (number % 97), number % 3)
        if number % 1_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0


def test_a_running_gateway_is_read_up_to_its_checkpoint_and_a_stream_then_goes_on(
    spark: Any, gateway: KawalBroker, tmp_path: Path
) -> None:
    create_topic(gateway, "t", 3)
    fill(gateway, "t")
    gateway.stop()  # which writes a checkpoint
    gateway.start()
    first = rows(from_gateway(spark, gateway, "t"))
    assert rows(from_files(spark, gateway, "t")) == first
    source = str(gateway.directory / "data")
    stream = (
        spark.readStream.format("kawal.wal").option("subscribe", "t").option("startingOffsets", "earliest")
    )
    assert sum(run_available(stream.load(source), tmp_path)) == len(first)
    fill(gateway, "t")
    gateway.stop()
    assert sum(run_available(stream.load(source), tmp_path)) == len(first)
    landed = spark.read.parquet(str(tmp_path / "rows"))
    assert landed.count() == landed.select("partition", "offset").distinct().count() == 2 * len(first)


def from_bucket(spark: Any, store: ObjectStore, topic: str, **options: str) -> Any:
    reader = spark.read.format("kawal.wal").options(subscribe=topic, includeHeaders="true", **options)
    return reader.option("endpoint", store.endpoint).load(f"s3://{BUCKET}/kawal")


@pytest.mark.timeout(900)
def test_the_copy_in_a_bucket_is_read_by_batches_and_streams_while_the_gateway_runs(
    spark: Any, start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = start_broker(**settings(store))
        assert isinstance(broker, KawalBroker)
        create_topic(broker, "t", 3)
        fill(broker, "t")
        wait_for_rounds(broker, 2)
        first = rows(from_gateway(spark, broker, "t"))
        assert rows(from_bucket(spark, store, "t")) == first
        stream = spark.readStream.format("kawal.wal").options(
            subscribe="t", startingOffsets="earliest", endpoint=store.endpoint
        )
        assert sum(run_available(stream.load(f"s3://{BUCKET}/kawal"), tmp_path)) == len(first)
        fill(broker, "t")
        wait_for_rounds(broker, 2)
        assert sum(run_available(stream.load(f"s3://{BUCKET}/kawal"), tmp_path)) == len(first)
        landed = spark.read.parquet(str(tmp_path / "rows"))
        assert landed.count() == landed.select("partition", "offset").distinct().count() == 2 * len(first)
        expected = rows(from_gateway(spark, broker, "t"))
        broker.kill()
        assert rows(from_bucket(spark, store, "t")) == expected, "the gateway is not needed"


@pytest.mark.timeout(900)
def test_the_copies_of_two_nodes_are_read_as_one(spark: Any, tmp_path: Path) -> None:
    with object_store(tmp_path / "store") as store:
        place = {"kawal.remote.store": f"s3://{BUCKET}/kawal", "kawal.remote.endpoint": store.endpoint}
        cluster = NodesCluster(tmp_path / "nodes", 2, **place, **{"kawal.remote.lag.ms": "500"})
        try:
            cluster.start()
            broker = as_broker(cluster)
            create_topic(broker, "t", 3)
            fill(broker, "t")
            expected = rows(from_gateway(spark, broker, "t"))
            assert len(expected) == COUNT // 2

            def is_copied() -> bool:
                try:
                    return rows(from_bucket(spark, store, "t")) == expected
                except PySparkException:
                    return False  # a node has copied nothing yet, or not its catalogue's newest change

            eventually(is_copied, waiting_for="the copies of both", within_seconds=ROUNDS_WITHIN_SECONDS)
        finally:
            cluster.kill()


@pytest.mark.timeout(900)
def test_a_directory_whose_old_segments_are_in_the_store_alone_is_read_with_the_store_beside_it(
    spark: Any, start_broker: StartBroker, tmp_path: Path
) -> None:
    with object_store(tmp_path / "store") as store:
        broker = tiered_broker(start_broker, store)
        produce(broker, 0, 20_000)
        wait_until_small(broker, 5)
        expected = rows(from_gateway(spark, broker, "a"))
        assert len(expected) == 20_000
        broker.stop()
        beside = {"store": f"s3://{BUCKET}/kawal", "endpoint": store.endpoint}
        assert rows(from_files(spark, broker, "a", **beside)) == expected
        with pytest.raises(Exception, match="has left the disk for the object store"):
            from_files(spark, broker, "a").count()


def test_a_topic_without_records_has_no_rows(spark: Any, gateway: KawalBroker) -> None:
    create_topic(gateway, "t", 3)
    gateway.stop()
    assert from_files(spark, gateway, "t").count() == 0
