"""The sockets of all clients, what the epoll watches them for, and their end."""

from __future__ import annotations

import logging
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace
from broker.loop.stats import Cause
from broker.server.held_back import HeldBack
from broker.server.ready_sockets import UNWATCHED, ReadySockets
from broker.server.transport import Transport

logger = logging.getLogger("kawal.server")

READ: Final = select.EPOLLIN | select.EPOLLRDHUP


class Sockets:
    """The transports by descriptor, which of them are ready, and which are held back for memory."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.epoll = select.epoll()
        self._crowd = select.epoll()
        self.epoll.register(self._crowd.fileno(), select.EPOLLIN)
        self.transports: dict[int, Transport] = {}
        self.ready = ReadySockets(self.epoll, self._crowd, broker.stats.turns)
        self.held = HeldBack(broker.memory)
        # True: nothing more is read, and requests in progress are answered.
        self.stopping = False
        # Called with the address of a client that has left, and the name of its listener.
        self.left: Callable[[str, str], None] = _ignore

    def admit(self, transport: Transport) -> None:
        """Watch a new client."""
        transport.interest = READ
        transport.epoll = self._crowd
        self.transports[transport.fileno()] = transport
        self._crowd.register(transport.fileno(), READ)

    def watch(self, transport: Transport, now_ms: int) -> None:
        """Have the epoll report what the connection can use now, unless it has ended."""
        connection = transport.connection
        if connection.closed:
            return
        wanted = READ
        if self.stopping or connection.close_reason is not None:
            wanted = 0
        elif connection.saturated:
            wanted = 0
            connection.stalled = True
            if not connection.at_own_limit:
                self.held.add(transport)
                self._broker.intake.held_back(connection, now_ms)
        if transport.wants_write or (connection.outgoing and not transport.warming):
            wanted |= select.EPOLLOUT
        if wanted != transport.interest:
            epoll = transport.epoll
            change = epoll.register if transport.interest == UNWATCHED else epoll.modify
            transport.interest = wanted
            change(transport.fileno(), wanted)

    def release_one(self) -> None:
        """Have one connection read again that was held back for memory: it may take all the room there is."""
        if self.held and (transport := self.held.take()) is not None:
            self.ready.resume(transport)

    def begin_stop(self, now_ms: int) -> None:
        """Read nothing more."""
        self.stopping = True
        for transport in self.transports.values():
            self.watch(transport, now_ms)

    # --- the end ---------------------------------------------------------------------------------------

    def lose(self, transport: Transport, reason: str) -> None:
        """Close a socket, and have the broker forget its connection."""
        connection = transport.connection
        if connection.closed:
            return
        logger.debug("connection %d from %s ends: %s", connection.identity, connection.peer, reason)
        descriptor = transport.fileno()
        if transport.interest != UNWATCHED:
            with suppress(OSError):  # a socket that broke while TLS took it over is closed already
                transport.epoll.unregister(descriptor)
        del self.transports[descriptor]
        self.held.remove(transport)
        self.ready.forget(descriptor)
        if connection.listener:
            self.left(transport.host, connection.listener)
        # A client that takes nothing is not waited for: the kernel's memory for it is freed, too.
        transport.close(reset=connection.aborted and transport.blocked)
        self._broker.disconnect(connection)

    def fail(self, transport: Transport, error: Exception) -> None:
        """End a connection because of an error of our own."""
        connection = transport.connection
        what = f"connection {connection.identity} is closed"
        self._broker.internal_errors.note(ErrorPlace.CONNECTION, what, error)
        if not connection.closed:
            connection.close("internal error", Cause.BUG)
            self.lose(transport, "internal error")

    def close(self) -> None:
        """Close every socket and the epolls."""
        for transport in tuple(self.transports.values()):
            transport.connection.close("the server is stopping", Cause.STOP)
            self.lose(transport, "the server is stopping")
        self.epoll.close()
        self._crowd.close()


def _ignore(_host: str, _listener: str) -> None:
    """Count no connections."""
