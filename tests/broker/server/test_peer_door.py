"""Other nodes connect without limits, and are told from clients."""

from __future__ import annotations

from typing import Any

import pytest

from broker.server.peer_door import HOST, PAUSE_MS, PeerDoor
from broker.server.sockets import Sockets
from tests.broker.gateway import Gateway
from tests.broker.server.fakes import FakeEpoll, FakeListener, out_of_files

DOOR = 77


class UnixListener(FakeListener):
    """A listening Unix socket: those that connect have no address."""

    def setblocking(self, flag: bool) -> None:
        assert not flag

    def accept(self) -> tuple[Any, Any]:
        sock, _ = super().accept()
        return sock, ""


class World:
    """A door of a simulated broker with other nodes, or errors, before it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *waiting: str | OSError, **settings: Any) -> None:
        self.gateway = Gateway(**settings)
        self.listener = UnixListener(list(waiting), DOOR)
        self.epoll = FakeEpoll()
        monkeypatch.setattr("select.epoll", lambda: self.epoll)
        self.sockets = Sockets(self.gateway.broker)
        sock: Any = self.listener
        self.door = PeerDoor(sock, ("gateway", 9093))
        self.door.open(self.gateway.broker, self.sockets)

    def accept(self) -> None:
        self.door.accept(self.gateway.now_ms)


def test_a_node_is_an_ordinary_connection_with_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, "a", "b", max_connections=0, max_connections_per_ip=0)
    world.accept()
    connections = list(world.gateway.broker.connections.values())
    assert [connection.from_peer for connection in connections] == [True, True]
    assert [connection.host for connection in connections] == [HOST, HOST]
    assert {connection.advertised for connection in connections} == {("gateway", 9093)}
    assert len(world.sockets.transports) == 2
    assert not world.gateway.client().connection.from_peer


def test_its_end_is_not_counted_as_that_of_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, "a")
    left: list[str] = []
    world.sockets.left = lambda host, _: left.append(host)
    world.accept()
    (transport,) = world.sockets.transports.values()
    world.sockets.lose(transport, "it ended")
    assert not left
    assert not world.gateway.broker.connections


def test_without_descriptors_it_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, out_of_files(), "a")
    world.accept()
    assert DOOR not in world.epoll.watched
    world.gateway.advance(PAUSE_MS)
    assert DOOR in world.epoll.watched
    world.accept()
    assert len(world.sockets.transports) == 1


def test_a_closed_door_is_not_opened_again_by_the_end_of_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, out_of_files())
    world.accept()
    world.door.close()
    world.gateway.advance(PAUSE_MS)
    assert DOOR not in world.epoll.watched
    assert world.listener.closed
