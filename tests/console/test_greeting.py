"""The first bytes of an answer tell which kind of server there is at an address."""

from __future__ import annotations

import socket
import struct

import pytest

from console import greeting
from console.greeting import CORRELATION_ID, strangeness

WHOLE = struct.pack(">ii", 20, CORRELATION_ID)


def told(answer: bytes, *, ends: bool = True) -> str | None:
    """Return what is told of a server that answers so."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(answer)
        if ends:
            theirs.shutdown(socket.SHUT_WR)
        return strangeness(ours)


def test_a_broker_is_not_strange() -> None:
    assert told(WHOLE, ends=False) is None


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "an HTTP server answers there"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "it wants TLS"),
        (b"", "it closes the connection"),
        (WHOLE[:5], "it closes the connection"),
        (b"220 mail ready", "is not of Kafka's protocol"),
    ],
)
def test_another_server_is_told_by_what_it_says(answer: bytes, sentence: str) -> None:
    assert sentence in (told(answer) or "")


def test_a_connection_that_is_reset_is_told() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        assert "ends the connection" in (strangeness(ours) or "")


def test_a_slow_server_is_left_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting, "GREETING_SECONDS", 0.01)
    assert told(b"", ends=False) is None
