"""Messages to a supervisor, on which nothing else depends."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from broker.loop.internal_errors import InternalErrors
from broker.loop.timers import Timers
from broker.server.notify import READY, STOPPING, show_life, tell_supervisor, watchdog_ms


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_the_state_arrives_at_the_socket_that_was_named(tmp_path: Path, kind: str) -> None:
    name = str(tmp_path / "notify") if kind == "path" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(name if kind == "path" else f"\0{tmp_path}")
        supervisor.settimeout(60)
        tell_supervisor(READY, {"NOTIFY_SOCKET": name})
        tell_supervisor(STOPPING, {"NOTIFY_SOCKET": name})
        assert [supervisor.recv(100) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


def test_without_a_supervisor_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("no socket is needed")

    monkeypatch.setattr(socket, "socket", refuse)
    tell_supervisor(READY, {})
    tell_supervisor(READY, {"NOTIFY_SOCKET": "vsock:2:1234"})


def test_a_supervisor_that_does_not_listen_is_told_of_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tell_supervisor(READY, {"NOTIFY_SOCKET": str(tmp_path / "gone")})
    assert "cannot tell systemd READY=1" in caplog.text


def test_signs_of_life_come_from_the_timers_twice_in_the_expected_time(tmp_path: Path) -> None:
    name = str(tmp_path / "notify")
    timers = Timers(InternalErrors())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(name)
        supervisor.setblocking(False)
        show_life(timers, 1_000, {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000"})
        assert supervisor.recv(100) == b"WATCHDOG=1"
        timers.run_due(15_999)
        with pytest.raises(BlockingIOError):
            supervisor.recv(100)
        timers.run_due(16_000)
        assert supervisor.recv(100) == b"WATCHDOG=1"
        assert timers.next_deadline() == 31_000


def test_a_supervisor_that_takes_nothing_does_not_stop_the_loop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = str(tmp_path / "notify")
    timers = Timers(InternalErrors())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(name)
        show_life(timers, 0, {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000"})
        for now_ms in range(1, 5_000):
            timers.run_due(now_ms)
            if caplog.records:
                break
    assert "cannot tell systemd WATCHDOG=1" in caplog.text
    assert len(timers) == 1


@pytest.mark.parametrize(
    ("variables", "expected_ms"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "60000000"}, 60_000),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 60_000),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_signs_of_life_are_expected_as_the_environment_says(
    variables: dict[str, str], expected_ms: int | None
) -> None:
    assert watchdog_ms(variables) == expected_ms
    timers = Timers(InternalErrors())
    show_life(timers, 0, variables)
    assert len(timers) == (expected_ms is not None)
