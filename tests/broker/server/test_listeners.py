"""Addresses are bound, or refused with one sentence; clients learn the address they connected to."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import replace
from typing import Any

import pytest

from broker.config.config import Config, config_of
from broker.config.endpoints import Endpoint
from broker.server.listeners import Listener, StartError, advertised_address, open_listeners
from broker.server.tls_listeners import TlsListeners
from broker.server.tls_transport import TlsTransport
from tests.broker.gateway import Gateway
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.pems import SERVER, SERVER_KEY

ADDRESSES = {
    "localhost": (socket.AF_INET, "127.0.0.1"),
    "127.0.0.1": (socket.AF_INET, "127.0.0.1"),
    "::1": (socket.AF_INET6, "::1"),
    "0.0.0.0": (socket.AF_INET, "0.0.0.0"),
    "10.1.2.3": (socket.AF_INET, "10.1.2.3"),
}


class FakeListening:
    """A socket that only records its calls."""

    made: list[FakeListening] = []  # noqa: RUF012
    refuse: int = 0

    def __init__(self, family: int, _kind: int) -> None:
        self.family = family
        self.bound: tuple[Any, ...] = ()
        self.backlog = 0
        self.closed = False
        FakeListening.made.append(self)

    def setsockopt(self, *_: int) -> None:
        assert not self.bound

    def setblocking(self, flag: bool) -> None:
        assert not flag

    def bind(self, address: tuple[Any, ...]) -> None:
        if FakeListening.refuse and len(FakeListening.made) == 2:
            raise OSError(FakeListening.refuse, os.strerror(FakeListening.refuse))
        self.bound = address

    def listen(self, backlog: int) -> None:
        self.backlog = backlog

    def getsockname(self) -> tuple[Any, ...]:
        return (self.bound[0], self.bound[1] or 40_000, *self.bound[2:])

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        if host not in ADDRESSES:
            raise socket.gaierror(-2, "Name or service not known")
        family, address = ADDRESSES[host]
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    FakeListening.made.clear()
    FakeListening.refuse = 0
    monkeypatch.setattr("broker.server.listeners.socket.getaddrinfo", look_up)
    monkeypatch.setattr("broker.server.listeners.socket.socket", FakeListening)


def config(*addresses: str, **fields: Any) -> Config:
    return replace(Config(), listeners=addresses, **fields)


def test_every_address_is_bound_and_told_with_the_port_it_got() -> None:
    opened = open_listeners(config("localhost:0", "[::1]:9093", socket_listen_backlog_size=7))
    assert [(listener.bound.host, listener.bound.port) for listener in opened] == [
        ("127.0.0.1", 40_000),
        ("::1", 9093),
    ]
    assert [sock.family for sock in FakeListening.made] == [socket.AF_INET, socket.AF_INET6]
    assert {sock.backlog for sock in FakeListening.made} == {7}


def test_an_address_in_use_is_told_with_what_to_do_and_the_others_are_closed() -> None:
    FakeListening.refuse = errno.EADDRINUSE
    with pytest.raises(StartError) as refused:
        open_listeners(config("127.0.0.1:9092", "127.0.0.1:9093"))
    assert "127.0.0.1:9093" in str(refused.value)
    assert "address already in use" in str(refused.value)
    assert "--listen" in str(refused.value)
    assert all(sock.closed for sock in FakeListening.made)


def test_an_address_that_is_not_ours_is_told_without_a_wrong_hint() -> None:
    FakeListening.refuse = errno.EADDRNOTAVAIL
    with pytest.raises(StartError) as refused:
        open_listeners(config("127.0.0.1:9092", "127.0.0.1:9093"))
    assert "another program" not in str(refused.value)


@pytest.mark.parametrize("address", ["0.0.0.0:9092", "10.1.2.3:9092"])
def test_addresses_that_others_reach_need_the_word_for_it(address: str) -> None:
    with pytest.raises(StartError, match="insecure"):
        open_listeners(config(address))
    assert all(sock.closed for sock in FakeListening.made)
    (opened,) = open_listeners(config(address, kawal_insecure=True))
    assert opened.bound.port == 9092


def test_an_unknown_host_is_told() -> None:
    with pytest.raises(StartError, match=r"no-such-host:9092.*unknown"):
        open_listeners(config("no-such-host:9092", kawal_insecure=True))


def test_advertised_addresses_go_with_their_listeners() -> None:
    opened = open_listeners(
        config("127.0.0.1:1", "127.0.0.1:2", advertised_listeners=("a.example:10", "b.example:20"))
    )
    assert [listener.advertised and listener.advertised.text for listener in opened] == [
        "a.example:10",
        "b.example:20",
    ]


def test_clients_are_never_told_port_0_but_the_one_that_was_bound() -> None:
    opened = open_listeners(
        config(
            "127.0.0.1:0",
            "A://127.0.0.1:2",
            advertised_listeners=("b.example:0", "A://c.example:0"),
            listener_security_protocol_map="A:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        )
    )
    assert [listener.advertised for listener in opened] == [
        Endpoint("b.example", 40_000),
        Endpoint("c.example", 2),
    ]


def test_a_listener_has_its_name_and_all_interfaces_are_the_empty_host() -> None:
    (opened,) = open_listeners(
        config("INSIDE://:9094", listener_security_protocol_map="INSIDE:PLAINTEXT", kawal_insecure=True)
    )
    assert (opened.name, opened.bound) == ("INSIDE", Endpoint("0.0.0.0", 9094))


def test_an_encrypted_listener_makes_transports_with_the_certificate_of_now() -> None:
    encrypted = config_of(
        {
            "listeners": "SSL://127.0.0.1:9093",
            "ssl.keystore.key": SERVER_KEY,
            "ssl.keystore.certificate.chain": SERVER,
        }
    )
    tls = TlsListeners()
    tls.accept(tls.prepare(encrypted))
    (opened,) = open_listeners(encrypted, tls)
    assert opened.needs_setup
    sock: Any = FakeSocket()
    transport = opened.transport(sock, Gateway().client().connection, host="a")
    assert isinstance(transport, TlsTransport)
    assert transport._tls is tls.current["SSL"]


class Accepted:
    """A client's socket, as far as its own address goes."""

    def __init__(self, address: tuple[Any, ...]) -> None:
        self._address = address

    def getsockname(self) -> tuple[Any, ...]:
        return self._address


@pytest.mark.parametrize(
    ("advertised", "came_to", "shown"),
    [
        (None, ("127.0.0.1", 9092), ("127.0.0.1", 9092)),
        (None, ("::ffff:10.0.0.7", 9092, 0, 0), ("10.0.0.7", 9092)),
        (None, ("::1", 9092, 0, 0), ("::1", 9092)),
        (Endpoint("kafka.example", 19_092), ("127.0.0.1", 9092), ("kafka.example", 19_092)),
    ],
)
def test_clients_are_told_the_configured_address_or_the_one_they_came_to(
    advertised: Endpoint | None, came_to: tuple[Any, ...], shown: tuple[str, int]
) -> None:
    nobody: Any = None
    sock: Any = Accepted(came_to)
    assert advertised_address(Listener(nobody, Endpoint("x", 1), advertised), sock) == shown
