"""Requests that come in the envelopes of other nodes: a connection for each, without a socket.

Kafka's envelope names the client's principal and host.  Nodes of ours add its listener and the address by
which it knows the controller, and to the answer the version of the catalogue as of which it counts, and how
long the client is to wait, if it is above a quota: all these are tagged fields, which others pass over.
Source: KIP-590; the principal is DefaultPrincipalData.json, after its version.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from broker.connections.connection import Connection
from protocol.errors import ProtocolError
from protocol.wire import Bool, String, decode, encode, message, wire

LISTENER_TAG: Final = 10_000
"""The tagged field of a request with the name of the client's listener."""

ADDRESS_TAG: Final = 10_001
"""The tagged field of a request with the controller's address for that client: `host:port`."""

VERSION_TAG: Final = 10_000
"""The tagged field of an answer with a version of the catalogue: from it on, the change is known."""

WAIT_TAG: Final = 10_001
"""The tagged field of an answer with the milliseconds for which the client is above a quota."""

VERSION: Final = struct.Struct(">q")
WAIT: Final = struct.Struct(">q")

_PRINCIPAL_VERSION: Final = struct.Struct(">h")

V4_MAPPED: Final = "::ffff:"


@message(versions="0", flexible="0+")
class DefaultPrincipalData:
    """A principal, and whether it is known by a delegation token.

    Source: DefaultPrincipalData.json.
    """

    type: str = wire(String)
    name: str = wire(String)
    token_authenticated: bool = wire(Bool)


class Sender(NamedTuple):
    """The client that has sent a request to another node."""

    principal: str
    by_token: bool
    host: str
    listener: str
    controller: tuple[str, int]
    """The address by which it knows the controller."""


def principal_bytes(sender: Sender) -> bytes:
    """Return a client's principal as an envelope has it."""
    kind, _, name = sender.principal.partition(":")
    data = DefaultPrincipalData(type=kind, name=name, token_authenticated=sender.by_token)
    return _PRINCIPAL_VERSION.pack(0) + b"".join(map(bytes, encode(data, 0)))  # type: ignore[arg-type]


def address_bytes(host: str) -> bytes:
    """Return an address as an envelope has it; b"" for none."""
    try:
        return ip_address(host.removeprefix(V4_MAPPED)).packed
    except ValueError:
        return b""


def tags_of(sender: Sender) -> dict[int, bytes]:
    """Return the tagged fields of an envelope."""
    host, port = sender.controller
    return {LISTENER_TAG: sender.listener.encode(), ADDRESS_TAG: f"{host}:{port}".encode()}


def sender_of(principal: bytes, address: bytes, tags: Mapping[int, bytes]) -> Sender:
    """Return the client that an envelope names.  Raises: ProtocolError, ValueError, struct.error."""
    if _PRINCIPAL_VERSION.unpack_from(principal)[0] != 0:
        raise ProtocolError("the envelope's principal has a version that is not known")
    data, _ = decode(DefaultPrincipalData, 0, memoryview(principal), _PRINCIPAL_VERSION.size)
    host = str(ip_address(address)) if address else ""
    name, _, port = bytes(tags.get(ADDRESS_TAG, b":0")).decode().rpartition(":")
    listener = bytes(tags.get(LISTENER_TAG, b"")).decode()
    return Sender(f"{data.type}:{data.name}", data.token_authenticated, host, listener, (name, int(port)))


class TokenLogin:
    """The login of a client that another node knows by a delegation token."""

    is_ready = True
    by_token = True
    expects_raw = False


class Outbox(list[Connection]):
    """In the place of the shell's list of connections with something to send: it takes the one answer."""

    def __init__(
        self, soon: Callable[[Callable[[], None]], None], done: Callable[[bytes | None], None]
    ) -> None:
        """`done(data)` is called in a later piece of work; None: the connection would be closed instead."""
        super().__init__()
        self._soon = soon
        self._done: Callable[[bytes | None], None] | None = done

    def append(self, connection: Connection) -> None:
        """Pass on what the connection sends, or that it closes."""
        connection.dirty = False
        self._soon(lambda: self._take(connection))

    def _take(self, connection: Connection) -> None:
        if self._done is None or not (connection.outgoing or connection.close_reason):
            return
        done, self._done = self._done, None
        parts: list[Any] = list(connection.outgoing)
        data = b"".join(part if isinstance(part, bytes) else bytes(part) for part in parts)
        done(data[4:] if data else None)
