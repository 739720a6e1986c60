"""Sending: what cannot be sent ends its own connection and nothing else."""

from __future__ import annotations

import select

import pytest

from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import request_frame
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.loop import Loop

IN = select.EPOLLIN


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def asking(loop: Loop) -> FakeSocket:
    sock = loop.connect()
    sock.incoming.append(request_frame(MetadataRequest(topics=[]), 12, 1))
    return sock


def broken(_buffers: object, *_rest: object) -> int:
    raise ConnectionResetError(104, "Connection reset by peer")


def bug(_buffers: object, *_rest: object) -> int:
    raise ZeroDivisionError("a bug")


@pytest.mark.parametrize("fails", [broken, bug])
def test_a_failing_send_ends_its_own_connection(loop: Loop, fails: object) -> None:
    loop.gateway.break_things()
    bad, good = asking(loop), asking(loop)
    bad.sendmsg = fails  # type: ignore[assignment, method-assign]
    loop.turn((bad, IN), (good, IN))
    assert (bad.closed, good.closed) == (True, False)
    assert good.taken
    assert not loop.reactor._sender.pending


def test_what_was_answered_for_a_client_that_has_left_since_is_not_sent(loop: Loop) -> None:
    sock = asking(loop)
    send = loop.reactor._sender.send_some
    loop.reactor._sender.send_some = lambda *_: None  # type: ignore[method-assign]
    loop.turn((sock, IN))
    assert loop.reactor._sender.pending
    (transport,) = loop.reactor._sockets.transports.values()
    loop.reactor._sockets.lose(transport, "gone")
    loop.reactor._sender.send_some = send  # type: ignore[method-assign]
    loop.turn()
    assert not sock.taken
    assert not loop.reactor._sender.pending
