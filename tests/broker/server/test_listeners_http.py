"""The HTTP listener: none, an operator's choice that must work, or a default that may be in use."""

from __future__ import annotations

import errno
import socket
from typing import Any

import pytest

from broker.config.config import Config, config_of
from broker.server.listeners import HTTP_BACKLOG, StartError, open_http_listener


class FakeSocket:
    """A socket whose port may be in use."""

    taken = False

    def __init__(self, *_: object) -> None:
        self.bound: Any = None
        self.backlog = 0
        self.closed = False

    def setsockopt(self, *_: object) -> None:
        """Accept every option."""

    def setblocking(self, flag: bool) -> None:
        assert not flag

    def bind(self, address: Any) -> None:
        if self.taken:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        self.bound = address

    def listen(self, backlog: int) -> None:
        self.backlog = backlog

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.server.listeners.socket.socket", FakeSocket)


@pytest.fixture
def _taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeSocket, "taken", True)


def test_the_address_is_bound() -> None:
    opened: Any = open_http_listener(config_of({"kawal.http.listen": "127.0.0.1:7000"}))
    sock, problem = opened
    assert isinstance(sock, FakeSocket)
    assert (sock.bound, sock.backlog, problem) == (("127.0.0.1", 7000), HTTP_BACKLOG, "")


def test_none_is_no_listener() -> None:
    assert open_http_listener(config_of({"kawal.http.listen": "none"})) == (None, "")


@pytest.mark.usefixtures("_taken")
def test_a_default_that_is_taken_is_told_and_left_alone() -> None:
    sock, problem = open_http_listener(Config())
    assert sock is None
    assert problem == "cannot serve metrics on 127.0.0.1:9644: address already in use"


@pytest.mark.usefixtures("_taken")
def test_a_choice_that_is_taken_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(
        StartError, match=r"127\.0\.0\.1:9644: address already in use; choose another .* --http"
    ):
        open_http_listener(config_of({"kawal.http.listen": "127.0.0.1:9644"}))


def test_a_host_nobody_knows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("broker.server.listeners.socket.getaddrinfo", unknown)
    config = config_of({"kawal.http.listen": "no.such.host.invalid:1", "kawal.insecure": True})
    with pytest.raises(StartError, match="the host is unknown"):
        open_http_listener(config)
