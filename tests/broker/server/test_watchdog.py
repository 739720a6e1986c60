"""The watchdog takes the stack of a turn while it lasts too long, and logs it with its client."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from broker.handlers import APIS, find_coordinator
from broker.loop.turns import Turns
from broker.server.watchdog import MS, STUCK_NS, Watchdog
from protocol.api_keys import ApiKey
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.gateway import Gateway

LIMIT_MS = 20


class Scene:
    """A loop, in the thread of the test, whose clocks are moved by the test."""

    def __init__(self, turns: Turns | None = None) -> None:
        self.now_ns = self.cpu_ns = 0
        self.turns = turns or Turns()
        self.turns.clock_ns = lambda: self.now_ns
        self.turns.cpu_ns = lambda: self.cpu_ns
        self.watchdog = Watchdog(self.turns, lambda: LIMIT_MS, threading.get_ident())
        self.turns.on_slow = self.watchdog.turn_ended

    def spend(self, duration_ms: int, *, blocked: bool = False) -> None:
        self.now_ns += duration_ms * MS
        self.cpu_ns += 0 if blocked else duration_ms * MS

    def look(self) -> int | None:
        """Look; return the time until the next look in ms."""
        pause_ns = self.watchdog.look(self.now_ns)
        return None if pause_ns is None else pause_ns // MS


def fields(record: logging.LogRecord) -> dict[str, Any]:
    return vars(record)


def test_while_no_turn_lasts_there_is_nothing_to_look_at() -> None:
    scene = Scene()
    assert scene.look() is None
    scene.turns.begin(scene.turns.sockets)
    scene.turns.end()
    assert scene.look() is None


def test_a_turn_is_looked_at_again_when_it_is_as_old_as_the_limit() -> None:
    scene = Scene()
    scene.turns.begin(scene.turns.sockets)
    scene.spend(5)
    assert scene.look() == 15
    scene.turns.end()
    scene.turns.begin(scene.turns.sockets)
    scene.spend(12)
    assert scene.look() == 8


def busy_in_a_loop(scene: Scene) -> None:
    scene.spend(20)
    assert scene.look() == 20


def test_a_slow_turn_is_logged_with_the_stack_it_had_while_it_lasted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.turns.begin(scene.turns.timers)
    busy_in_a_loop(scene)
    scene.spend(3)
    scene.turns.end()
    (record,) = caplog.records
    assert record.stack_info is not None
    assert "busy_in_a_loop" in record.stack_info
    assert (fields(record)["turn_ms"], fields(record)["cpu_ms"]) == (23, 23)
    assert (fields(record)["work"], fields(record)["piece"]) == ("timers", "timers")


def test_the_next_turn_does_not_get_the_stack_of_the_last(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    for looked in (True, False):
        scene.turns.begin(scene.turns.timers)
        scene.spend(30)
        if looked:
            scene.look()
        scene.turns.end()
    assert [bool(record.stack_info) for record in caplog.records] == [True, False]


def test_a_turn_that_waited_for_the_machine_is_not_logged_unless_it_stood_still(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    for duration_ms in (200, 201):
        scene.turns.begin(scene.turns.disk)
        scene.spend(duration_ms, blocked=True)
        scene.turns.end()
    assert [fields(record)["turn_ms"] for record in caplog.records] == [201]


def test_a_turn_that_does_not_end_is_logged_at_growing_distances(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.turns.begin(scene.turns.background)
    looks_ms = []
    while scene.now_ns < 5 * STUCK_NS:
        pause_ms = scene.look()
        assert pause_ms is not None
        scene.spend(pause_ms)
        looks_ms.append(scene.now_ns // MS)
    assert looks_ms[:4] == [20, 40, 80, 160]
    assert [fields(record)["turn_ms"] for record in caplog.records] == [1280, 2560]
    assert all("not ended yet" in record.getMessage() for record in caplog.records)


def test_the_client_of_the_longest_piece_is_named(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(gateway.broker.stats.turns)
    client = gateway.client()

    def slow(broker: Any, call: Any) -> Any:
        scene.spend(50)
        return find_coordinator.handle(broker, call)

    monkeypatch.setattr(APIS[ApiKey.FIND_COORDINATOR], "_handler", slow)
    scene.turns.begin(scene.turns.sockets)
    client.send(FindCoordinatorRequest(key="g"), 1)
    scene.turns.end()
    (record,) = caplog.records
    found = fields(record)
    assert (found["piece"], found["piece_ms"], found["version"]) == ("find_coordinator", 50, 1)
    assert (found["client"], found["address"]) == ("test", "10.0.0.9:5000")
    assert (found["work"], found["work_ms"]) == ("find_coordinator", 50)


def test_the_thread_sleeps_until_a_turn_begins_and_ends_when_told_to() -> None:
    scene = Scene()
    slept, woken = threading.Event(), threading.Event()
    real_look = scene.watchdog.look

    def look(now_ns: int) -> int | None:
        pause_ns = real_look(now_ns)
        (slept if pause_ns is None else woken).set()
        return pause_ns

    scene.watchdog.look = look  # type: ignore[method-assign]
    scene.watchdog.start()
    assert slept.wait(60)
    scene.turns.begin(scene.turns.sockets)
    assert woken.wait(60)
    scene.turns.end()
    scene.watchdog.stop()
    assert scene.turns.on_slow is None
