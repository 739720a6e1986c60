"""The watcher of an audited server, as connections and requests see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from protocol.api_keys import ApiKey


class ClientRecord(Protocol):
    """The words of a client about itself."""

    client_id: str | None


class Peer(Protocol):
    """A connection, as far as events tell of it."""

    principal: str
    listener: str

    @property
    def identity(self) -> int:
        """The connection's number on this node."""

    @property
    def peer(self) -> str:
        """The client's address and port."""

    @property
    def host(self) -> str:
        """The client's address."""


class Request(Protocol):
    """A call, as far as events tell of it."""

    api_key: int
    version: int
    client_id: str | None

    @property
    def connection(self) -> Peer:
        """Its connection."""


class Client(Peer, Protocol):
    """A connection at its login."""

    @property
    def client(self) -> ClientRecord:
        """The client's words about itself."""


class Auditor(Protocol):
    """The watcher."""

    @property
    def blocked(self) -> str:
        """The reason why logins and changes are to be refused; "" if they are not."""

    def counts(self) -> dict[str, int]:
        """Return the numbers of events for metrics."""

    def begin(self, call: Any) -> object | None:
        """Watch a request that may change something; return the response that refuses it, if it must not."""

    def accepted(self, client: Client, how: str) -> None:
        """Note that a client has logged in."""

    def refused(self, client: Client, why: str) -> None:
        """Note that a client was not let in."""

    def reloaded(self, changes: Mapping[str, str]) -> None:
        """Note keys that the operator has changed in the file, with their new values."""

    def users_changed(self, path: str, *, added: list[str], removed: list[str], changed: list[str]) -> None:
        """Note users whom the operator has added, removed, or given another password in a file."""

    def failed(self, call: Any, response: object) -> None:
        """Note an answer with errors."""


def actor_of(call: Request) -> dict[str, object]:
    """Return who sends a request, from where, and which."""
    return {
        **client_of(call.connection),
        "client_id": call.client_id,
        "request": f"{api_name(call.api_key)} v{call.version}",
    }


def client_of(client: Peer) -> dict[str, object]:
    """Return the client of a connection, and from where it comes."""
    return {
        "user": client.principal,
        "address": client.peer,
        "listener": client.listener,
        "connection": client.identity,
    }


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API."""
    return ApiKey(api_key).name
