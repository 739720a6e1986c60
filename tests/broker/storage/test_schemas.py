"""The schemas of a registry: asked for once, and never waited for without end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.config.config import Config
from broker.core import Broker
from broker.loop.slices import Until
from broker.storage import schemas as module
from broker.storage.schemas import REFUSED_MS, REST_MS, Lookups, Schemas
from registry.errors import Unreachable
from tests.broker.gateway import Gateway

PAGES: dict[str, Any] = {
    **{f"schemas/ids/{number}": {"schemaType": "JSON", "schema": "{}"} for number in range(1, 30)},
    "schemas/ids/66": {"schema": "{"},
}
TIMEOUT_MS = Config().kawal_schema_registry_timeout_ms


class World:
    """A cache over a registry of pages; lookups wait in a list until the test runs them."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.broker = gateway, gateway.broker
        self.asked: list[str] = []
        self.away = False
        self.lookups: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
        self.schemas = Schemas(
            self.broker,
            lambda: self.broker.config,
            Lookups(lambda _: self.ask, lambda work, done: self.lookups.append((work, done))),
        )

    def ask(self, path: str) -> Any:
        self.asked.append(path)
        if self.away:
            raise Unreachable("nothing answers")
        return PAGES.get(path)

    def look_up(self) -> None:
        for work, done in self.lookups[:]:
            work()
            done(None)
        self.lookups.clear()

    def learn(self, *identities: int) -> Learning:
        return Learning(self.broker, self.schemas, identities)


class Learning:
    """A request that learns schemas, with what it was told at its end."""

    def __init__(self, broker: Broker, schemas: Schemas, identities: tuple[int, ...]) -> None:
        self.steps = schemas.learn(identities)
        self.over = False
        self.told: str | None = None
        self.go_on()

    def go_on(self) -> None:
        assert not self.over
        try:
            waits = next(self.steps)
        except StopIteration as end:
            self.over, self.told = True, end.value
        else:
            assert isinstance(waits, Until)
            waits.start(self.go_on)


@pytest.fixture
def world(gateway: Gateway) -> World:
    return World(gateway)


def test_a_schema_is_asked_for_once(world: World) -> None:
    first, second = world.learn(1, 2), world.learn(2)
    assert not first.over
    world.look_up()
    assert (first.over, first.told, second.over, second.told) == (True, None, True, None)
    assert sorted(world.asked) == ["schemas/ids/1", "schemas/ids/2"]
    third = world.learn(1)
    assert (third.over, third.told, world.lookups) == (True, None, [])
    found = world.schemas.find(1)
    assert callable(found)
    assert found(b"{}") == b"{}"


def test_a_schema_that_does_not_exist_or_cannot_be_read_is_asked_for_again_later(world: World) -> None:
    assert not world.learn(50, 66).over
    world.look_up()
    assert world.schemas.find(50) == "the schema registry has no schema 50"
    assert str(world.schemas.find(66)).startswith("schema 66 cannot be read: JSONDecodeError")
    world.gateway.advance(REFUSED_MS)
    world.broker.clock.turn_ms = world.gateway.now_ms
    assert world.schemas.find(50) is None


def test_a_registry_that_is_away_is_left_alone_for_a_while(world: World) -> None:
    world.away = True
    first = world.learn(1)
    world.look_up()
    assert (first.over, first.told) == (True, "nothing answers")
    second = world.learn(2)
    assert (second.over, second.told, world.lookups) == (True, "nothing answers", [])
    world.gateway.advance(REST_MS)
    world.broker.clock.turn_ms = world.gateway.now_ms
    world.away = False
    third = world.learn(2)
    world.look_up()
    assert (third.over, third.told) == (True, None)


def test_a_registry_that_does_not_answer_is_waited_for_so_long_and_no_longer(world: World) -> None:
    waiting = world.learn(1)
    world.gateway.advance(TIMEOUT_MS - 1)
    assert not waiting.over
    world.gateway.advance(1)
    assert (waiting.over, waiting.told) == (
        True,
        f"the schema registry did not answer within {TIMEOUT_MS} ms",
    )
    world.broker.clock.turn_ms = world.gateway.now_ms + 1
    world.look_up()
    assert world.asked == []  # nothing waited for it any more


def test_lookups_that_wait_have_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKUPS_MAX", 3)
    assert not world.learn(1, 2).over
    refused = world.learn(3, 4)
    assert refused.told == "more than 3 schemas wait for the schema registry"
    assert not world.learn(2, 3).over


def test_the_oldest_schemas_make_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_MAX", 2)
    for number in (1, 2, 3):
        world.learn(number)
        world.look_up()
    assert [world.schemas.find(number) is None for number in (1, 2, 3)] == [True, False, False]


def test_without_a_registry_there_are_no_schemas(gateway: Gateway) -> None:
    found = Learning(gateway.broker, gateway.broker.schemas, (1,))
    assert found.told == "this server has no schema registry"
