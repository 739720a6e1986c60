"""Views of every kind read by every client program: all, some, one, none, none at the end; changes; a pace.

The programs read side by side, each in a thread of its own: some of them wait for silence to know an end, and
would take minutes one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from compat_tests.broker import Broker
from compat_tests.clients.program import CannotError, Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.view_kinds import KINDS, TO_THE_END, Kinds, Told, in_order, told

pytestmark = [
    pytest.mark.only_kawal("Apache Kafka has no views"),
    pytest.mark.parametrize("client", list(COMMANDS), scope="module"),
]

AT_ONCE = 4
"""The number of programs that run side by side."""

WITHIN_SECONDS = 220

Answers = dict[tuple[str, str], Future[list[dict[str, Any]]]]
"""Records by client and what was asked."""

GROUP = "late, by a group"

CREATION = "made by itself"

CANNOT_CREATE = {"kcat"}
"""Clients without an admin client."""


class Readings:
    """All reading by all programs, begun at once."""

    def __init__(self, world: Kinds, clients: list[str], directory: Path) -> None:
        self.world = world
        self._directory = directory
        self._answers: Answers = {
            (client, asked): Future() for client in clients for asked in [*KINDS, GROUP, CREATION]
        }
        self._pool = ThreadPoolExecutor(AT_ONCE)
        for client in clients:
            self._pool.submit(self._read_all, client)

    def of(self, client: str, asked: str) -> list[dict[str, Any]]:
        """Return what a client has read."""
        return self._answers[client, asked].result(WITHIN_SECONDS)

    def close(self) -> None:
        """Begin no more, and let what has begun end."""
        self._pool.shutdown(cancel_futures=True)

    def _read_all(self, client: str) -> None:
        answers = {asked: answer for (other, asked), answer in self._answers.items() if other == client}
        try:
            program = Program(client, COMMANDS[client], self._directory / client)
        except BaseException as error:  # noqa: BLE001  told by the tests that ask
            for answer in answers.values():
                answer.set_exception(error)
            return
        for asked, answer in answers.items():
            try:
                answer.set_result(self._read(program, asked))
            except BaseException as error:  # noqa: BLE001  told by the test that asks
                answer.set_exception(error)
        program.close()

    def _read(self, program: Program, asked: str) -> list[dict[str, Any]]:
        world, bootstrap = self.world, self.world.broker.bootstrap
        if asked == CREATION:
            return self._create(program)
        if asked == GROUP:
            fields = {"topic": world.topic("late"), "count": len(world.shown("late"))}
            found = program.ask("consume_group", bootstrap=bootstrap, group=f"of-{program.name}", **fields)
        else:
            count = None if asked in TO_THE_END else len(world.shown(asked, 0))
            fields = {"topic": world.topic(asked), "partition": 0, "offset": KINDS[asked].begin}
            found = program.ask("consume", bootstrap=bootstrap, count=count, **fields)
        return list(found["records"])

    def _create(self, program: Program) -> list[dict[str, Any]]:
        """Let the program's admin client make a view, which it then reads."""
        topic, bootstrap = f"{self.world.name}.made.{program.name}", self.world.broker.bootstrap
        configs = {"kawal.sql": f"SELECT id FROM `{self.world.source}` WHERE id = 1234"}
        try:
            program.ask("create_topic", bootstrap=bootstrap, topic=topic, partitions=2, configs=configs)
        except CannotError:
            return []
        fields = {"topic": topic, "partition": 0, "offset": 0, "count": 1}
        return list(program.ask("consume", bootstrap=bootstrap, **fields)["records"])


@pytest.fixture(scope="module")
def readings(
    request: pytest.FixtureRequest, group_broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Readings]:
    mine = [item for item in request.session.items if item.path == request.path]
    wanted = {item.callspec.params["client"] for item in mine if isinstance(item, pytest.Function)}
    world = Kinds(group_broker, "programs")
    clients = [client for client in COMMANDS if client in wanted]
    begun = Readings(world, clients, tmp_path_factory.mktemp("logs"))
    yield begun
    begun.close()


def told_by(records: list[dict[str, Any]]) -> list[Told]:
    """Return a program's records as the world has them."""
    return in_order(
        told(record["partition"], record["offset"], record["key"], record["value"], record["headers"])
        for record in records
    )


def check_records(world: Kinds, records: list[dict[str, Any]]) -> None:
    """Check that times and headers are those of the flights."""
    by_place = {(flight.partition, flight.offset): flight for flight in world.made}
    for record in records:
        headers = dict(record["headers"])
        if "id" in headers:
            place = told(record["partition"], record["offset"], None, "", record["headers"])[:2]
            flight = by_place[place]
            assert (headers["id"], record["timestamp"]) == (str(flight.id), flight.timestamp)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_view_of_each_kind_is_read(readings: Readings, client: str, kind: str) -> None:
    records = readings.of(client, kind)
    assert told_by(records) == readings.world.shown(kind, 0)
    offsets = [record["offset"] for record in records]
    assert offsets == sorted(set(offsets))
    check_records(readings.world, records)


def test_a_group_reads_a_view_and_commits(readings: Readings, client: str) -> None:
    assert told_by(readings.of(client, GROUP)) == readings.world.shown("late")


def test_a_view_is_made_by_the_admin_client(readings: Readings, client: str) -> None:
    values = [record["value"] for record in readings.of(client, CREATION)]
    assert values == ([] if client in CANNOT_CREATE else ['{"id":1234}'])
