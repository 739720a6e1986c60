"""Clients are accepted within the limits; without file descriptors the listener pauses, then resumes."""

from __future__ import annotations

import logging
import socket
from typing import Any

import pytest

from broker.config.endpoints import Endpoint
from broker.connections.arrivals import DELAYED_MAX
from broker.loop.listener_stats import ListenerStats
from broker.server.acceptor import ACCEPT_SHARE_NS, PAUSE_MS, Acceptor
from broker.server.listeners import Listener
from broker.server.transport import Transport
from tests.broker.gateway import Gateway
from tests.broker.server.fakes import FakeEpoll, FakeListener, is_set, out_of_files

OTHER = 11
"""The descriptor of a second listener."""


class World:
    """An acceptor of a simulated broker, with one listener, and perhaps another one, OTHER."""

    def __init__(
        self,
        *waiting: str | OSError,
        others: list[str | OSError] | None = None,
        room: int = 1000,
        overrides: dict[str, int] | None = None,
        **settings: int,
    ) -> None:
        limits: dict[str, Any] = {**settings, "listener_overrides": overrides or {}}
        self.gateway = Gateway(**limits)
        self.listener = FakeListener(list(waiting))
        self.other = FakeListener(others or [], OTHER)
        self.epoll = FakeEpoll()
        epoll: Any = self.epoll
        self.transports: list[Transport] = []
        sock: Any = self.listener
        listeners = [Listener(sock, Endpoint("127.0.0.1", 9092), None)]
        if others is not None:
            other: Any = self.other
            listeners.append(Listener(other, Endpoint("127.0.0.1", 9093), None, name="OTHER"))
        self.acceptor = Acceptor(
            self.gateway.broker,
            listeners=listeners,
            epoll=epoll,
            connection_room=room,
            admitted=self.transports.append,
        )

    def accept(self, descriptor: int = 10) -> None:
        self.acceptor.accept(descriptor, self.gateway.now_ms)

    def counts(self, listener: str) -> ListenerStats:
        return self.gateway.broker.stats.listeners[listener]

    @property
    def hosts(self) -> list[str]:
        return [transport.host for transport in self.transports]


def test_everybody_who_waits_is_taken_in() -> None:
    world = World("a", "b")
    assert world.epoll.watched
    assert 10 in world.acceptor
    world.accept()
    assert world.hosts == ["a", "b"]
    assert [connection.peer for connection in world.gateway.broker.connections.values()] == [
        "a:5000",
        "b:5000",
    ]


def test_sockets_neither_delay_nor_outlive_their_clients_nor_take_much_of_the_kernel() -> None:
    world = World("a", socket_send_buffer_bytes=70_000)
    world.accept()
    (sock,) = world.listener.accepted
    assert is_set(sock, socket.TCP_NODELAY, socket.IPPROTO_TCP)
    assert is_set(sock, socket.SO_KEEPALIVE)
    assert sock.options[socket.SOL_SOCKET, socket.SO_SNDBUF] == 70_000


def test_the_system_may_choose_the_send_buffer() -> None:
    world = World("a", socket_send_buffer_bytes=-1)
    world.accept()
    assert (socket.SOL_SOCKET, socket.SO_SNDBUF) not in world.listener.accepted[0].options


def test_a_crowd_is_taken_in_over_several_turns() -> None:
    world = World(*["a"] * 12)
    now_ns = 0

    def clock_ns() -> int:
        nonlocal now_ns
        now_ns += ACCEPT_SHARE_NS // 5
        return now_ns

    world.gateway.broker.stats.turns.clock_ns = clock_ns
    for taken in (5, 10, 12):
        world.accept()
        assert len(world.transports) == taken


def test_a_client_that_has_left_already_is_passed_over() -> None:
    world = World("a", ConnectionAbortedError(), "b")
    world.accept()
    assert world.hosts == ["a", "b"]


def test_who_is_above_a_limit_is_closed_counted_and_logged_once_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World("a", "a", "b", "b", "b", max_connections=3, max_connections_per_ip=1)
    with caplog.at_level(logging.WARNING):
        world.accept()
    assert world.hosts == ["a", "b"]
    assert [sock.closed for sock in world.listener.accepted] == [False, True, False, True, True]
    assert world.gateway.broker.stats.connections_refused == 3
    (line,) = [record.getMessage() for record in caplog.records]
    assert "the last one from a: max.connections.per.ip=1" in line
    world.acceptor.left("a", "PLAINTEXT")
    world.listener.waiting.append("a")
    world.accept()
    assert world.hosts == ["a", "b", "a"]


def test_without_file_descriptors_nobody_is_accepted_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    world = World("a", out_of_files(), "b")
    with caplog.at_level(logging.WARNING):
        world.accept()
    assert world.hosts == ["a"]
    assert not world.epoll.watched
    assert "raise the limit of open files" in caplog.text
    world.gateway.advance(PAUSE_MS - 1)
    assert not world.epoll.watched
    world.gateway.advance(1)
    assert world.epoll.watched
    world.accept()
    assert world.hosts == ["a", "b"]


def test_a_closed_acceptor_does_not_come_back_after_its_rest() -> None:
    world = World(out_of_files())
    world.accept()
    world.acceptor.close()
    assert world.listener.closed
    world.gateway.advance(10 * PAUSE_MS)
    assert not world.epoll.watched
    assert 10 not in world.acceptor


def test_closing_stops_watching() -> None:
    world = World()
    world.acceptor.close()
    assert not world.epoll.watched


@pytest.mark.parametrize(("needs_setup", "wait_ms"), [(False, None), (True, 3_000)])
def test_clients_of_a_listener_with_security_must_be_ready_in_time(
    needs_setup: bool, wait_ms: int | None
) -> None:
    world = World("a", kawal_connection_setup_timeout_ms=3_000)
    world.acceptor._listeners[10].needs_setup = needs_setup
    world.accept()
    (connection,) = world.gateway.broker.connections.values()
    assert connection.ready_by_ms == (None if wait_ms is None else world.gateway.now_ms + wait_ms)


def test_above_the_rate_of_new_connections_clients_wait_in_the_kernels_queue() -> None:
    world = World(*["a"] * 30, max_connection_creation_rate=2)
    world.accept()
    assert len(world.hosts) == 21, "ten windows' worth at once, and the one that goes above"
    assert not world.epoll.watched
    world.gateway.advance(1_000)
    assert world.epoll.watched
    for _ in range(60):
        world.accept()
        world.gateway.advance(1_000)
    assert len(world.hosts) == 30
    assert world.gateway.broker.stats.connections_refused == 0


def test_an_address_above_its_quota_is_let_in_and_closed_after_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(*["a"] * 12, "b")
    world.gateway.broker.catalogue.quotas.values[("ip", "a"),] = {"connection_creation_rate": 1.0}
    with caplog.at_level(logging.WARNING):
        world.accept()
    assert world.hosts == ["a"] * 10 + ["b"]
    assert [sock.closed for sock in world.listener.accepted] == [False] * 13
    world.gateway.advance(1_000)
    assert [sock.closed for sock in world.listener.accepted] == [False] * 10 + [True] * 2 + [False]
    assert world.gateway.broker.stats.throttled == {"connection_creation_rate": 2}
    assert "the last one from a: its connection_creation_rate is reached" in caplog.text


def test_not_more_than_some_connections_wait_to_be_closed() -> None:
    world = World(*["a"] * (DELAYED_MAX + 20))
    world.gateway.broker.catalogue.quotas.values[("ip", None),] = {"connection_creation_rate": 1.0}
    while world.listener.waiting:
        world.accept()
    assert sum(sock.closed for sock in world.listener.accepted) == 10
    world.gateway.advance(1_000)
    assert sum(sock.closed for sock in world.listener.accepted) == DELAYED_MAX + 10


@pytest.mark.parametrize("loopback", ["::1", "0:0:0:0:0:0:0:1"])
def test_single_addresses_may_have_limits_of_their_own(loopback: str) -> None:
    settings: dict[str, Any] = {"max_connections_per_ip_overrides": f"a:2,{loopback}:0"}
    world = World("a", "::ffff:a", "a", "b", "b", "::1", max_connections_per_ip=1, **settings)
    world.accept()
    assert world.hosts == ["a", "a", "b"]


MAX = "listener.name.other.max.connections"
RATE = "listener.name.other.max.connection.creation.rate"


def test_a_listener_with_a_limit_of_its_own_leaves_the_others_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World("a", "a", "a", others=["b", "b", "b"], overrides={MAX: 2})
    with caplog.at_level(logging.WARNING):
        world.accept(OTHER)
        world.accept()
    assert world.hosts == ["b", "b", "a", "a", "a"]
    assert [sock.closed for sock in world.other.accepted] == [False, False, True]
    assert f"{MAX}=2 is reached" in caplog.text
    assert world.counts("OTHER") == ListenerStats(open=2, opened=2, refused=1)
    assert world.counts("PLAINTEXT") == ListenerStats(open=3, opened=3)
    world.acceptor.left("b", "OTHER")
    world.other.waiting.append("b")
    world.accept(OTHER)
    assert world.counts("OTHER") == ListenerStats(open=2, opened=3, refused=1)


def test_the_limit_of_all_listeners_is_in_effect_beside_that_of_one() -> None:
    world = World("a", others=["b", "b"], overrides={MAX: 2}, max_connections=1)
    world.accept(OTHER)
    world.accept()
    assert world.hosts == ["b"]


def test_connections_know_the_listener_that_they_came_to_before_their_login_begins() -> None:
    world = World(others=["b"])
    seen: list[str] = []
    world.acceptor._listeners[OTHER].begin_login = lambda connection: seen.append(connection.listener)
    world.accept(OTHER)
    assert seen == ["OTHER"]


def test_above_the_rate_of_one_listener_only_its_clients_wait() -> None:
    world = World("a", others=["b"] * 30, overrides={RATE: 2})
    world.accept(OTHER)
    assert world.hosts == ["b"] * 21
    assert world.epoll.watched.keys() == {10}
    world.accept()
    assert world.hosts[-1] == "a"
    assert world.counts("OTHER").rests == 1
    assert world.counts("PLAINTEXT").rests == 0
    world.gateway.advance(1_000)
    assert world.epoll.watched.keys() == {10, OTHER}


def test_a_rest_of_all_listeners_ends_although_one_of_them_rests_for_its_own_rate() -> None:
    world = World(*["a"] * 30, others=["b"] * 30, overrides={RATE: 1}, max_connection_creation_rate=2)
    world.accept(OTHER)
    assert world.epoll.watched.keys() == {10}
    world.accept()
    assert not world.epoll.watched
    for _ in range(60):
        world.gateway.advance(1_000)
        for descriptor in tuple(world.epoll.watched):
            if descriptor in world.epoll.watched:
                world.accept(descriptor)
    world.gateway.advance(1_000)
    assert world.epoll.watched.keys() == {10, OTHER}
    assert (world.hosts.count("a"), world.hosts.count("b")) == (30, 30)
