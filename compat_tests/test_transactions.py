"""Transactions with real clients: both client protocols, fencing, timeouts, offsets inside transactions."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.java import java_command, run_java
from compat_tests.views import make_view

PROGRAM = str(Path(__file__).with_name("Transactions.java"))
SECONDS = 60.0


def read(broker: Broker, topic: str, partitions: int, *, level: str = "read_committed") -> list[list[str]]:
    """Return the values of each partition, up to its end for this isolation level."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reader",
            "isolation.level": level,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found: list[list[str]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    ends = time.monotonic() + SECONDS
    while len(ended) < partitions:
        assert time.monotonic() < ends, f"{topic}: only partitions {ended} have been read to their end"
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
        else:
            found[message.partition()].append(message.value().decode())
    consumer.close()
    return found


def committed(broker: Broker, group: str, topic: str, index: int = 0) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    (found,) = consumer.committed([TopicPartition(topic, index)], timeout=SECONDS)
    consumer.close()
    return int(found.offset)


def java(broker: Broker, scenario: str, *arguments: str) -> str:
    """Run a scenario of Transactions.java and return what it has printed."""
    command = java_command(PROGRAM, broker.bootstrap, scenario, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{scenario}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def producer_of(broker: Broker, name: str, **settings: Any) -> Producer:
    made = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0, **settings}
    )
    made.init_transactions(SECONDS)
    return made


def test_confluent_kafka_commits_and_aborts(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    producer = producer_of(broker, topic)
    for number in range(6):
        producer.begin_transaction()
        for index in range(2):
            producer.produce(topic, str(number), partition=index)
        producer.flush(SECONDS)
        producer.abort_transaction(SECONDS) if number % 3 == 2 else producer.commit_transaction(SECONDS)
    assert read(broker, topic, 2) == [["0", "1", "3", "4"]] * 2
    assert read(broker, topic, 2, level="read_uncommitted") == [[str(number) for number in range(6)]] * 2


def test_confluent_kafka_is_fenced_by_a_second_instance(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    old = producer_of(broker, topic)
    old.begin_transaction()
    old.produce(topic, "old")
    old.flush(SECONDS)
    young = producer_of(broker, topic)
    young.begin_transaction()
    young.produce(topic, "young")
    with pytest.raises(KafkaException) as refused:
        old.commit_transaction(SECONDS)
    assert refused.value.args[0].fatal()
    young.commit_transaction(SECONDS)
    assert read(broker, topic, 1) == [["young"]]


def test_an_open_transaction_is_aborted_at_its_timeout(broker: Broker, make_topic: MakeTopic) -> None:
    """Kafka looks for overdue transactions every ten seconds."""
    topic = make_topic(1)
    producer = producer_of(broker, topic, **{"transaction.timeout.ms": 4_000, "message.timeout.ms": 3_900})
    producer.begin_transaction()
    producer.produce(topic, "late")
    producer.flush(SECONDS)
    other = producer_of(broker, f"{topic}-other")
    other.begin_transaction()
    other.produce(topic, "on time")
    other.commit_transaction(SECONDS)
    ends = time.monotonic() + SECONDS
    while read(broker, topic, 1) != [["on time"]]:
        assert time.monotonic() < ends, "the transaction hangs"
        time.sleep(0.5)
    with pytest.raises(KafkaException):
        producer.commit_transaction(SECONDS)


def test_confluent_kafka_consumes_transforms_and_produces(broker: Broker, make_topic: MakeTopic) -> None:
    source = make_topic(1)
    feeder = producer_of(broker, f"{source}-feeder")
    feeder.begin_transaction()
    for number in range(40):
        feeder.produce(source, str(number))
    feeder.commit_transaction(SECONDS)
    target, group = f"{source}-copy", f"{source}-group"
    producer = producer_of(broker, target)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([source])
    copied = number = 0
    while copied < 40:
        messages = consumer.consume(10, 2.0)
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(target, message.value().decode() + "!", partition=0)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), SECONDS
        )
        number += 1
        if number == 2:
            producer.abort_transaction(SECONDS)
            consumer.seek(TopicPartition(source, 0, copied))
            continue
        producer.commit_transaction(SECONDS)
        copied += len(messages)
    consumer.close()
    assert read(broker, target, 1) == [[f"{number}!" for number in range(40)]]
    assert committed(broker, group, source) == 41 - 1


def test_kafka_python_commits_aborts_and_sends_offsets(broker: Broker, make_topic: MakeTopic) -> None:
    from kafka import KafkaProducer, OffsetAndMetadata
    from kafka import TopicPartition as Place

    topic = make_topic(1)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic)
    producer.init_transactions()
    for number in range(3):
        producer.begin_transaction()
        producer.send(topic, str(number).encode())
        producer.flush()
        producer.send_offsets_to_transaction(
            {Place(topic, 0): OffsetAndMetadata(number + 10, "", -1)}, f"{topic}-group"
        )
        producer.abort_transaction() if number == 2 else producer.commit_transaction()
    producer.close()
    assert read(broker, topic, 1) == [["0", "1"]]
    assert committed(broker, f"{topic}-group", topic) == 11


def test_aiokafka_commits_aborts_and_sends_offsets(broker: Broker, make_topic: MakeTopic) -> None:
    from aiokafka import AIOKafkaProducer
    from aiokafka import TopicPartition as Place

    topic = make_topic(1)

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic)
        await producer.start()
        for number in range(3):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, str(number).encode())
            await producer.send_offsets_to_transaction({Place(topic, 0): number + 10}, f"{topic}-group")
            await (producer.abort_transaction() if number == 2 else producer.commit_transaction())
        await producer.stop()

    asyncio.run(work())
    assert read(broker, topic, 1) == [["0", "1"]]
    assert committed(broker, f"{topic}-group", topic) == 11


def test_java_commits_and_aborts(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    assert java(broker, "commit-abort", topic, "30") == "done"
    assert read(broker, topic, 3) == [[str(number) for number in range(30) if number % 3 != 2]] * 3


def test_java_is_fenced_by_a_second_instance(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    assert java(broker, "fence", topic) == "fenced"
    assert read(broker, topic, 1) == [["young"]]


def test_java_learns_that_its_transaction_has_timed_out(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    assert java(broker, "timeout", topic) == "refused"
    assert read(broker, topic, 1) == [[]]


def test_java_consumes_transforms_and_produces(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    java(broker, "commit-abort", topic, "30")
    target = f"{topic}-copy"
    producer = producer_of(broker, f"{topic}-first")
    producer.begin_transaction()
    producer.produce(target, "first", partition=0)
    producer.abort_transaction(SECONDS)
    assert java(broker, "copy", topic, target, "40") == "copied 40"
    expected = [f"{number}!" for number in range(30) if number % 3 != 2]
    assert sorted(chain.from_iterable(read(broker, target, 4))) == sorted(expected * 2)


def test_kafka_transactions_lists_describes_and_aborts(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    tool = "org.apache.kafka.tools.TransactionsCommand"
    producer = producer_of(broker, topic)
    producer.begin_transaction()
    producer.produce(topic, "open")
    producer.flush(SECONDS)
    at = ("--bootstrap-server", broker.bootstrap)
    listed = run_java(tool, *at, "list").stdout
    assert [line.split()[-1] for line in listed.splitlines() if line.startswith(topic)] == ["Ongoing"]
    described = run_java(tool, *at, "describe", "--transactional-id", topic).stdout
    assert f"{topic}-0" in described
    producers = run_java(tool, *at, "describe-producers", "--topic", topic, "--partition", "0").stdout
    assert producers.splitlines()[1].split()[-1] == "0", producers
    run_java(tool, *at, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert read(broker, topic, 1) == [[]]


@pytest.mark.only_kawal("Apache Kafka has no views")
def test_a_view_shows_committed_records_only(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    view = f"{topic}-view"
    make_view(broker, view, f"SELECT * FROM `{topic}`")
    producer = producer_of(broker, topic)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, str(number))
        producer.flush(SECONDS)
        producer.abort_transaction(SECONDS) if number % 3 == 2 else producer.commit_transaction(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, "open")
    producer.flush(SECONDS)
    for level in ("read_committed", "read_uncommitted"):
        assert read(broker, view, 1, level=level) == [["0", "1", "3", "4"]]


def test_numbers_are_those_of_a_plain_reader(broker: Broker, make_topic: MakeTopic) -> None:
    """A transaction larger than one fetch is read whole, in order, with aborted ones in between."""
    topic = make_topic(1)
    producers = [producer_of(broker, f"{topic}-{number}") for number in range(3)]
    for producer in producers:
        producer.begin_transaction()
    for number in range(3_000):
        producers[number % 3].produce(topic, f"{number % 3}:{number}" + "x" * 300)
    for producer in producers:
        producer.flush(SECONDS)
    producers[1].abort_transaction(SECONDS)
    producers[0].commit_transaction(SECONDS)
    producers[2].commit_transaction(SECONDS)
    (found,) = read(broker, topic, 1)
    kinds = Counter(value[0] for value in found)
    assert kinds == {"0": 1_000, "2": 1_000}
