"""Partitions that split under stock clients: each reader sees the records of a key in their order."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import MakeTopic
from compat_tests.groups import group_consumer
from compat_tests.test_console import kawal
from compat_tests.test_share_groups import configure, share_consumer
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal(reason="partitions of Apache Kafka do not split")

KEYS = (b"a", b"d")
"""The upper half of the range of keys has d, the lower one a."""

RECORDS = 10_000
SPLITS = (0, 1, 0, 2, 1, 3)
"""The partitions that are split, one after the other."""

SPLITTING = {
    "kawal_partition_autosplit_mode": "paused",
    "kawal_partition_write_bytes_per_sec": "1000000000",
}


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


class Seen:
    """The records that a reader has seen first, by key, in that order."""

    def __init__(self) -> None:
        self.by_key: dict[bytes, list[int]] = {key: [] for key in KEYS}
        self._known: set[tuple[bytes, int]] = set()
        self.partitions: set[int] = set()

    def add(self, key: bytes, value: bytes, partition: int) -> None:
        number = struct.unpack(">q", value)[0]
        self.partitions.add(partition)
        if (key, number) not in self._known:
            self._known.add((key, number))
            self.by_key[key].append(number)

    def __len__(self) -> int:
        return len(self._known)

    def check(self, count: int) -> None:
        for key, numbers in self.by_key.items():
            assert numbers == list(range(count)), f"{key!r}: {_first_wrong(numbers)}"


def _first_wrong(numbers: list[int]) -> str:
    for place, number in enumerate(numbers):
        if number != place:
            return f"{numbers[max(0, place - 3) : place + 3]} at {place} of {len(numbers)}"
    return f"{len(numbers)} came"


@contextmanager
def beside(*loops: Callable[[threading.Event], None]) -> Iterator[list[BaseException]]:
    """Run loops in threads until the end of the block, which gets what they raise; it is raised here, too."""
    stop, errors = threading.Event(), list[BaseException]()

    def run(loop: Callable[[threading.Event], None]) -> None:
        try:
            loop(stop)
        except BaseException as error:  # noqa: BLE001  (it is raised below)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in threads:
            thread.join(120)
    if errors:
        raise errors[0]


def reads_new_protocol(broker: Broker, topic: str, seen: Seen) -> Callable[[threading.Event], None]:
    def loop(stop: threading.Event) -> None:
        settings = {"group_protocol": "consumer", "metadata_max_age_ms": 1_000}
        with group_consumer(broker, f"{topic}-new", topic, **settings) as consumer:
            _poll(consumer, seen, stop)

    return loop


def reads_classic(broker: Broker, topic: str, seen: Seen) -> Callable[[threading.Event], None]:
    def loop(stop: threading.Event) -> None:
        from kafka import KafkaConsumer
        from kafka.errors import CommitFailedError, RebalanceInProgressError

        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap,
            group_id=f"{topic}-classic",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            metadata_max_age_ms=1_000,
            heartbeat_interval_ms=500,
            session_timeout_ms=30_000,
        )
        while not stop.is_set():
            for records in consumer.poll(500).values():
                for record in records:
                    seen.add(record.key, record.value, record.partition)
            with suppress(CommitFailedError, RebalanceInProgressError):
                consumer.commit()
        consumer.close()

    return loop


def reads_queue(broker: Broker, topic: str, seen: Seen) -> Callable[[threading.Event], None]:
    group = f"{topic}-queue"
    configure(broker, group, share_auto_offset_reset="earliest")

    def loop(stop: threading.Event) -> None:
        with share_consumer(broker, group, topic) as consumer:
            while not stop.is_set():
                for message in consumer.poll(0.5) or []:
                    assert not message.error(), message.error()
                    seen.add(message.key(), message.value(), message.partition())

    return loop


def _poll(consumer: Any, seen: Seen, stop: threading.Event) -> None:
    while not stop.is_set():
        messages = consumer.consume(500, 0.5)
        for message in messages:
            assert not message.error(), message.error()
            seen.add(message.key(), message.value(), message.partition())
        if messages:
            consumer.commit(asynchronous=False)


def write(producer: Any, topic: str, numbers: range) -> None:
    """Write these numbers under each key, with the producer's own partitioner."""
    for number in numbers:
        for key in KEYS:
            while True:
                try:
                    producer.produce(topic, struct.pack(">q", number), key)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0


def split(broker: Broker, topic: str, partition: int) -> None:
    kawal(broker, "topics split", topic, "--partition", str(partition))


def tree(broker: Broker, topic: str) -> list[dict[str, Any]]:
    (found,) = json.loads(kawal(broker, "topics describe", topic, "--tree", "--json").stdout)
    rows: list[dict[str, Any]] = found["partitions"]
    return rows


READERS = {"new": reads_new_protocol, "classic": reads_classic, "queue": reads_queue}


@pytest.mark.timeout(300)
def test_each_key_is_read_in_order_over_six_splits(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(**SPLITTING)
    seen = {name: Seen() for name in READERS}
    producer = make_producer(broker, enable_idempotence="true", metadata_max_age_ms=1_000, linger_ms=2)
    step = RECORDS // (len(SPLITS) + 1) + 1
    with beside(*(reader(broker, topic, seen[name]) for name, reader in READERS.items())) as errors:
        for number, partition in enumerate((*SPLITS, None)):
            write(producer, topic, range(number * step, min(RECORDS, (number + 1) * step)))
            if partition is not None:
                split(broker, topic, partition)
        everything = RECORDS * len(KEYS)
        eventually(
            lambda: errors or all(len(found) == everything for found in seen.values()),
            waiting_for="all records",
            within_seconds=120,
            last=lambda: {name: (len(found), sorted(found.partitions)) for name, found in seen.items()},
        )
    for found in seen.values():
        found.check(RECORDS)
        assert len(found.partitions) > 1
    assert sum(row["active"] for row in tree(broker, topic)) == 1 + len(SPLITS)


def test_a_reader_that_dies_before_its_commit_costs_no_order(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(**SPLITTING)
    producer = make_producer(broker, metadata_max_age_ms=1_000)
    write(producer, topic, range(100))
    split(broker, topic, 0)
    write(producer, topic, range(100, 200))
    seen = Seen()
    for commits in (False, True):
        settings = {"group_protocol": "consumer", "metadata_max_age_ms": 500}
        with group_consumer(broker, f"{topic}-g", topic, **settings) as consumer:
            ends = time.monotonic() + (4 if not commits else 90)
            while time.monotonic() < ends and len(seen) < 200 * len(KEYS):
                for message in consumer.consume(1_000, 0.5):
                    seen.add(message.key(), message.value(), message.partition())
                if commits:
                    _commit(consumer)
        if not commits:
            assert 1 not in seen.partitions, "a child was given out before its parent was committed"
    seen.check(200)
    assert seen.partitions == {0, 1}


def _commit(consumer: Any) -> None:
    from confluent_kafka import KafkaException

    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].name() != "_NO_OFFSET":
            raise


def test_a_transaction_over_a_split_is_read_as_a_whole_or_not_at_all(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(**SPLITTING)
    producer = make_producer(broker, transactional_id=f"{topic}-tx", metadata_max_age_ms=1_000)
    producer.init_transactions(60)
    sent: dict[bytes, int] = dict.fromkeys(KEYS, 0)
    for number, commits in enumerate((True, False, True, True, False, True)):
        producer.begin_transaction()
        for half in (0, 1):
            for key in KEYS:
                number_of = sent[key] + half if commits else 1_000_000
                producer.produce(topic, struct.pack(">q", number_of), key)
            producer.flush(60)
            if half == 0:
                split(broker, topic, number)
        if commits:
            producer.commit_transaction(60)
            sent = {key: count + 2 for key, count in sent.items()}
        else:
            producer.abort_transaction(60)
    seen = Seen()
    settings = {"group_protocol": "consumer", "isolation_level": "read_committed", "metadata_max_age_ms": 500}
    with group_consumer(broker, f"{topic}-g", topic, **settings) as consumer:
        ends = time.monotonic() + 60
        while time.monotonic() < ends and len(seen) < 8 * len(KEYS):
            for message in consumer.consume(1_000, 0.5):
                seen.add(message.key(), message.value(), message.partition())
            _commit(consumer)
            # A client that reads committed records does not commit markers: its position is after them.
            places = [place for place in consumer.position(consumer.assignment()) if place.offset >= 0]
            if places:
                consumer.commit(
                    offsets=[TopicPartition(*_place(place)) for place in places], asynchronous=False
                )
    seen.check(8)


def _place(place: Any) -> tuple[str, int, int]:
    return place.topic, place.partition, place.offset


@pytest.mark.timeout(300)
@pytest.mark.parametrize("logs", [1, 2])
def test_a_topic_with_records_keeps_the_order_of_keys_when_the_server_begins_to_choose(
    broker: Broker, make_topic: MakeTopic, logs: int
) -> None:
    """librdkafka has placed them by CRC32, so each key goes to another partition from then on."""
    kawal(broker, "sql", f"CREATE DATABASE logs_{logs} VGROUPS {logs}")
    topic = make_topic(3, kawal_database=f"logs_{logs}", kawal_partition_write_bytes_per_sec="1000000000")
    producer = make_producer(broker, enable_idempotence="true", metadata_max_age_ms=1_000)
    write(producer, topic, range(300))
    kawal(broker, "topics alter", topic, "--config", "kawal.partition.autosplit.mode=paused")
    write(producer, topic, range(300, 400))
    seen = {name: Seen() for name in READERS}
    with beside(*(reader(broker, topic, seen[name]) for name, reader in READERS.items())) as errors:
        write(producer, topic, range(400, 500))
        split(broker, topic, 3)
        write(producer, topic, range(500, 600))
        eventually(
            lambda: errors or all(len(found) == 600 * len(KEYS) for found in seen.values()),
            waiting_for="all records",
            within_seconds=90,
            last=lambda: {name: (len(found), sorted(found.partitions)) for name, found in seen.items()},
        )
    for found in seen.values():
        found.check(600)
        assert min(found.partitions) < 3 <= max(found.partitions)
