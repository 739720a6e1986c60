"""The HTTP side of a server: it starts after the Kafka side, costs nothing until asked, and ends with it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from broker.config.endpoints import Endpoint, is_loopback
from broker.core import Broker

if TYPE_CHECKING:
    from broker.server.http import HttpServer

logger = logging.getLogger("kawal.http")

CONNECTIONS_MAX: Final = 32
"""HTTP clients at once; what is more is closed at accept."""


class Operations:
    """Serves the pages of a broker from a bound socket."""

    def __init__(self, broker: Broker, listener: socket.socket, now_ms: Callable[[], int]) -> None:
        self._broker = broker
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
                logger.warning("connection refused: %d HTTP clients are there", CONNECTIONS_MAX)
                return
            self._connections += 1
            try:
                server = await self._loaded()
                await server.converse(stream)
            finally:
                self._connections -= 1

    async def _loaded(self) -> HttpServer:
        """The server; its libraries take half a second to import, which Kafka's clients must not wait for."""
        async with self._loading:
            if self._server is None:
                await trio.to_thread.run_sync(import_module, "broker.server.pages")
                from broker.server.http import HttpServer
                from broker.server.pages import pages_of

                self._server = HttpServer(
                    pages_of(self._broker, self._now_ms), local=is_loopback(self._endpoint.host)
                )
            return self._server
