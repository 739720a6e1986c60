"""Messages to a supervisor, on which nothing else depends."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from broker.server.notify import READY, STOPPING, tell_supervisor


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_the_state_arrives_at_the_socket_that_was_named(tmp_path: Path, kind: str) -> None:
    name = str(tmp_path / "notify") if kind == "path" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(name if kind == "path" else f"\0{tmp_path}")
        supervisor.settimeout(5)
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
