"""A process at its place among others: what it begins."""

from __future__ import annotations

from typing import Any

from broker.catalogue.nodes import Nodes
from broker.server.among import Among
from tests.broker.gateway import Gateway


class Place:
    """A place that notes what it is asked for."""

    def __init__(self, *, reads_again: bool, life_ms: int | None) -> None:
        self.reads_again = reads_again
        self.life_ms = life_ms
        self.done: list[str] = []

    def alive(self) -> None:
        self.done.append("alive")

    def begin(self, _broker: object) -> None:
        self.done.append("begin")


class Nursery:
    """A nursery that notes what is started."""

    def __init__(self) -> None:
        self.started: list[object] = []

    def start_soon(self, work: object) -> None:
        self.started.append(work)


class Reloader:
    """A reader of the file."""

    async def reload(self) -> None:
        """Read."""


def begun(*, reads_again: bool, life_ms: int | None) -> tuple[Place, Nursery]:
    place: Any = Place(reads_again=reads_again, life_ms=life_ms)
    nursery: Any = Nursery()
    reloader: Any = Reloader()
    gateway = Gateway()
    Among(place, Nodes(0), None).begin(gateway.broker, nursery, reloader, lambda: gateway.now_ms)
    gateway.advance(10)
    return place, nursery


def test_a_place_begins_and_gives_signs_of_life_if_they_are_expected() -> None:
    assert begun(reads_again=False, life_ms=None)[0].done == ["begin"]
    assert "alive" in begun(reads_again=False, life_ms=5)[0].done


def test_the_file_is_read_again_if_that_was_asked_for_since_the_start_of_all() -> None:
    assert len(begun(reads_again=True, life_ms=None)[1].started) == 1
    assert begun(reads_again=False, life_ms=None)[1].started == []
