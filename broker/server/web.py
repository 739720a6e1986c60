"""The HTTP of a server: metrics, health and the web console, on sockets that are bound before it starts."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import trio

from broker.config.config import Config
from broker.core import Broker
from broker.server.listeners import Listener, open_console_listener, open_http_listener
from broker.server.operations import Operations, Pages

if TYPE_CHECKING:
    from broker.server.among import Seat
    from broker.server.console_host import ConsoleProgram

logger = logging.getLogger("kawal.server")


class Web(NamedTuple):
    """The sockets of HTTP and what is served on them."""

    http: socket.socket | None
    pages: Pages
    console_socket: socket.socket | None
    console: ConsoleProgram | None
    problems: list[str]
    """Reasons why something is not served."""

    def start(
        self, nursery: trio.Nursery, broker: Broker, listeners: list[Listener], now_ms: Callable[[], int]
    ) -> None:
        """Serve."""
        for problem in filter(None, self.problems):
            logger.warning("%s; the server runs without it", problem)
        if self.http is not None:
            nursery.start_soon(Operations(broker, self.http, now_ms, self.pages).run)
        if self.console_socket is not None and self.console is not None:
            from broker.server.console_host import ConsoleHost, hand_over_of, url_of

            given = hand_over_of(broker.config, listeners, self.http)
            host = ConsoleHost(self.console_socket, self.console, given, broker.internal_errors)
            nursery.start_soon(host.run)
            self.console.announce(url_of(self.console_socket))


def open_web(
    config: Config,
    pages: Pages,
    console: ConsoleProgram | None,
    sockets: ExitStack,
    place: Seat | None = None,
) -> Web:
    """Bind the addresses of HTTP: the first worker serves them for all.  Raises: StartError."""
    if place is not None:
        if place.pages is not None:
            return Web(place.pages, pages, None, None, [])
        pages = place.joined(pages)
    http, http_problem = open_http_listener(config)
    if http is not None:
        sockets.callback(http.close)
    console_socket, console_problem = open_console_listener(config) if console else (None, "")
    if console_socket is not None:
        sockets.callback(console_socket.close)
    return Web(http, pages, console_socket, console, [http_problem, console_problem])
