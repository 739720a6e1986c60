"""The connections of other nodes of the same data directory, which come over a Unix socket.

They are ordinary connections, but neither encrypted nor logged in nor limited: the socket lies in the data
directory, and only its owner can connect.
"""

from __future__ import annotations

import logging
import select
import socket
from typing import Final

from broker.core import Broker
from broker.server.sockets import Sockets
from broker.server.transport import PlainTransport

logger = logging.getLogger("kawal.server")

PAUSE_MS: Final = 100
"""The pause in accepting when the system has no file descriptor left: retrying at once would spin."""

HOST: Final = "worker"
"""The address of such a connection, in logs and in the sums of memory by address."""


class PeerDoor:
    """A listening Unix socket; once opened, it is watched by a reactor's epoll."""

    def __init__(self, sock: socket.socket, advertised: tuple[str, int]) -> None:
        """`advertised` is the address of this node that other nodes learn."""
        sock.setblocking(False)
        self._socket = sock
        self._advertised = advertised
        self.descriptor: Final = sock.fileno()
        self._watched = False
        self._closed = False
        self._accepted = 0

    def open(self, broker: Broker, sockets: Sockets) -> None:
        """Take connections from now on."""
        self._broker = broker
        self._sockets = sockets
        self._watch()

    def _watch(self) -> None:
        if not self._closed:
            self._watched = True
            self._sockets.epoll.register(self.descriptor, select.EPOLLIN)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._sockets.epoll.unregister(self.descriptor)

    def accept(self, now_ms: int) -> None:
        """Accept the nodes that wait, of which there are few."""
        while True:
            try:
                sock, _ = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                logger.warning("cannot accept other workers for %d ms: %s", PAUSE_MS, error.strerror)
                self._unwatch()
                self._broker.timers.add(now_ms + PAUSE_MS, lambda _: self._watch())
                return
            self._admit(sock, now_ms)

    def _admit(self, sock: socket.socket, now_ms: int) -> None:
        sock.setblocking(False)
        self._accepted += 1
        connection = self._broker.connect(
            peer=f"{HOST}:{self._accepted}",
            descriptor=sock.fileno(),
            advertised=self._advertised,
            now_ms=now_ms,
        )
        connection.from_peer = True
        self._sockets.admit(PlainTransport(sock, connection, host=HOST))

    def close(self) -> None:
        """Take no more connections; those there are go on."""
        self._unwatch()
        self._closed = True
        self._socket.close()
