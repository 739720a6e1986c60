"""The HTTP side of a server: starts after the Kafka side, ends with it, and costs nothing until used."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import trio

from broker.config.endpoints import Endpoint, is_loopback
from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace

if TYPE_CHECKING:
    from broker.server.http import HttpServer, Judge, Route

logger = logging.getLogger("kawal.http")

INNER: Final = Endpoint("localhost", 0)

CONNECTIONS_MAX: Final = 32
"""HTTP clients at once; further ones are closed at accept."""


Pages: TypeAlias = "Callable[[Broker, Callable[[], int]], Mapping[str, Route]]"
"""Makes the pages of a broker and its clock, in a thread at the first request: the imports take 0.5 s."""


def standard_pages(broker: Broker, now_ms: Callable[[], int]) -> Mapping[str, Route]:
    """Return the pages for metrics and health."""
    from broker.server.pages import pages_of

    return pages_of(broker, now_ms)


UNENCRYPTED: Final = (
    "http://%s asks other machines for passwords of users and is not encrypted: they can be read on their "
    "way; put a proxy with TLS before it, and bind 127.0.0.1"
)


class Operations:
    """Serves the pages of a broker from a bound socket."""

    def __init__(
        self,
        broker: Broker,
        listener: socket.socket,
        now_ms: Callable[[], int],
        pages: Pages = standard_pages,
    ) -> None:
        self._broker = broker
        self._pages = pages
        self._now_ms = now_ms
        name = listener.getsockname()
        # The Unix socket of a worker is for another one: what is asked for there comes from this machine.
        self._inner = isinstance(name, str)
        self._endpoint = INNER if self._inner else Endpoint(*name[:2])
        self._listener = listener
        self._clients: dict[trio.CancelScope, None] = {}
        self._server: HttpServer | None = None
        self._loading = trio.Lock()

    async def run(self) -> None:
        """Serve until cancelled."""
        if not self._inner:
            logger.info("metrics and health are at http://%s", self._endpoint.text)
        if not is_loopback(self._endpoint.host) and not self._broker.config.kawal_insecure:
            logger.warning("%s", UNENCRYPTED % self._endpoint.text)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._listener))
        await trio.serve_listeners(self.admit, [listener])

    async def admit(self, stream: trio.abc.Stream) -> None:
        """Serve one client; when there are too many, the one that has been here longest has to leave.

        A client that sends half a request and then nothing must not keep the next health check out.
        """
        async with stream:
            if len(self._clients) >= CONNECTIONS_MAX:
                logger.debug("%d HTTP clients: the one connected longest has to leave", CONNECTIONS_MAX)
                next(iter(self._clients)).cancel()
            with trio.CancelScope() as scope:
                self._clients[scope] = None
                try:
                    await self._serve(stream)
                finally:
                    del self._clients[scope]

    async def _serve(self, stream: trio.abc.Stream) -> None:
        try:
            server = self._server or await self._loaded()
            await server.converse(stream, _host_of(stream))
        except Exception as error:  # noqa: BLE001  (the net)
            self._broker.internal_errors.note(ErrorPlace.HTTP, "an HTTP connection is closed", error)

    async def _loaded(self) -> HttpServer:
        """Return the server, loading it at the first request."""
        async with self._loading:
            if self._server is None:
                routes = await trio.to_thread.run_sync(self._pages, self._broker, self._now_ms)
                from broker.server.http import HttpServer

                errors, local = self._broker.internal_errors, is_loopback(self._endpoint.host)
                judge = None if local or self._broker.config.kawal_insecure else await self._make_judge()
                turns = self._broker.stats.turns
                self._server = HttpServer(routes, errors, local=local, judge=judge, turns=turns)
            return self._server

    async def _make_judge(self) -> Judge:
        """Return what lets clients from other machines in; files of users are read in a thread."""
        from broker.server.http_login import HttpLogins

        logins = await trio.to_thread.run_sync(HttpLogins, self._broker, self._now_ms)
        return logins.refusal


def _host_of(stream: trio.abc.Stream) -> str:
    """Return the address of the client."""
    sock = getattr(stream, "socket", None)
    try:
        name = "" if sock is None else sock.getpeername()
        return str(name[0]) if name else ""
    except OSError:
        return ""  # it has left already
