"""Aliases, time travel and replay with real clients: another name, another window, the original pace."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from kafka import KafkaConsumer
from kafka.structs import TopicPartition as Place

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, take
from compat_tests.groups import group_consumer
from compat_tests.kcat import kcat
from compat_tests.times import START_MS
from compat_tests.topics import create_topic
from compat_tests.views import admin_client
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

GAP_MS = 2_000
"""The time between two records of a partition; the other partition's fall in the middle."""

COUNT = 6
SPEED = 10.0
LATE_SECONDS = 0.15
"""The time a record may seem early: the one that the others are measured by may itself have been late."""

ATTEMPTS = 4
"""If a machine has stopped a process at the first record, all others seem early: once, or twice."""

BUSY_SECONDS = 30.0
"""The time a record may be late on a busy machine."""


@pytest.fixture(scope="module")
def source(group_broker: Broker) -> str:
    """Create two partitions whose records alternate in time: 0, 1 in partition 0, 1, and so on."""
    name = create_topic(group_broker, "replayed-flights", 2)
    producer = make_producer(group_broker)
    for number in range(2 * COUNT):
        stamp = START_MS + number * GAP_MS // 2
        producer.produce(name, b"%d" % number, partition=number % 2, timestamp=stamp)
    assert producer.flush(60) == 0
    return name


def view(broker: Broker, name: str, **configs: str) -> str:
    """Create a view with configurations, as any admin client does."""
    from confluent_kafka.admin import NewTopic

    wanted = {f"kawal.{key.replace('_', '.')}": text for key, text in configs.items()}
    new = NewTopic(name, num_partitions=-1, replication_factor=-1, config=wanted)
    # Kept until the answer is here: a client that is collected answers nothing.
    admin = admin_client(broker)
    admin.create_topics([new])[name].result(timeout=60)
    return name


def arrivals(consumer: Any, wanted: int) -> list[tuple[int, float]]:
    """Return the numbers that come, with their times in seconds."""
    found: list[tuple[int, float]] = []
    deadline = time.monotonic() + 60
    while len(found) < wanted:
        assert time.monotonic() < deadline, found
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append((int(message.value()), time.monotonic()))
    return found


def check_pace(replays: Callable[[], list[tuple[int, float]]], numbers: range, speed: float) -> None:
    """Check that every record came, in its partition's order, none early, and the last not much too late.

    Each of some replays has all records, and one has none that is early.

    A client that asks for its partitions one by one has its clock from the first of them, so on a busy
    machine the first records of the other one may already be late when they are asked for.
    """
    early: list[list[tuple[int, float]]] = []
    for _ in range(ATTEMPTS):
        found = replays()
        assert sorted(number for number, _ in found) == list(numbers)
        for partition in range(2):
            placed = [number for number, _ in found if number % 2 == partition]
            assert placed == sorted(placed)
        first, began = found[0]
        late = [moment - began - (number - first) * GAP_MS / 2_000 / speed for number, moment in found]
        assert max(late) <= BUSY_SECONDS, found
        if min(late) >= -LATE_SECONDS:
            return
        early.append(found)
    raise AssertionError(f"records came early in each of {ATTEMPTS} replays: {early}")


def test_an_alias_is_read_like_its_topic(group_broker: Broker, source: str) -> None:
    name = view(group_broker, "flights-by-another-name", alias_of=source)
    told = kcat(group_broker, "-C", "-t", name, "-e", "-q", "-f", "%p %o %s\n").stdout
    assert sorted(told.splitlines()) == sorted(
        b"%d %d %d" % (number % 2, number // 2, number) for number in range(2 * COUNT)
    )
    refused = kcat(group_broker, "-P", "-t", name, "-p", "0", stdin=b"x", succeed=False, timeout_seconds=120)
    assert b"policy" in refused.stderr.lower()


def test_time_travel_shows_what_lies_between(group_broker: Broker, source: str) -> None:
    bounds = {"from": str(START_MS + 3 * GAP_MS // 2), "to": str(START_MS + 8 * GAP_MS // 2)}
    name = view(group_broker, "flights-then", alias_of=source, **bounds)
    consumer = KafkaConsumer(bootstrap_servers=group_broker.bootstrap)
    places = [Place(name, index) for index in range(2)]
    begins, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
    assert [(begins[place], ends[place]) for place in places] == [(2, 4), (1, 4)]
    consumer.assign(places)
    consumer.seek_to_beginning()
    found: list[int] = []

    def all_came() -> bool:
        for batch in consumer.poll(200).values():
            found.extend(int(record.value) for record in batch)
        return len(found) >= 5

    eventually(all_came, waiting_for="the records")
    consumer.close()
    assert sorted(found) == list(range(3, 8))


def test_a_replay_has_the_pace_of_the_source_over_all_partitions(group_broker: Broker, source: str) -> None:
    name = view(group_broker, "flights-again", alias_of=source, replay_speed=str(SPEED))

    def replayed() -> list[tuple[int, float]]:
        with open_consumer(group_broker, fetch_wait_max_ms=500) as consumer:
            consumer.assign([TopicPartition(name, index, 0) for index in range(2)])
            return arrivals(consumer, 2 * COUNT)

    check_pace(replayed, range(2 * COUNT), SPEED)


def test_kafka_python_replays_too(group_broker: Broker, source: str) -> None:
    name = view(group_broker, "flights-once-more", alias_of=source, replay_speed="20")

    def replayed() -> list[tuple[int, float]]:
        consumer = KafkaConsumer(bootstrap_servers=group_broker.bootstrap, auto_offset_reset="earliest")
        consumer.assign([Place(name, index) for index in range(2)])
        found: list[tuple[int, float]] = []

        def all_came() -> bool:
            for batch in consumer.poll(500).values():
                found.extend((int(record.value), time.monotonic()) for record in batch)
            return len(found) >= 2 * COUNT

        eventually(all_came, waiting_for="the replay")
        consumer.close()
        return found

    check_pace(replayed, range(2 * COUNT), 20.0)


def test_a_group_commits_and_goes_on_with_the_replay(group_broker: Broker, source: str) -> None:
    name = view(group_broker, "flights-for-groups", alias_of=source, replay_speed="20")
    numbers = count()

    def replayed() -> list[tuple[int, float]]:
        group = f"replaying-{next(numbers)}"
        with group_consumer(group_broker, group, name) as consumer:
            first = [number for number, _ in arrivals(consumer, 5)]
            consumer.commit(asynchronous=False)
        assert sorted(first) == list(range(5))
        with group_consumer(group_broker, group, name) as consumer:
            return arrivals(consumer, 2 * COUNT - 5)

    check_pace(replayed, range(5, 2 * COUNT), 20.0)


def test_a_query_can_be_bounded_and_replayed(group_broker: Broker, source: str) -> None:
    sql = f"SELECT _offset AS o FROM `{source}` WHERE _partition = 1"
    name = view(group_broker, "flights-of-one", sql=sql, replay_speed="20", **{"from": "offset 2"})
    with open_consumer(group_broker) as consumer:
        consumer.assign([TopicPartition(name, index, 2) for index in range(2)])
        records = take(consumer, COUNT - 2)
    assert [record.value() for record in records] == [b'{"o":%d}' % number for number in range(2, COUNT)]
