"""The first words with a broker: whether any of its addresses takes connections and says something.

Clients try an address for many seconds, and Spark for minutes, before they say that nothing answers there.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from pipeline.errors import SourceError
from pipeline.security import SecuritySection
from pipeline.sources.listener import API_VERSIONS, problem_of

GREETING_SECONDS: Final = 5.0
"""The time in which an address must answer: a broker that is just starting needs less."""

HURRY_SECONDS: Final = 1.2
"""The same where a person waits for the answer; with the start of the program it must take less than 2 s."""

GRACE_SECONDS: Final = 0.2
"""Threads give up by themselves, but for those that look up a name: they are left after this."""

Place = tuple[str, int]
Connect = Callable[[Place, float], socket.socket]


def reachable(
    bootstrap: str,
    *,
    security: SecuritySection | None = None,
    strictly: bool = False,
    within_seconds: float = GREETING_SECONDS,
    connect: Connect = socket.create_connection,
) -> list[str]:
    """Return the addresses of `bootstrap` when one of them answers; all are asked at once.

    `strictly`: when it answers as `security` needs it, too; otherwise what answers is left to the client.

    Raises: SourceError when one has no port, or none of them takes a connection and answers in time.
    """
    keys = security or SecuritySection()
    places = {address: _place(address) for address in map(str.strip, bootstrap.split(","))}
    answers: SimpleQueue[tuple[str, str]] = SimpleQueue()

    def ask(address: str) -> None:
        answers.put((address, problem_at(places[address], keys, strictly, within_seconds, connect)))

    until = time.monotonic() + within_seconds + GRACE_SECONDS
    for address in places:
        Thread(target=ask, args=(address,), daemon=True).start()
    problems = dict.fromkeys(places, f"no answer within {within_seconds:g} s")
    for _ in places:
        try:
            address, problem = answers.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            break
        if not problem:
            return list(places)
        problems[address] = problem
    told = "; ".join(f"{address}: {problem}" for address, problem in problems.items())
    raise SourceError(f"no broker answers at {bootstrap} ({told}); is it running?")


def _place(address: str) -> Place:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise SourceError(f"the broker address {address!r} has no port; write HOST:PORT")
    return host.strip("[]"), int(port)


def problem_at(
    place: Place, security: SecuritySection, strictly: bool, within_seconds: float, connect: Connect
) -> str:
    """Return why nothing answers at a place, or "" when something does; `strictly`, why it is of no use."""
    until = time.monotonic() + within_seconds
    try:
        connection = connect(place, within_seconds)
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    with connection:
        connection.settimeout(max(0.05, until - time.monotonic()))
        try:
            if strictly:
                return problem_of(connection, place[0], security)
            _greet(connection, security.encrypts)
        except TimeoutError:
            return f"it takes the connection, and says nothing within {within_seconds:g} s"
        except OSError:
            return ""  # the connection was ended, by something that is there
    return ""


def _greet(connection: socket.socket, encrypts: bool) -> None:
    """Send the first bytes of a client, and wait for the first of an answer."""
    if encrypts:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Nothing is sent over it: the client looks at the certificate.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.wrap_socket(connection).close()
    else:
        connection.sendall(API_VERSIONS)
        connection.recv(1)
