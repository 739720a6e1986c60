"""Loads of clients that are not let in: wrong logins, half-finished handshakes, other protocols."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Final

from compat_tests.broker import API_VERSIONS_REQUEST, HOST
from compat_tests.overload.load import Target, frame, going, load
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest

LOGINS_PER_SECOND: Final = 2_000
WRONG_BYTES_PER_SECOND: Final = 1_000
HANDSHAKES: Final = 5_000
HANDSHAKES_PER_SECOND: Final = 1_000

OPEN_MAX: Final = 2_000
"""Connections that wait for their end; above it no more are opened."""

HTTP: Final = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
SSH: Final = b"SSH-2.0-OpenSSH_9.2\r\n"


class Crowd:
    """Connections that say one thing and then wait until the other side closes them."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._open: dict[int, tuple[socket.socket, bytes]] = {}
        self.ended = 0
        self.refused = 0
        """Those that ended before they could say what they had to."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, port: int, data: bytes) -> None:
        """Open a connection that says this."""
        client = socket.socket()
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.connect((HOST, port))
        self._open[client.fileno()] = client, data
        self._poll.register(client.fileno(), select.EPOLLOUT | select.EPOLLIN)

    def serve(self, seconds: float) -> None:
        """Send what can be sent, and forget those that have ended."""
        for descriptor, events in self._poll.poll(seconds):
            client, data = self._open[descriptor]
            try:
                if events & select.EPOLLOUT and data:
                    client.send(data)
                    self._open[descriptor] = client, b""
                    self._poll.modify(descriptor, select.EPOLLIN)
                elif events & select.EPOLLIN and client.recv(1 << 16):
                    continue
                elif not events & select.EPOLLOUT:
                    self._end(descriptor)
            except OSError:
                self.refused += bool(data)
                self._end(descriptor)

    def _end(self, descriptor: int) -> None:
        self.ended += 1
        self._poll.unregister(descriptor)
        self._open.pop(descriptor)[0].close()


def _at_a_rate(target: Target, per_second: int, open_one: Callable[[Crowd, int], None]) -> tuple[Crowd, int]:
    """Open connections at this rate until the time is over; return them and their number."""
    crowd, count = Crowd(), 0
    going()
    began = time.monotonic()
    while (passed := time.monotonic() - began) < target.seconds:
        while count < passed * per_second * target.factor and len(crowd) < OPEN_MAX:
            open_one(crowd, count)
            count += 1
        crowd.serve(0.002)
    return crowd, count


def _told(crowd: Crowd, count: int, seconds: float) -> str:
    return f"{count} connections, {count / seconds:.0f} a second; {crowd.ended} ended, {len(crowd)} open"


def wrong_logins(number: int) -> bytes:
    """Return a login that fails, in one piece: a wrong password, a wrong proof, or an unknown token."""
    name = b"alice" if number % 2 else b"user-%d" % number
    tokens = [b"\0%s\0wrong-%d" % (name, number)]
    mechanism = "PLAIN"
    if number % 4 >= 2:
        mechanism = "SCRAM-SHA-512" if number % 8 >= 4 else "SCRAM-SHA-256"
        extension = b",tokenauth=true" if number % 3 == 0 else b""
        tokens = [b"n,,n=%s,r=nonce-%d%s" % (name, number, extension), b"c=biws,r=nonce,p=AAAA"]
    requests = [frame(SaslAuthenticateRequest(auth_bytes=token), 2) for token in tokens]
    return frame(SaslHandshakeRequest(mechanism=mechanism), 1) + b"".join(requests)


@load("wrong-logins", secure=True)
def failing_logins(target: Target) -> str:
    """2,000 logins a second fail: wrong passwords, wrong proofs, tokens and users that do not exist."""
    made = [wrong_logins(number) for number in range(240)]
    crowd, count = _at_a_rate(
        target,
        LOGINS_PER_SECOND,
        lambda crowd, number: crowd.add(target.ports["SASL"], made[number % len(made)]),
    )
    return _told(crowd, count, target.seconds)


def hello() -> bytes:
    """Return the first message of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@load("half-handshakes", secure=True)
def half_handshakes(target: Target) -> str:
    """5,000 connections to the listeners with TLS send half a ClientHello, or all of it, and stop."""
    whole = hello()
    parts = [whole[: len(whole) // 2], whole, whole[:1], whole[:6]]
    ports = [target.ports["TLS"], target.ports["SECURE"]]
    most = target.dose(HANDSHAKES)

    def open_one(crowd: Crowd, number: int) -> None:
        if number < most:
            crowd.add(ports[number % 2], parts[number % len(parts)])

    crowd, count = _at_a_rate(target, HANDSHAKES_PER_SECOND, open_one)
    return _told(crowd, min(count, most), target.seconds)


def first_bytes(target: Target) -> Iterator[tuple[int, bytes]]:
    """Yield ports, and first bytes of protocols that are not spoken there."""
    garbage = [target.chance.randbytes(target.chance.randint(1, 400)) for _ in range(20)]
    foreign = [HTTP, SSH, b"\xff" * 64, b"\0" * 64, *garbage]
    for name, port in {"PLAINTEXT": target.port, **target.ports}.items():
        spoken = hello() if name in ("PLAINTEXT", "SASL") else API_VERSIONS_REQUEST
        yield from ((port, data) for data in (spoken, *foreign))


@load("first-bytes", secure=True)
def wrong_first_bytes(target: Target) -> str:
    """1,000 connections a second begin with another protocol, on each kind of listener."""
    made = list(first_bytes(target))
    crowd, count = _at_a_rate(
        target, WRONG_BYTES_PER_SECOND, lambda crowd, number: crowd.add(*made[number % len(made)])
    )
    return _told(crowd, count, target.seconds)
