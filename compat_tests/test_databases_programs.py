"""A database and a window in time, read by every client program: offsets with gaps, bounds, origins."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from confluent_kafka.admin import NewTopic

from compat_tests.broker import Broker
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.confluent import make_producer
from compat_tests.test_console import kawal
from compat_tests.times import START_MS
from compat_tests.topics import create_topic, delete_topic
from compat_tests.views import admin_client, make_view

pytestmark = [
    pytest.mark.only_kawal("Apache Kafka has no databases"),
    pytest.mark.parametrize("client", list(COMMANDS), scope="session"),
]

COUNT = 60


class World(NamedTuple):
    """A view over a database of one vnode, a window on one of its topics, and what each of them shows."""

    view: str
    values: list[str]
    window: str


@pytest.fixture(scope="module")
def world(group_broker: Broker) -> World:
    kawal(group_broker, "databases create", "programs", "--vnodes", "1")
    values = []
    for name in ("programs.a", "programs.gone", "programs.b"):
        create_topic(group_broker, name, 1, {"kawal.database": "programs"})
        values += fill(group_broker, name)
    # What a deleted topic leaves is a gap.
    delete_topic(group_broker, "programs.gone")
    view = make_view(group_broker, "programs.all", "DATABASE programs")
    bounds = {"kawal.from": str(START_MS + 10), "kawal.to": str(START_MS + 20)}
    window = NewTopic("programs.window", -1, -1, config={"kawal.alias.of": "programs.a", **bounds})
    admin = admin_client(group_broker)
    admin.create_topics([window])["programs.window"].result(timeout=15)
    return World(view, [value for value in values if "gone" not in value], "programs.window")


def fill(broker: Broker, topic: str) -> list[str]:
    """Produce numbered records in order, some batches of them compressed; their values."""
    values = [f"{topic} {number}" for number in range(COUNT)]
    for first, codec in ((0, "none"), (COUNT // 2, "lz4")):
        producer = make_producer(broker, compression_type=codec)
        for number in range(first, first + COUNT // 2):
            headers = [("own", str(number).encode())]
            stamp = START_MS + number
            producer.produce(topic, values[number].encode(), partition=0, timestamp=stamp, headers=headers)
        assert producer.flush(30) == 0
    return values


def test_a_database_is_read_over_its_gaps(program: Program, group_broker: Broker, world: World) -> None:
    asked = {"bootstrap": group_broker.bootstrap, "topic": world.view, "partition": 0}
    found = program.ask("consume", **asked, offset=0, count=len(world.values))["records"]
    assert [one["value"] for one in found] == world.values
    for one in found:
        headers = dict(one["headers"])
        topic, number = one["value"].split()
        assert (headers["kawal.topic"], headers["kawal.offset"]) == (topic, number)
        assert (headers["own"], one["timestamp"]) == (number, START_MS + int(number))
    offsets = [one["offset"] for one in found]
    assert offsets == sorted(set(offsets))


def test_a_window_is_read_from_its_begin(program: Program, group_broker: Broker, world: World) -> None:
    asked = {"bootstrap": group_broker.bootstrap, "topic": world.window, "partition": 0}
    found = program.ask("consume", **asked, offset=10, count=10)["records"]
    assert [(one["offset"], one["value"]) for one in found] == [
        (number, f"programs.a {number}") for number in range(10, 20)
    ]
