"""`kawal pipe` with topics as targets: replicate and derive, once each, in order, both ways without loops."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.pipeline_copies import CopyJob, Record, numbers_of, read_all
from compat_tests.pipeline_jobs import produce_numbers
from compat_tests.test_console import kawal
from compat_tests.topics import create_topic, delete_topic, grow_topic
from pipeline.errors import TargetError
from pipeline.job_file import load
from pipeline.move_groups import move_groups

pytestmark = pytest.mark.timeout(300, method="signal")
"""Two brokers and Spark take much longer beside other tests than alone."""


@pytest.fixture
def other(start_broker: StartBroker) -> Broker:
    return start_broker()


@pytest.mark.only_kawal("Apache Kafka has no databases")
def test_a_database_comes_back_from_its_copy_on_another_broker(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    first, copy, second = (start_broker() for _ in range(3))
    made = (
        "CREATE DATABASE power VGROUPS 2; "
        "CREATE STABLE power.meters (ts timestamp, v int) TAGS (place binary(16));"
    )
    rows = "INSERT INTO power.d1 USING power.meters TAGS ('north') VALUES (NOW - 1s, 1) (NOW, 2);"
    kawal(first, "sql", stdin=f"{made} {rows}".encode())
    create_topic(first, "plain", 2, {"kawal.database": "power"})
    produce_numbers(first, "plain", range(20))
    kawal(second, "sql", stdin=made.encode())
    for number, (source, target, configs) in enumerate(
        ((first, copy, ""), (copy, second, 'configs = { "kawal.database" = "power" }'))
    ):
        for topic in ("meters", "plain"):
            job = CopyJob(tmp_path / f"{topic}-{number}", source, target, topic, name=f"{topic}-{number}")
            job.file.write_text(job.file.read_text().replace("[target]\n", f"[target]\n{configs}\n"))
            job.run_here()
            job.must_be_equal(20 if topic == "plain" else len(read_all(source, topic)))
    asked = "SELECT tbname, v, place FROM power.meters ORDER BY v"
    answers = [kawal(broker, "sql", asked).stdout for broker in (first, second)]
    assert answers[0] == answers[1]
    assert b"north" in answers[1]
    databases = [kawal(broker, "topics describe", "plain").stdout for broker in (first, second)]
    assert all(b"power" in shown for shown in databases)


def test_a_copy_has_keys_values_headers_times_partitions_order_and_configs(
    broker: Broker, other: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(3, retention_ms="-1", max_message_bytes="2000000")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    odd: list[Record] = [
        (0, None, b"v", None, 1_700_000_000_001),
        (0, b"", b"", [("a", b"1"), ("a", None), ("", b"")], 1_600_000_000_000),
        (1, b"k", None, [("b", b"\xff\x00")], 1_700_000_000_002),
        (2, "ключ".encode(), b"\x00" * 100_000, [], 1),
    ]
    for partition, key, value, headers, time_ms in odd:
        producer.produce(topic, value, key, partition, timestamp=time_ms, headers=headers or None)
    assert producer.flush(60) == 0
    produce_numbers(broker, topic, range(90), partitions=3)
    job = CopyJob(tmp_path / "job", broker, other, topic)

    assert job.run_here()["rows"] == 94
    assert read_all(other, topic) == read_all(broker, topic)
    job.must_be_equal(94)
    admin = AdminClient({"bootstrap.servers": other.bootstrap})
    [asked] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    configs = asked.result(60)
    assert (configs["retention.ms"].value, configs["max.message.bytes"].value) == ("-1", "2000000")

    assert job.run_here()["rows"] == 0
    grow_topic(broker, topic, 4)
    produce_numbers(broker, topic, range(90, 110), partitions=4)
    assert job.run_here()["rows"] == 20
    assert read_all(other, topic) == read_all(broker, topic)
    job.must_be_equal(114)


@pytest.mark.timeout(400, method="signal")
def test_a_driver_killed_around_its_transactions_copies_each_record_once(
    broker: Broker, other: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(100))
    job = CopyJob(tmp_path / "job", broker, other, topic)
    for step, copied in (("planned", 0), ("written", 40), ("staged", 40), ("landed", 40)):
        assert job.run_and_die(step, 0).code == -9
        if copied:
            assert len(read_all(other, topic)) == copied
    job.checkpoint.rename(tmp_path / "lost")
    job.run_here()
    job.must_be_equal(100)
    assert read_all(other, topic) == read_all(broker, topic)


def test_a_ledger_that_is_lost_is_found_again_on_the_target(
    broker: Broker, other: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(50))
    job = CopyJob(tmp_path / "job", broker, other, topic)
    job.run_here()
    (job.folder / "state").rename(tmp_path / "lost")
    (job.folder / ".state.landing").rename(tmp_path / "lost too")
    produce_numbers(broker, topic, range(50, 60))
    assert job.run_here()["rows"] == 10
    job.must_be_equal(60)


def test_a_target_that_was_made_again_is_refused(
    broker: Broker, other: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    produce_numbers(broker, topic, range(10))
    job = CopyJob(tmp_path / "job", broker, other, topic)
    job.run_here()
    delete_topic(other, topic)
    create_topic(other, topic, 2)
    with pytest.raises(TargetError, match="the target was deleted, made again or restored"):
        job.run_here()
    assert read_all(other, topic) == []


def test_two_copies_in_both_directions_bring_each_record_over_once(
    broker: Broker, other: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2)
    create_topic(other, topic, 2)
    produce_numbers(broker, topic, range(10))
    produce_numbers(other, topic, range(100, 110))
    there = CopyJob(tmp_path / "there", broker, other, topic, name="there")
    back = CopyJob(tmp_path / "back", other, broker, topic, name="back")
    for _ in range(2):
        there.run_here()
        back.run_here()
    produce_numbers(broker, topic, range(10, 15))
    assert (there.run_here()["rows"], back.run_here()["rows"]) == (5, 0)
    everything = [*range(15), *range(100, 110)]
    assert (numbers_of(broker, topic), numbers_of(other, topic)) == (everything, everything)
    there.must_be_equal(15)
    back.must_be_equal(10)


def test_a_group_goes_on_at_the_target_where_it_was_at_the_source(
    broker: Broker, other: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)
    transactional = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"t-{topic}"})
    transactional.init_transactions(60)
    for number in range(20):  # each with a marker behind it: the offsets of the copy are others
        transactional.begin_transaction()
        transactional.produce(topic, b'{"n":%d}' % number, partition=0)
        transactional.commit_transaction(60)
    group = f"movers-{topic}"
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    reader.commit(offsets=[TopicPartition(topic, 0, 14)], asynchronous=False)
    reader.close()
    job = CopyJob(tmp_path / "job", broker, other, topic)
    job.run_here()
    out = io.StringIO()
    assert move_groups(load(job.file), [group], out, apply=True) == 0
    moved = Consumer({"bootstrap.servers": other.bootstrap, "group.id": group, "auto.offset.reset": "error"})
    moved.subscribe([topic])
    message = moved.poll(60)
    assert message is not None
    assert (message.error(), json.loads(message.value() or b"")) == (None, {"n": 7}), out.getvalue()
    moved.close()
    job.must_be_equal(20)


@pytest.mark.only_kawal("views are the gateway's")
def test_a_derived_topic_holds_what_a_view_of_the_query_shows(
    broker: Broker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2, kawal_columns="n int")
    produce_numbers(broker, topic, range(100))
    query = f"SELECT n, n * n AS square FROM `{topic}` WHERE n % 3 = 1"
    view = create_topic(broker, f"{topic}-view", 2, {"kawal.sql": query})
    job = CopyJob(
        tmp_path / "job",
        broker,
        broker,
        topic,
        kind="derive",
        name_there=f"{topic}-derived",
        view=f'view = "{query}"\nview_columns = "n int"',
    )
    assert job.run_here()["rows"] == 33
    assert read_all(broker, f"{topic}-derived") == read_all(broker, view)
    job.must_be_equal(33)
