"""The table of sockets: each is watched for what it can use, and leaves nothing behind."""

from __future__ import annotations

import select

import pytest

from broker.server.sockets import READ
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import request_frame
from tests.broker.kit import batch, create, producing
from tests.broker.server.fakes import FakeSocket
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


def test_a_lost_socket_is_not_held_back_for_memory_and_so_never_served_again(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.connect()
    sockets = loop.reactor._sockets
    (transport,) = sockets.transports.values()
    monkeypatch.setattr(type(transport.connection), "saturated", True)
    sockets.lose(transport, "gone")
    sockets.watch(transport, loop.gateway.now_ms)
    sockets.release_one()
    assert not sockets.held
    assert not sockets.ready


def test_the_crowd_is_watched_like_one_more_socket(loop: Loop) -> None:
    assert loop.epoll.watched[loop.epoll.fileno()] == select.EPOLLIN


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


def known(loop: Loop) -> FakeSocket:
    """Return the socket of a client that is no newcomer any more."""
    sock = loop.connect()
    sock.incoming.append(request_frame(MetadataRequest(topics=[]), 12, 0))
    loop.turn((sock, select.EPOLLIN))
    assert sock.taken
    assert loop.interest(sock) == READ
    return sock


def test_a_client_that_sends_nothing_before_its_answer_costs_no_change_of_the_epoll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch, kawal_connection_in_flight_requests=1)
    create(loop.gateway.client(), "t")
    sock = known(loop)
    changes = list[int]()
    monkeypatch.setattr(loop.epoll, "modify", lambda _number, mask: changes.append(mask))
    for number in range(3):
        sock.incoming.append(request_frame(producing(("t", 0, batch(b"a"))), 9, number))
        loop.turn((sock, select.EPOLLIN))
        taken = len(sock.taken)
        loop.work()
        assert len(sock.taken) > taken
    assert (len(sock.incoming), changes) == (0, [])


def test_a_client_that_sends_more_than_may_be_in_work_is_reported_once_and_read_after_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch, kawal_connection_in_flight_requests=1)
    create(loop.gateway.client(), "t")
    sock = known(loop)
    for number in range(2):
        sock.incoming.append(request_frame(producing(("t", 0, batch(b"a"))), 9, number))
    loop.turn((sock, select.EPOLLIN))
    assert (len(sock.incoming), loop.interest(sock)) == (1, READ), "the socket was empty as far as is known"
    loop.turn((sock, select.EPOLLIN))
    assert (len(sock.incoming), loop.interest(sock)) == (1, 0)
    loop.work()
    loop.turn((sock, select.EPOLLIN))
    loop.work()
    assert (len(sock.incoming), loop.interest(sock), loop.gateway.partition("t").high_watermark) == (
        0,
        READ,
        2,
    )
