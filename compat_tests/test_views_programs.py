"""Views read by every client program: all, some, none, one, none at the end."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from compat_tests.broker import Broker
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.views import VIEWS, Flight, expected, make_flights, make_views

pytestmark = [
    pytest.mark.only_kawal("Apache Kafka has no views"),
    pytest.mark.parametrize("client", list(COMMANDS), scope="session"),
]

PARTITIONS = 2

READ = ("everything", "late", "nothing")
"""Some programs know the end of a partition only by its silence for seconds: these views tell the most."""


class World(NamedTuple):
    """The source's records, and the topics' names of the views by the names in `VIEWS`."""

    made: list[Flight]
    topics: dict[str, str]


@pytest.fixture(scope="module")
def world(group_broker: Broker) -> World:
    made = make_flights(group_broker, "program-flights", count=4_000, partitions=PARTITIONS)
    return World(made, make_views(group_broker, "program-flights"))


@pytest.mark.parametrize("view", READ)
def test_a_view_is_read_to_its_end(program: Program, group_broker: Broker, world: World, view: str) -> None:
    asked = {"bootstrap": group_broker.bootstrap, "topic": world.topics[view], "partition": 0}
    found = program.ask("consume", **asked, offset=0, count=None)["records"]
    read = [(one["offset"], one["key"], one["value"]) for one in found]
    assert read == expected(VIEWS[view], world.made, 0)
    by_offset = {flight.offset: flight for flight in world.made if flight.partition == 0}
    for record in found:
        flight = by_offset[record["offset"]]
        assert record["timestamp"] == flight.timestamp
        assert record["headers"] == [["id", str(flight.id)]]


def test_a_group_reads_a_view_and_commits(program: Program, group_broker: Broker, world: World) -> None:
    shown = [one for p in range(PARTITIONS) for one in expected(VIEWS["late"], world.made, p)]
    found = program.ask(
        "consume_group",
        bootstrap=group_broker.bootstrap,
        topic=world.topics["late"],
        group=f"views-of-{program.name}",
        count=len(shown),
    )["records"]
    assert sorted((one["offset"], one["key"], one["value"]) for one in found) == sorted(shown)
