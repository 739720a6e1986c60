"""The table of sockets: each is watched for what it can use, and leaves nothing behind."""

from __future__ import annotations

import select

import pytest

from tests.broker.server.loop import Loop


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def test_a_lost_socket_leaves_nothing_behind_and_is_lost_once(loop: Loop) -> None:
    sock = loop.connect("10.0.0.1")
    sockets = loop.reactor._sockets
    left = list[tuple[str, str]]()
    sockets.left = lambda host, listener: left.append((host, listener))
    (transport,) = sockets.transports.values()
    sockets.ready.resume(transport)
    for _ in range(2):
        sockets.lose(transport, "gone")
    assert (sock.closed, left, sockets.transports) == (True, [("10.0.0.1", "PLAINTEXT")], {})
    assert not sockets.ready
    assert not loop.gateway.broker.connections


def test_a_closing_connection_is_watched_until_it_has_sent_all(loop: Loop) -> None:
    sock = loop.connect()
    sockets = loop.reactor._sockets
    (transport,) = sockets.transports.values()
    transport.connection.outgoing.append(b"left")
    transport.connection.close("done")
    sockets.watch(transport, loop.gateway.now_ms)
    assert loop.interest(sock) == select.EPOLLOUT


def test_nothing_is_read_once_the_server_stops(loop: Loop) -> None:
    socks = [loop.connect() for _ in range(2)]
    loop.reactor._sockets.begin_stop(loop.gateway.now_ms)
    assert [loop.interest(sock) for sock in socks] == [0, 0]
