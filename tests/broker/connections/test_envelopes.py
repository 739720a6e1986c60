"""The client that an envelope names is read as it was written, in Kafka's layout."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from broker.connections.envelopes import (
    Outbox,
    Sender,
    TokenLogin,
    address_bytes,
    principal_bytes,
    sender_of,
    tags_of,
)
from protocol.errors import ProtocolError
from tests.broker.gateway import Gateway

KAFKAS = b"\0\0" + b"\x05User" + b"\x06alice" + b"\x01" + b"\0"
"""DefaultPrincipalData v0: version, type, name, known by a token, no tagged fields."""


def test_a_principal_has_kafkas_layout() -> None:
    assert principal_bytes(Sender("User:alice", True, "", "", ("", 0))) == KAFKAS


@pytest.mark.parametrize("host", ["10.0.0.7", "2001:db8::7", ""])
def test_a_sender_is_read_as_it_was_written(host: str) -> None:
    sender = Sender("User:alice:of:wonderland", True, host, "INSIDE", ("::1", 9092))
    assert sender_of(principal_bytes(sender), address_bytes(host), tags_of(sender)) == sender


def test_an_address_of_version_4_inside_one_of_version_6_is_the_former() -> None:
    assert address_bytes("::ffff:10.0.0.7") == b"\x0a\0\0\x07"


@pytest.mark.parametrize(
    ("principal", "address"),
    [(b"\0\x01" + KAFKAS[2:], b""), (b"\0", b""), (KAFKAS[:-1], b""), (KAFKAS, b"\x01\x02")],
    ids=["another version", "no version", "cut", "no address"],
)
def test_what_cannot_be_read_is_refused(principal: bytes, address: bytes) -> None:
    with pytest.raises((ProtocolError, ValueError, struct.error)):
        sender_of(principal, address, {})


def test_a_token_login_says_so() -> None:
    assert TokenLogin().by_token


def test_an_outbox_passes_on_one_answer_and_ignores_what_comes_later() -> None:
    connection: Any = Gateway().client().connection
    told: list[bytes | None] = []
    later: list[Any] = []
    connection.unsent = Outbox(later.append, told.append)
    connection.unsent.append(connection)
    connection.outgoing.append(b"\0\0\0\x02ab")
    connection.unsent.append(connection)
    for action in later:
        action()
    assert told == [b"ab"]


def test_an_outbox_tells_of_a_connection_that_would_be_closed() -> None:
    connection: Any = Gateway().client().connection
    told: list[bytes | None] = []
    connection.unsent = Outbox(lambda action: action(), told.append)
    connection.close("nonsense")
    assert told == [None]
