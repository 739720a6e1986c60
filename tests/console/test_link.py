"""A connection that keeps several requests in flight."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from console.errors import CommandError
from console.link import Link
from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.console.frames import framed

REQUEST = ApiVersionsRequest(client_software_name="t", client_software_version="1")


class PairSocket(socket.socket):
    """One end of a pair that takes the options of a TCP socket."""

    def setsockopt(self, *_: Any) -> None:
        return


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> tuple[Link, socket.socket]:
    """Return a link and the server's end of its connection."""
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: PairSocket(fileno=ours.detach()))
    return Link("here:1"), theirs


def answer(identity: int) -> bytes:
    return framed(ApiVersionsResponse(api_keys=[]), ApiKey.API_VERSIONS, identity)


def test_answers_are_read_in_the_order_of_requests(ends: tuple[Link, socket.socket]) -> None:
    link, server = ends
    with link, server:
        link.send(REQUEST, 0)
        link.send(REQUEST, 0)
        assert link.in_flight == 2
        server.sendall(answer(1) + answer(2))
        assert link.receive().api_keys == []
        assert link.receive().api_keys == []
        assert link.in_flight == 0


def test_an_answer_out_of_order_is_an_error(ends: tuple[Link, socket.socket]) -> None:
    link, server = ends
    with link, server:
        link.send(REQUEST, 0)
        server.sendall(answer(7))
        with pytest.raises(CommandError, match="here:1 answered request 7 before request 1"):
            link.receive()


def test_a_lost_connection_is_a_sentence(ends: tuple[Link, socket.socket]) -> None:
    link, server = ends
    with link:
        server.close()
        with pytest.raises(CommandError, match="lost the connection to here:1"):
            link.call(REQUEST, 0)


def test_nobody_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError(111, "connection refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(CommandError, match="cannot reach here:1: connection refused"):
        Link("here:1")
