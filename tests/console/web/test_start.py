"""The start of the console, up to the moment at which it serves."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from broker.server import logs
from console.errors import CommandError
from console.security import PLAIN
from console.web import start
from console.web.hand_over import HandOver
from console.web.process import IDLE_SECONDS
from console.web.visit import Gateway


class FakeSocket:
    """A listening socket."""

    closed = False

    def __init__(self, fileno: int = 7, host: str = "127.0.0.1") -> None:
        self.descriptor = fileno
        self.host = host

    def getsockname(self) -> tuple[str, int]:
        return self.host, 9645

    def __enter__(self) -> FakeSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """Return what would be served."""
    found: list[tuple[Any, dict[str, Any]]] = []

    def serve(make: Any, listening: Any, ready: Any = lambda: None, **options: Any) -> None:
        ready()
        found.append((make(), options))

    monkeypatch.setattr(start, "serve", serve)
    monkeypatch.setattr(logs, "set_up", lambda **_: None)
    monkeypatch.setattr(start, "go_before_the_log", lambda: None)
    return found


def test_alone_it_prints_its_address(served: Any, capsys: pytest.CaptureFixture[str]) -> None:
    listening: Any = FakeSocket(host="::1")
    start.serve_alone(
        listening, bootstrap="b:1", security=PLAIN, read_only=True, login=False, https=False, hosts=("x",)
    )
    ((console, options),) = served
    assert capsys.readouterr().out == "kawal console http://[::1]:9645\n"
    assert console.settings[:-2] == ("b:1", True, False, False, True, ("x",))
    assert options == {}


def test_handed_over_it_logs_in_where_the_gateway_does_and_ends_with_it(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = HandOver(7, "127.0.0.1:9092", protocol="SASL_SSL", mechanism="PLAIN", ca="/c.pem", hosts=("h",))
    given.metrics = "127.0.0.1:9644"
    monkeypatch.setattr(start, "read_hand_over", lambda _: given)
    monkeypatch.setattr(socket, "socket", FakeSocket)
    start.serve_handed_over(("--data=/d",))
    ((console, options),) = served
    assert options == {"idle_seconds": IDLE_SECONDS, "lifeline": 0}
    assert (console.settings.login, console.settings.hosts) == (True, ("h",))
    assert console.settings.gateway == Gateway(("--data=/d",), "127.0.0.1:9644")
    security = console._everyone.security
    assert (security.protocol, security.mechanism, security.ca, security.checks_host) == (
        *("SASL_SSL", "PLAIN", "/c.pem"),
        False,
    )


def test_a_socket_that_is_none_is_a_sentence(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fileno: int) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(start, "read_hand_over", lambda _: HandOver(7, "b:1"))
    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(CommandError, match="Bad file descriptor"):
        start.serve_handed_over(("--data=/d",))
    assert served == []
