"""Views over databases, read by kafka-python, confluent-kafka, kcat and Spark while topics come and go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic
from kafka import KafkaConsumer
from kafka.structs import TopicPartition as Place

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, take
from compat_tests.conftest import StartBroker
from compat_tests.groups import group_consumer
from compat_tests.kcat import kcat
from compat_tests.spark import run_available, spark_session
from compat_tests.test_console import kawal
from compat_tests.times import START_MS
from compat_tests.topics import create_topic, delete_topic
from compat_tests.views import admin_client, make_view
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal("Apache Kafka has no databases")

VNODES = 2


class World(NamedTuple):
    """A database with two topics, each with records on every vnode, and a view over it."""

    broker: Broker
    database: str
    view: str
    values: list[bytes]


@pytest.fixture(scope="module")
def world(group_broker: Broker) -> World:
    kawal(group_broker, "databases create", "sensors", "--vnodes", str(VNODES))
    values = []
    for name in ("sensors.current", "sensors.voltage"):
        create_topic(group_broker, name, 4, {"kawal.database": "sensors"})
        values += fill(group_broker, name, 300)
    return World(group_broker, "sensors", make_view(group_broker, "sensors.all", "DATABASE sensors"), values)


def fill(broker: Broker, topic: str, count: int, *, first: int = 0, partitions: int = 4) -> list[bytes]:
    """Produce records with key, headers and timestamps, compressed and not; return their values."""
    values = [b"%s %d" % (topic.encode(), number) for number in range(first, first + count)]
    producers = [make_producer(broker, compression_type=codec) for codec in ("none", "lz4", "zstd")]
    for number, value in enumerate(values):
        producers[number % 3].produce(
            topic,
            value,
            b"k%d" % (number % 7),
            partition=number % partitions,
            timestamp=START_MS + number,
            headers=[("own", b"%d" % number)],
        )
    for producer in producers:
        assert producer.flush(60) == 0
    return values


def test_confluent_reads_every_record_with_its_origin(world: World) -> None:
    by_place: dict[tuple[str, int], list[Any]] = {}
    with open_consumer(world.broker) as consumer:
        places = [TopicPartition(world.view, index, 0) for index in range(VNODES)]
        consumer.assign(places)
        records = take(consumer, len(world.values))
        ends = [consumer.get_watermark_offsets(place, timeout=60)[1] for place in places]
        positions = [place.offset for place in consumer.position(places)]
    assert sorted(record.value() for record in records) == sorted(world.values)
    for record in records:
        headers = dict(record.headers())
        topic, partition = headers["kawal.topic"].decode(), int(headers["kawal.partition"])
        by_place.setdefault((topic, partition), []).append((int(headers["kawal.offset"]), record))
        number = int(record.value().split()[1])
        assert record.key() == b"k%d" % (number % 7)
        assert record.timestamp()[1] == START_MS + number
        assert headers["own"] == b"%d" % number
    for placed in by_place.values():
        assert [offset for offset, _ in placed] == list(range(len(placed)))
    assert len(by_place) == 8
    # Records that are not shown keep no reader from the end.
    eventually(lambda: positions == ends or None, waiting_for="the end", last=lambda: (positions, ends))


def test_kafka_python_and_kcat_read_the_same(world: World) -> None:
    consumer = KafkaConsumer(bootstrap_servers=world.broker.bootstrap, auto_offset_reset="earliest")
    places = [Place(world.view, index) for index in range(VNODES)]
    consumer.assign(places)
    ends = consumer.end_offsets(places)
    found: list[bytes] = []

    def at_the_end() -> bool:
        for batch in consumer.poll(200).values():
            found.extend(record.value for record in batch)
        return all(consumer.position(place) == ends[place] for place in places)

    eventually(at_the_end, waiting_for="the end of the view")
    consumer.close()
    assert sorted(found) == sorted(world.values)
    told = kcat(world.broker, "-C", "-t", world.view, "-e", "-q", "-f", "%s\n")
    assert sorted(told.stdout.splitlines()) == sorted(world.values)


def test_a_group_goes_on_where_it_stopped_and_sees_topics_made_since(world: World) -> None:
    broker = world.broker
    view = make_view(broker, "sensors.again", "DATABASE sensors")
    with group_consumer(broker, "database-readers", view) as consumer:
        first = [message.value() for message in take(consumer, 200)]
        consumer.commit(asynchronous=False)
        rest = [message.value() for message in take(consumer, len(world.values) - 200)]
    with group_consumer(broker, "database-readers", view) as consumer:
        again = [message.value() for message in take(consumer, len(rest))]
        create_topic(broker, "sensors.late", 2, {"kawal.database": "sensors"})
        late = fill(broker, "sensors.late", 40, partitions=2)
        came = [message.value() for message in take(consumer, len(late))]
    assert sorted(first + again) == sorted(world.values)
    assert sorted(again) == sorted(rest)
    assert sorted(came) == sorted(late)
    delete_topic(broker, "sensors.late")


def test_spark_reads_it_in_a_batch_and_as_a_stream(world: World, tmp_path: Path) -> None:
    spark, broker = spark_session(), world.broker
    options = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": world.view,
        "includeHeaders": "true",
        "startingOffsets": "earliest",
    }
    rows = spark.read.format("kafka").options(**options).load().collect()
    assert sorted(row.value for row in rows) == sorted(world.values)
    assert all("kawal.topic" in {header.key for header in row.headers} for row in rows)
    made = NewTopic(
        "sensors.then",
        num_partitions=-1,
        replication_factor=-1,
        config={
            "kawal.sql": "DATABASE sensors",
            "kawal.from": str(START_MS + 100),
            "kawal.to": str(START_MS + 299),
            "kawal.replay.speed": "1000000",
        },
    )
    admin = admin_client(broker)
    admin.create_topics([made])["sensors.then"].result(timeout=60)
    then = spark.read.format("kafka").options(**{**options, "subscribe": "sensors.then"}).load().collect()
    assert 0 < len(then) < len(world.values)
    assert {bytes(row.value) for row in then} < set(world.values)

    def landed() -> list[bytes]:
        stream = spark.readStream.format("kafka").options(**options, maxOffsetsPerTrigger="250").load()
        run_available(stream.select("value"), tmp_path)
        read = spark.read.schema("value binary").parquet(str(tmp_path / "rows")).collect()
        return sorted(bytes(row.value) for row in read)

    assert landed() == sorted(world.values)
    world.values.extend(fill(broker, "sensors.current", 60, first=300))
    assert landed() == sorted(world.values)


@pytest.fixture
def own(start_broker: StartBroker) -> Broker:
    return start_broker(
        kawal_segment_bytes="1048576",
        log_retention_check_interval_ms="200",
        log_segment_delete_delay_ms="0",
    )


def test_a_lagging_group_goes_on_at_the_first_kept_record(own: Broker) -> None:
    """Segments are deleted under a consumer that lags: no hang, no loop of errors, also after a restart."""
    settings = ["--vnodes", "1", "--config", "retention.bytes=1048576", "--config", "segment.bytes=1048576"]
    kawal(own, "databases create", "brief", *settings)
    create_topic(own, "source", 1, {"kawal.database": "brief"})
    view = make_view(own, "brief.all", "DATABASE brief")
    produce(make_producer(own), "source", [b"first"])
    with group_consumer(own, "behind", view) as consumer:
        assert take(consumer, 1)[0].value() == b"first"
        consumer.commit(asynchronous=False)
    chunk = b"x" * 100_000
    produce(make_producer(own, linger_ms=0), "source", [chunk] * 80)

    def first_kept() -> int:
        with open_consumer(own) as consumer:
            return int(consumer.get_watermark_offsets(TopicPartition(view, 0), timeout=60)[0])

    assert eventually(first_kept, waiting_for="retention") > 1
    own.stop()
    own.restart()
    produce(make_producer(own), "source", [b"last"])
    with group_consumer(own, "behind", view) as consumer:
        found: list[bytes] = []

        def has_come() -> bool:
            found.extend(
                message.value() for message in consumer.consume(50, timeout=0.5) if message.error() is None
            )
            return b"last" in found

        eventually(has_come, waiting_for="the newest record")
    assert 1 < len(found) < 81
    assert b"first" not in found


def test_changes_of_topics_come_among_the_records_and_survive_kill_9(own: Broker) -> None:
    kawal(own, "sql", "CREATE DATABASE power VGROUPS 1")
    kawal(own, "sql", "CREATE TOPIC with_meta WITH META AS DATABASE power")
    kawal(own, "sql", "CREATE TOPIC only_meta ONLY META AS DATABASE power")
    create_topic(own, "meters", 1, {"kawal.database": "power", "kawal.columns": "ts timestamp, v double"})
    produce(make_producer(own, acks="all"), "meters", [b"1"])
    create_topic(own, "plants", 1, {"kawal.database": "power"})
    own.kill()
    own.restart()
    delete_topic(own, "plants")
    shown = {}
    for view, count in (("with_meta", 4), ("only_meta", 3)):
        with open_consumer(own) as consumer:
            consumer.assign([TopicPartition(view, 0, 0)])
            shown[view] = [told(message) for message in take(consumer, count)]
    changes = [("create", "meters"), ("create", "plants"), ("drop", "plants")]
    assert shown["only_meta"] == changes
    assert shown["with_meta"] == [changes[0], b"1", *changes[1:]]


def told(record: Any) -> Any:
    """Return what a change says, or the value of another record."""
    if ("kawal.kind", b"meta") not in record.headers():
        return record.value()
    content = json.loads(record.value())
    return content["type"], content["topic"]
