"""The console's process: a socket, the conversations on it, and the ways in which it ends.

It ends by SIGTERM or SIGINT, with its parent (the end of a pipe), or when no one has asked for anything for
some time, if it was started for one who did.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from broker.server.http_conversation import converse
from console.web.site import Console

logger = logging.getLogger("kawal.console")

CONNECTIONS_MAX: Final = 128
"""Browsers' connections at once; the one that is there longest makes room."""
IDLE_SECONDS: Final = 15 * 60
OOM_SCORE: Final = "500"
"""Out of memory, the console goes before any log does."""


class Server:
    """Serves a site on a socket, until one of its ends."""

    def __init__(self, console: Console, *, idle_seconds: float | None = None) -> None:
        """Make a server; `idle_seconds`: the time without connections and requests after which it ends."""
        self._console = console
        self._idle_seconds = idle_seconds
        self._clients: dict[trio.CancelScope, None] = {}
        self._used_at = trio.current_time() if idle_seconds is not None else 0.0

    async def run(self, listener: trio.abc.Listener[trio.SocketStream], lifeline: int | None = None) -> None:
        """Serve until cancelled, idle, or until the lifeline, a file descriptor, is at its end."""
        async with trio.open_nursery() as nursery:
            if self._idle_seconds is not None:
                nursery.start_soon(self._watch_idle, nursery.cancel_scope)
            if lifeline is not None:
                nursery.start_soon(self._watch_lifeline, lifeline, nursery.cancel_scope)
            await trio.serve_listeners(self.admit, [listener])

    async def admit(self, stream: trio.abc.Stream) -> None:
        """Serve one connection."""
        async with stream:
            if len(self._clients) >= CONNECTIONS_MAX:
                next(iter(self._clients)).cancel()
            with trio.CancelScope() as scope:
                self._clients[scope] = None
                try:
                    await converse(self._console, stream, _host_of(stream))
                except Exception:
                    logger.exception("internal error: a connection is closed")
                finally:
                    del self._clients[scope]
                    self._used_at = trio.current_time()

    async def _watch_idle(self, scope: trio.CancelScope) -> None:
        """End when there has been no connection for long enough."""
        assert self._idle_seconds is not None
        while True:
            left = self._used_at + self._idle_seconds - trio.current_time()
            if left <= 0 and not self._clients:
                logger.info("idle: the console ends, and comes back with the next request")
                scope.cancel()
                return
            await trio.sleep(max(left, 1.0))

    async def _watch_lifeline(self, descriptor: int, scope: trio.CancelScope) -> None:
        """End with the parent, at whose end the pipe is closed."""
        with suppress(OSError):
            while True:
                await trio.lowlevel.wait_readable(descriptor)
                if not os.read(descriptor, 64):
                    break
        scope.cancel()


def serve(
    make_console: Callable[[], Console],
    listening: socket.socket,
    ready: Callable[[], None] = lambda: None,
    *,
    idle_seconds: float | None = None,
    lifeline: int | None = None,
) -> None:
    """Serve a site on a listening socket until its end; `ready` is called once it does."""

    async def main() -> None:
        listening.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(listening))
        server = Server(make_console(), idle_seconds=idle_seconds)
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as orders:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_stop_on_order, orders, nursery.cancel_scope)
                ready()
                await server.run(listener, lifeline)
                nursery.cancel_scope.cancel()

    trio.run(main)


def go_before_the_log(path: Path = Path("/proc/self/oom_score_adj")) -> None:
    """Let the kernel end this process before one that holds data, when memory is short."""
    try:
        path.write_text(OOM_SCORE)
    except OSError as error:
        logger.debug("cannot raise oom_score_adj: %s", error)


async def _stop_on_order(orders: object, scope: trio.CancelScope) -> None:
    async for _ in orders:  # type: ignore[attr-defined]  # trio has no public name for its type
        scope.cancel()
        return


def _host_of(stream: trio.abc.Stream) -> str:
    """Return the address of the client."""
    sock = getattr(stream, "socket", None)
    try:
        return "" if sock is None else str(sock.getpeername()[0])
    except OSError:
        return ""  # it has left already
