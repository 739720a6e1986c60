"""Views as topics: read to the end by kcat, kafka-python, librdkafka and their groups; kept over kill -9."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource
from kafka import KafkaConsumer
from kafka.structs import TopicPartition as Place

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read, take
from compat_tests.conftest import StartBroker
from compat_tests.groups import group_consumer, poll_until
from compat_tests.kcat import kcat
from compat_tests.topics import create_topic, grow_topic
from compat_tests.views import (
    COLUMNS,
    VIEWS,
    Flight,
    add_flights,
    expected,
    flights,
    make_flights,
    make_view,
    make_views,
)
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

PARTITIONS = 2
SOURCE = "viewed-flights"


class World(NamedTuple):
    """A broker with the source's records, and the topic names of the views by the names in `VIEWS`."""

    broker: Broker
    made: list[Flight]
    topics: dict[str, str]

    def shown(self, view: str) -> list[tuple[int, int, str, str]]:
        """Return (partition, offset, key, value) of all that a view shows."""
        return sorted(
            (partition, *row)
            for partition in range(PARTITIONS)
            for row in expected(VIEWS[view], self.made, partition)
        )


@pytest.fixture(scope="module")
def world(group_broker: Broker) -> World:
    made = make_flights(group_broker, SOURCE, count=4_000, partitions=PARTITIONS)
    return World(group_broker, made, make_views(group_broker, SOURCE))


@pytest.fixture
def grouped(world: World, topic: str) -> Iterator[Any]:
    """Open a kafka-python member of a group that is named like the test's topic."""
    consumer = KafkaConsumer(
        bootstrap_servers=world.broker.bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    yield consumer
    consumer.close()


def read_to_the_ends(consumer: Any, name: str) -> list[tuple[int, int, str, str]]:
    """Return all records of a topic: poll until the group's positions are at the ends of all partitions."""
    consumer.subscribe([name])
    found: list[tuple[int, int, str, str]] = []

    def is_at_the_ends() -> bool:
        for records in consumer.poll(timeout_ms=500).values():
            found.extend(
                (record.partition, record.offset, record.key.decode(), record.value.decode())
                for record in records
            )
        places = consumer.assignment()
        ends = consumer.end_offsets(list(places))
        return bool(places) and all(consumer.position(place) == end for place, end in ends.items())

    eventually(is_at_the_ends, waiting_for=f"the ends of {name}")
    return sorted(found)


@pytest.mark.parametrize("view", list(VIEWS))
def test_a_group_reads_a_view_to_its_end_and_has_no_lag(world: World, grouped: Any, view: str) -> None:
    name = world.topics[view]
    assert read_to_the_ends(grouped, name) == world.shown(view)
    grouped.commit()
    places = [Place(name, partition) for partition in range(PARTITIONS)]
    assert [grouped.committed(place) for place in places] == [2_000] * PARTITIONS


@pytest.mark.parametrize("view", list(VIEWS))
def test_kcat_finds_the_end_of_a_view(world: World, view: str) -> None:
    name = world.topics[view]
    printed = kcat(world.broker, "-C", "-q", "-e", "-t", name, "-o", "beginning", "-f", "%p|%o|%k|%s\n")
    lines = [line.split("|", 3) for line in printed.stdout.decode().splitlines()]
    assert sorted((int(p), int(o), key, value) for p, o, key, value in lines) == world.shown(view)


def test_one_record_in_a_hundred_thousand_is_found(world: World) -> None:
    create_topic(world.broker, "hay", 1, {"kawal.columns": "n bigint"})
    view = make_view(world.broker, "needle", "SELECT n FROM hay WHERE n = 77777")
    produce(
        make_producer(world.broker, compression_type="lz4", linger_ms=50),
        "hay",
        [b'{"n":%d}' % number for number in range(100_000)],
    )
    with open_consumer(world.broker) as consumer:
        (found,) = read(consumer, view, 1)
        assert (found.offset(), found.value()) == (77_777, b'{"n":77777}')
    assert kcat(world.broker, "-C", "-q", "-e", "-t", view, "-o", "77778").stdout == b""


def test_offsets_by_time_are_those_of_the_source(world: World, grouped: Any) -> None:
    first = Place(world.topics["nothing"], 1)
    assert grouped.end_offsets([first]) == {first: 2_000}
    flight = next(record for record in world.made if record.partition == 1 and record.offset == 700)
    found = grouped.offsets_for_times({first: flight.timestamp})[first]
    assert (found.offset, found.timestamp) == (700, flight.timestamp)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_shares_the_partitions_of_a_view_and_another_gets_all(
    world: World, topic: str, protocol: str
) -> None:
    name = world.topics["late"]
    settings = {"group_protocol": protocol}
    shown = [(partition, offset) for partition, offset, _, _ in world.shown("late")]
    with group_consumer(world.broker, topic, name, **settings) as one:
        poll_until(lambda: len(one.assignment()) == PARTITIONS, one, what="all partitions")
        with group_consumer(world.broker, topic, name, **settings) as two:
            poll_until(
                lambda: len(one.assignment()) == len(two.assignment()) == 1,
                one,
                two,
                what="one partition each",
            )
    with group_consumer(world.broker, f"{topic}-other", name, **settings) as one:
        found = take(one, len(shown))
        assert sorted((record.partition(), record.offset()) for record in found) == shown
        one.commit(asynchronous=False)
    with group_consumer(world.broker, f"{topic}-other", name, **settings) as again:
        places = [TopicPartition(name, partition) for partition in range(PARTITIONS)]
        ends = [max(offset for p, offset in shown if p == partition) + 1 for partition in range(PARTITIONS)]
        assert [place.offset for place in again.committed(places, timeout=60)] == ends


def test_a_pattern_takes_in_views_that_are_made_later(world: World, topic: str) -> None:
    settings = {"group_protocol": "consumer", "topic_metadata_refresh_interval_ms": 500}
    with group_consumer(world.broker, topic, f"^{topic}-v.*", **settings) as consumer:
        make_view(world.broker, f"{topic}-v1", VIEWS["one"].sql.format(source=SOURCE.join("``")))
        found = poll_until(lambda: len(consumer.assignment()) == PARTITIONS, consumer, what="the new view")
        found = found or take(consumer, 1)
    assert [json.loads(record.value()) for record in found] == [{"id": 1234}]


def test_what_matches_arrives_while_it_is_produced_and_what_does_not_costs_no_answer(
    world: World, topic: str
) -> None:
    create_topic(world.broker, topic, 1, {"kawal.columns": COLUMNS})
    view = make_view(world.broker, f"{topic}-late", f"SELECT id FROM `{topic}` WHERE delay > 90")
    with open_consumer(world.broker, fetch_wait_max_ms=50_000) as consumer:
        consumer.assign([TopicPartition(view, 0, 0)])
        assert consumer.poll(0.2) is None
        made = flights(300, 1)
        add_flights(world.broker, topic, made)
        shown = [offset for offset, _, _ in expected(VIEWS["late"], made, 0)]
        began = time.monotonic()
        found = take(consumer, len(shown))
        assert time.monotonic() - began < 30, "the fetch was not woken by what matched"
        assert [record.offset() for record in found] == shown


def test_a_view_grows_with_its_source(world: World, topic: str) -> None:
    create_topic(world.broker, topic, 1, {"kawal.columns": COLUMNS})
    view = make_view(world.broker, f"{topic}-all", f"STABLE `{topic}`", partitions=1)
    grow_topic(world.broker, topic, 3)
    produce(make_producer(world.broker), topic, [b"x"], partition=2)
    with open_consumer(world.broker) as consumer:
        assert [record.value() for record in read(consumer, view, 1, partition=2)] == [b"x"]


def test_views_survive_kill_and_go_on_where_their_groups_were(start_broker: StartBroker) -> None:
    own = start_broker(group_initial_rebalance_delay_ms="0")
    made = make_flights(own, "f", count=1_000, partitions=1)
    view = make_view(own, "late", VIEWS["late"].sql.format(source="f"))
    shown = [offset for offset, _, _ in expected(VIEWS["late"], made, 0)]
    with group_consumer(own, "g", view) as consumer:
        found = take(consumer, 10)
        consumer.commit(offsets=[TopicPartition(view, 0, found[9].offset() + 1)], asynchronous=False)
    make_view(own, "gone", "STABLE f")
    own.kill()
    own.restart()
    more = [flight for flight in flights(1_500, 1) if flight.id >= 1_000]
    add_flights(own, "f", more)
    rest = shown[10:] + [offset for offset, _, _ in expected(VIEWS["late"], more, 0)]
    with group_consumer(own, "g", view) as consumer:
        again = take(consumer, len(rest))
        assert [record.offset() for record in again] == rest
    asking = AdminClient({"bootstrap.servers": own.bootstrap, "log_level": 2})
    resource = ConfigResource(ConfigResource.Type.TOPIC, "late")
    described = asking.describe_configs([resource])[resource].result(60)
    assert described["kawal.sql"].value == VIEWS["late"].sql.format(source="f")
    assert json.loads(described["kawal.schema"].value)["columns"][0] == {"name": "id", "type": "bigint"}
    assert "gone" in asking.list_topics(timeout=60).topics
