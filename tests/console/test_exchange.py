"""One request on a connection, and its answer."""

from __future__ import annotations

import socket

import pytest

from console.errors import CommandError
from console.exchange import api_of, encoded, exchange
from protocol.api_keys import ApiKey
from protocol.headers import decode_request_header
from protocol.messages.list_offsets import ListOffsetsRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.console.frames import framed

REQUEST = SaslHandshakeRequest(mechanism="PLAIN")
ANSWER = SaslHandshakeResponse(mechanisms=["PLAIN"])
FRAME = framed(ANSWER, ApiKey.SASL_HANDSHAKE)


def test_a_request_is_framed_and_its_answer_decoded() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(FRAME)
        assert exchange(ours, REQUEST, 0, "h:1") == ANSWER
        frame = memoryview(theirs.recv(1_000))[4:]
    assert decode_request_header(frame).api_key == api_of(REQUEST) == ApiKey.SASL_HANDSHAKE


@pytest.mark.parametrize("answer", [b"", b"\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0"])
def test_a_server_that_hangs_up_is_a_lost_connection(answer: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        with theirs, pytest.raises(ConnectionError, match="it closed the connection"):
            exchange(ours, REQUEST, 0, "h:1")


def test_an_answer_that_breaks_off_is_told() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(FRAME[:-1])
        theirs.shutdown(socket.SHUT_WR)
        with theirs, pytest.raises(CommandError, match="h:1 closed the connection in the middle"):
            exchange(ours, REQUEST, 0, "h:1")


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (SaslHandshakeRequest(mechanism="\udcff"), r"^'\\udcff' is not text in UTF-8$"),
        (
            ListOffsetsRequest(replica_id=2**31, topics=[]),
            r"^a value has no place in a request of Kafka's: ListOffsets",
        ),
    ],
)
def test_what_a_request_cannot_carry_is_told(request_: object, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        encoded(request_, 1)
