"""The issuer's keys: read when due, kept when they cannot be read, and never asked for too often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from broker.security.jwks import UNKNOWN_PAUSE_MS, IssuerKeys, Times

Done = Callable[[Exception | None], None]


class World:
    """An issuer, a clock and a thread."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.published: Mapping[str, Any] | Exception = {"a": 1}
        self.tasks: list[tuple[Callable[[], object], Done]] = []
        self.keys = IssuerKeys(
            "https://issuer", self._read, self._run, Times(60_000, 100, 1_000), lambda: self.now_ms
        )

    def _read(self) -> Mapping[str, Any]:
        if isinstance(self.published, Exception):
            raise self.published
        return self.published

    def _run(self, work: Callable[[], object], done: Done) -> None:
        self.tasks.append((work, done))

    def work(self) -> bool:
        """Do what the thread has to do; whether that was anything."""
        if not self.tasks:
            return False
        (work, done), self.tasks = self.tasks[0], self.tasks[1:]
        try:
            work()
        except OSError as error:
            done(error)
        else:
            done(None)
        return True


@pytest.fixture
def world() -> World:
    made = World()
    made.keys.refresh()
    made.work()
    return made


def test_keys_are_found_without_waiting(world: World) -> None:
    assert world.keys.find("a") == 1
    assert not world.tasks


def test_keys_are_read_again_when_due_and_the_old_ones_serve_meanwhile(world: World) -> None:
    world.published = {"b": 2}
    world.now_ms += 60_000
    assert world.keys.find("a") == 1
    assert world.work()
    assert (world.keys.find("a"), world.keys.find("b")) == (None, 2)


def test_an_unknown_key_has_them_read_once_in_a_while(world: World) -> None:
    for _ in range(100):
        assert world.keys.find("made up") is None
    assert not world.tasks
    world.now_ms += UNKNOWN_PAUSE_MS
    world.published = {"a": 1, "new": 3}
    for _ in range(100):
        world.keys.find("new")
    assert len(world.tasks) == 1
    world.work()
    assert world.keys.find("new") == 3


def test_while_the_issuer_is_away_keys_stay_and_pauses_grow(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.published = OSError("away")
    world.now_ms += 60_000
    world.keys.find("a")
    pauses = []
    for _ in range(6):
        assert world.work()
        pause_ms = 0
        while not world.tasks:
            pause_ms += 100
            world.now_ms += 100
            assert world.keys.find("a") == 1
        pauses.append(pause_ms)
    assert pauses == [100, 200, 400, 800, 1_000, 1_000]
    assert "those in use were kept: away" in caplog.text
