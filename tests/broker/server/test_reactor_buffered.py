"""Bytes that a transport has taken off the socket, and of which no event tells, are served all the same."""

import select
import socket
from typing import Any

import pytest

from broker.connections.connection import Connection
from broker.server.transport import RECEIVES_PER_TURN, PlainTransport
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import request_frame
from tests.broker.server.loop import Loop
from tests.broker.server.test_reactor import ids_taken

PIECE = 4


class Hoarder(PlainTransport):
    """A transport that takes all there is, and gives a little with each receive."""

    def __init__(self, sock: socket.socket, connection: Connection, *, host: str) -> None:
        super().__init__(sock, connection, host=host)
        self.hoard = bytearray()

    @property
    def buffered(self) -> bool:
        return bool(self.hoard)

    def receive(self) -> int:
        taken: Any = self.socket
        while taken.incoming:
            self.hoard += taken.incoming.pop(0)
        self.drained = False
        if not self.hoard:
            return -1
        piece = self.hoard[:PIECE]
        del self.hoard[:PIECE]
        self.connection.reader.wanted_buffer()[: len(piece)] = piece
        return len(piece)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop(monkeypatch)
    made.reactor._acceptor._listeners[made.listener.fileno()].transport = Hoarder
    return made


def requests(count: int) -> bytes:
    return b"".join(request_frame(ApiVersionsRequest(), 2, number) for number in range(count))


def test_all_requests_are_answered_after_one_event(loop: Loop) -> None:
    sock = loop.connect()
    data = requests(40)
    assert len(data) > 3 * PIECE * RECEIVES_PER_TURN
    sock.incoming.append(data)
    loop.turn((sock, select.EPOLLIN))
    for _ in range(10):
        loop.turn()
    assert ids_taken(sock) == list(range(40))
    assert not loop.reactor._pending


def test_a_stopping_server_does_not_turn_for_bytes_that_it_will_not_read(loop: Loop) -> None:
    sock = loop.connect()
    sock.incoming.append(requests(40))
    loop.turn((sock, select.EPOLLIN))
    loop.reactor.begin_stop()
    loop.turn()
    loop.turn()
    assert not loop.reactor._pending
