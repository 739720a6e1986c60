"""An address must take a connection and say something; the connections here are scripts."""

from __future__ import annotations

import errno
import os
from threading import Event
from typing import Any

import pytest

from pipeline.errors import SourceError
from pipeline.sources.greeting import reachable
from pipeline.sources.listener import API_VERSIONS

Outcome = bytes | OSError


class Scripted:
    """A connection on which `outcome` comes, as bytes or as an error."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.sent = b""
        self.is_closed = False

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_error: object) -> None:
        self.is_closed = True

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, _count: int) -> bytes:
        if isinstance(self.outcome, OSError):
            raise self.outcome
        return self.outcome


class Network:
    """Connections by host; a host that is an error refuses."""

    def __init__(self, **hosts: Outcome | Scripted) -> None:
        self.hosts = hosts

    def connect(self, place: tuple[str, int], _seconds: float) -> Any:
        found = self.hosts[place[0]]
        if isinstance(found, OSError):
            raise found
        return found


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


def test_an_address_that_answers_is_reachable_and_was_asked_for_api_versions() -> None:
    broker = Scripted(b"\0")
    assert reachable("up:9092", connect=Network(up=broker).connect) == ["up:9092"]
    assert broker.sent == API_VERSIONS
    assert broker.is_closed


def test_one_of_several_addresses_is_enough() -> None:
    network = Network(down=REFUSED, silent=Scripted(TimeoutError()), up=Scripted(b"\0"))
    found = reachable("down:1, silent:2, up:3", connect=network.connect)
    assert found == ["down:1", "silent:2", "up:3"]


def test_a_connection_that_is_ended_is_for_the_client_to_judge() -> None:
    for outcome in (b"", ConnectionResetError(errno.ECONNRESET, "reset")):
        assert reachable("up:1", connect=Network(up=Scripted(outcome)).connect)


def test_an_address_that_takes_the_connection_and_says_nothing_is_named() -> None:
    network = Network(silent=Scripted(TimeoutError()), down=REFUSED)
    with pytest.raises(SourceError) as told:
        reachable("silent:1,down:2", within_seconds=1.2, connect=network.connect)
    assert str(told.value) == (
        "no broker answers at silent:1,down:2 (silent:1: it takes the connection, and says nothing within "
        "1.2 s; down:2: Connection refused); is it running?"
    )


def test_an_address_whose_name_is_not_found_in_time_does_not_hold_the_answer_up() -> None:
    network, found = Network(down=REFUSED, lost=Scripted(b"\0")), Event()

    def connect(place: tuple[str, int], seconds: float) -> Any:
        if place[0] == "lost":
            found.wait()
        return network.connect(place, seconds)

    try:
        with pytest.raises(SourceError, match=r"lost:1: no answer within 0 s; down:2: Connection refused"):
            reachable("lost:1,down:2", within_seconds=0, connect=connect)
    finally:
        found.set()


@pytest.mark.parametrize("address", ["a", "a:", ":9", "a:b", "", "[::1]"])
def test_an_address_without_port_is_refused(address: str) -> None:
    with pytest.raises(SourceError, match="has no port; write HOST:PORT"):
        reachable(f"up:1,{address}", connect=Network().connect)


def test_a_port_that_cannot_be_is_no_traceback() -> None:
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:99999: "):
        reachable("127.0.0.1:99999")
