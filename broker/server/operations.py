"""The HTTP side of a server: starts after the Kafka side, ends with it, and costs nothing until used."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import trio

from broker.config.endpoints import Endpoint, is_loopback
from broker.core import Broker

if TYPE_CHECKING:
    from broker.server.http import HttpServer, Route

logger = logging.getLogger("kawal.http")

CONNECTIONS_MAX: Final = 32
"""HTTP clients at once; further ones are closed at accept."""


Pages: TypeAlias = "Callable[[Broker, Callable[[], int]], Mapping[str, Route]]"
"""Makes the pages of a broker and its clock, in a thread at the first request: the imports take 0.5 s."""


def standard_pages(broker: Broker, now_ms: Callable[[], int]) -> Mapping[str, Route]:
    """Return the pages for metrics and health."""
    from broker.server.pages import pages_of

    return pages_of(broker, now_ms)


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
        host, port = listener.getsockname()[:2]
        self._endpoint = Endpoint(host, port)
        self._listener = listener
        self._connections = 0
        self._server: HttpServer | None = None
        self._loading = trio.Lock()

    async def run(self) -> None:
        """Serve until cancelled."""
        logger.info("metrics and health are at http://%s", self._endpoint.text)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._listener))
        await trio.serve_listeners(self.admit, [listener])

    async def admit(self, stream: trio.abc.Stream) -> None:
        """Serve one client, unless there are too many."""
        async with stream:
            if self._connections >= CONNECTIONS_MAX:
                logger.warning("refused a connection: there are %d HTTP clients already", CONNECTIONS_MAX)
                return
            self._connections += 1
            try:
                server = await self._loaded()
                await server.converse(stream)
            finally:
                self._connections -= 1

    async def _loaded(self) -> HttpServer:
        """Return the server, loading it at the first request."""
        async with self._loading:
            if self._server is None:
                routes = await trio.to_thread.run_sync(self._pages, self._broker, self._now_ms)
                from broker.server.http import HttpServer

                self._server = HttpServer(routes, local=is_loopback(self._endpoint.host))
            return self._server
