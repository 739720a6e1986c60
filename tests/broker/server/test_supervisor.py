"""The supervisor: ready once, restarts with pauses, the controller last, a failed start in its own words."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from broker.config.config import config_of
from broker.server.listeners import StartError
from broker.server.supervisor import (
    PAUSE_SECONDS,
    PAUSE_SECONDS_MAX,
    QUICK_SECONDS,
    Supervisor,
    pause_seconds,
    supervise,
)
from wal.errors import StoreError


class FakeChild:
    """A worker that says and does what the test wants."""

    def __init__(self, number: int, began: float, reads_again: bool) -> None:
        self.number, self.began, self.reads_again = number, began, reads_again
        self.pid = 1000 + number
        self.pipe = number
        self.ready = self.alive = False
        self.failure, self.is_over = "", False
        self.said: list[str] = []
        self.signals: list[int] = []
        self.status: int | None = None

    def lines(self) -> list[str]:
        said, self.said = self.said, []
        return said

    def send(self, number: int) -> None:
        self.signals.append(number)

    def ended(self) -> int | None:
        return self.status

    def close(self) -> None:
        pass


class World:
    """A supervisor, its workers, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int = 3) -> None:
        self.now = 100.0
        self.started: list[FakeChild] = []
        self.told: list[str] = []
        self.announced: list[str] = []
        monkeypatch.setattr("broker.server.supervisor.time.monotonic", lambda: self.now)
        monkeypatch.setattr(
            "broker.server.supervisor.tell_supervisor", lambda state, *_, **__: self.told.append(state)
        )
        start: Any = self._start
        announce = self.announced.append
        self.supervisor = Supervisor(count, start, ready=announce, console=announce)
        self.turn()

    def _start(self, number: int, reads_again: bool) -> FakeChild:
        self.started.append(FakeChild(number, self.now, reads_again))
        return self.started[-1]

    def child(self, number: int) -> FakeChild:
        return next(child for child in reversed(self.started) if child.number == number)

    def turn(self, sent: signal.Signals | None = None) -> None:
        supervisor = self.supervisor
        supervisor._start_due()
        if sent is not None:
            supervisor._take(sent)
        supervisor._hear()
        supervisor._bury()

    def serve(self) -> None:
        for child in list(self.started):
            child.said.append(f"ready 127.0.0.1:{9092 + child.number}")
        self.turn()

    def end(self, number: int, status: int) -> None:
        self.child(number).status = status
        self.turn()

    @property
    def numbers(self) -> list[int]:
        return [child.number for child in self.started]


def test_it_is_ready_once_when_all_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    assert world.numbers == [0, 1, 2]
    world.child(1).said.append("ready 127.0.0.1:9093")
    world.child(0).said.append("ready 127.0.0.1:9092")
    world.turn()
    assert not world.announced
    world.child(2).said.append("ready 127.0.0.1:9094")
    world.turn()
    world.turn()
    assert world.announced == ["127.0.0.1:9092"]
    assert world.told == ["READY=1"]


def test_a_worker_that_dies_is_started_again_at_once_and_more_slowly_when_that_repeats(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(monkeypatch)
    world.serve()
    world.end(1, -signal.SIGKILL)
    assert "worker 1 (process 1001) ended with SIGKILL; it is started again" in caplog.text
    world.turn()
    assert world.numbers == [0, 1, 2, 1]
    world.end(1, 1)
    world.turn()
    assert world.numbers == [0, 1, 2, 1]
    world.now += PAUSE_SECONDS
    world.turn()
    assert world.numbers == [0, 1, 2, 1, 1]
    world.now += QUICK_SECONDS
    world.end(1, 0)
    world.turn()
    assert world.numbers == [0, 1, 2, 1, 1, 1]
    assert world.announced == ["127.0.0.1:9092"]


def test_pauses_grow_up_to_a_limit() -> None:
    pauses = [pause_seconds(count) for count in range(20)]
    assert pauses[:5] == [0, 0, PAUSE_SECONDS, 2 * PAUSE_SECONDS, 4 * PAUSE_SECONDS]
    assert pauses == sorted(pauses)
    assert pauses[-1] == PAUSE_SECONDS_MAX


def test_the_controller_stops_last(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.serve()
    world.turn(signal.SIGTERM)
    assert [child.signals for child in world.started] == [[], [signal.SIGTERM], [signal.SIGTERM]]
    world.end(2, 0)
    assert not world.child(0).signals
    world.end(1, 0)
    assert world.child(0).signals == [signal.SIGTERM]
    world.turn(signal.SIGTERM)
    assert world.child(0).signals == [signal.SIGTERM]
    world.end(0, 0)
    assert world.supervisor._finished
    assert world.supervisor._status == 0
    assert world.told == ["READY=1", "STOPPING=1"]
    assert world.numbers == [0, 1, 2]


def test_a_worker_that_does_not_end_cleanly_makes_the_status(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(monkeypatch, 2)
    world.serve()
    world.turn(signal.SIGINT)
    world.end(1, -signal.SIGSEGV)
    world.end(0, 0)
    assert world.supervisor._finished
    assert world.supervisor._status == 1
    assert "worker 1 ended with SIGSEGV" in caplog.text


def test_a_stop_before_all_answer_is_a_clean_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    world.turn(signal.SIGTERM)
    world.end(1, -signal.SIGTERM)
    world.end(0, -signal.SIGTERM)
    assert (world.supervisor._finished, world.supervisor._status, world.supervisor._failure) == (True, 0, "")


@pytest.mark.parametrize(
    ("number", "said", "sentence"),
    [
        (0, ["failed the disk is full"], "the disk is full"),
        (1, ["failed no certificate"], "worker 1: no certificate"),
        (0, [], "worker 0: it ended with SIGKILL"),
    ],
)
def test_a_worker_that_cannot_start_ends_the_start(
    monkeypatch: pytest.MonkeyPatch, number: int, said: list[str], sentence: str
) -> None:
    world = World(monkeypatch, 2)
    world.child(number).said += said
    world.end(number, 1 if said else -signal.SIGKILL)
    other = world.child(1 - number)
    assert other.signals == [signal.SIGTERM]
    world.end(other.number, 0)
    assert world.supervisor._finished
    assert world.supervisor._failure == sentence


def test_signs_of_life_for_a_standby_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    config = config_of({
        "kawal.remote.store": "s3://bucket/a",
        "kawal.remote.heartbeat.ms": 1_000,
        "kawal.workers": 2,
        "log.dirs": str(tmp_path / "data"),
    })  # fmt: skip
    with pytest.raises(
        StoreError, match=r"^kawal\.remote\.heartbeat\.ms cannot be set with several workers: a standby"
    ):
        supervise(config, ready=print)
    assert not (tmp_path / "data").exists()


def test_a_worker_that_can_acknowledge_nothing_more_ends_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Started again, it would take its place back from the process that has ended it, and so on."""
    world = World(monkeypatch)
    world.serve()
    world.child(1).said.append("over")
    world.end(1, 1)
    assert "worker 1 can acknowledge nothing more: the server ends" in caplog.text
    assert [child.signals for child in world.started] == [[], [], [signal.SIGTERM]]
    world.end(2, 0)
    world.end(0, 0)
    assert world.supervisor._finished
    assert world.supervisor._status == 1
    assert world.numbers == [0, 1, 2]


def test_a_failed_start_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    world.supervisor._failure, world.supervisor._stopping = "the disk is full", True
    world.supervisor._children.clear()
    with pytest.raises(StartError, match="the disk is full"):
        world.supervisor.run()


def test_hang_ups_and_dumps_are_passed_on_and_later_workers_read_the_file_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch, 2)
    world.serve()
    world.turn(signal.SIGHUP)
    world.turn(signal.SIGQUIT)
    assert [child.signals for child in world.started] == [[signal.SIGHUP, signal.SIGQUIT]] * 2
    assert world.told[1].startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert world.told[2] == "READY=1"
    world.end(1, 0)
    world.turn()
    assert [child.reads_again for child in world.started] == [False, False, True]


def test_systemd_is_told_of_life_when_every_worker_has_given_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    world.serve()
    world.told.clear()
    for number in (0, 0, 1):
        assert not world.told
        world.child(number).said.append("alive")
        world.turn()
    assert world.told == ["WATCHDOG=1"]
    world.turn()
    assert world.told == ["WATCHDOG=1"]


def test_systemd_hears_of_life_only_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    for number in (0, 1):
        world.child(number).said.append("alive")
    world.turn()
    assert not world.told
    world.serve()
    assert world.told == ["READY=1", "WATCHDOG=1"]


def test_the_console_is_announced_after_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    world.child(0).said.append("console http://127.0.0.1:9645")
    world.turn()
    assert not world.announced
    world.serve()
    assert world.announced == ["127.0.0.1:9092", "http://127.0.0.1:9645"]
    world.end(0, 1)
    world.turn()
    world.child(0).said += ["ready 127.0.0.1:9092", "console http://127.0.0.1:9645"]
    world.turn()
    assert len(world.announced) == 2
