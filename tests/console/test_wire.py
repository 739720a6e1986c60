"""One private request to a server: asked, answered, or refused in a sentence."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from console import wire
from console.errors import CommandError
from console.wire import NotKawal, ask
from protocol.api_keys import ApiKey
from protocol.headers import decode_request_header
from protocol.messages.kawal_groups import KawalGroupsRequest, KawalGroupsResponse
from protocol.wire import decode
from tests.console.frames import framed

ANSWER = KawalGroupsResponse(error_message="told", consumers=[], subscriptions=[])
FRAME = framed(ANSWER, ApiKey.KAWAL_GROUPS)


class Connection:
    """A connection to a server that answers a few bytes at a time, and what it was sent."""

    def __init__(self, answer: bytes | Exception) -> None:
        self.sent = b""
        self.answer = answer

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None: ...

    def settimeout(self, seconds: float) -> None: ...

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, size_bytes: int) -> bytes:
        if isinstance(self.answer, Exception):
            raise self.answer
        part, self.answer = self.answer[: min(size_bytes, 7)], self.answer[min(size_bytes, 7) :]
        return part


def serve(monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception) -> Connection:
    connection = Connection(answer)
    monkeypatch.setattr(wire, "check_reachable", lambda _: None)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: connection)
    return connection


def test_a_request_is_framed_and_its_answer_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = serve(monkeypatch, FRAME)
    assert ask("h:1", KawalGroupsRequest(group_ids=["g"])) == ANSWER
    frame = memoryview(connection.sent)[4:]
    assert struct.unpack(">i", connection.sent[:4]) == (len(frame),)
    header = decode_request_header(frame)
    assert (header.api_key, header.api_version) == (ApiKey.KAWAL_GROUPS, 0)
    assert decode(KawalGroupsRequest, 0, frame, header.size_bytes)[0].group_ids == ["g"]


@pytest.mark.parametrize("answer", [b"", ConnectionResetError(), b"\0\0", b"\xff\xff\xff\xff"])
def test_a_server_that_hangs_up_is_not_kawal(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception
) -> None:
    serve(monkeypatch, answer)
    with pytest.raises(NotKawal, match="'kawal groups'"):
        ask("h:1", KawalGroupsRequest())


def test_an_answer_that_breaks_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, FRAME[:-3])
    with pytest.raises(CommandError, match="in the middle of its answer"):
        ask("h:1", KawalGroupsRequest())


def test_silence_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, TimeoutError())
    with pytest.raises(CommandError, match="h:1 has not answered"):
        ask("h:1", KawalGroupsRequest())


def test_the_next_address_is_tried_when_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = serve(monkeypatch, FRAME)

    def connect(endpoint: Any, **_: object) -> Connection:
        if endpoint.port == 1:
            raise ConnectionRefusedError
        return connection

    monkeypatch.setattr(socket, "create_connection", connect)
    assert ask("h:1,h:2", KawalGroupsRequest()) == ANSWER
    with pytest.raises(CommandError, match="no server accepts"):
        ask("h:1", KawalGroupsRequest())
