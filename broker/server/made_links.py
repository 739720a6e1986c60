"""The connections to other nodes that are open: those to a machine that a node has left are ended.

A machine that hangs keeps its connections, and a request on one would wait for its answer in vain.
"""

from __future__ import annotations

import socket
import threading
import weakref
from contextlib import suppress

from broker.catalogue.address_book import Address


class MadeLinks:
    """Connections by the node that they were made to; any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[int, weakref.WeakKeyDictionary[socket.socket, Address]] = {}

    def made(self, number: int, address: Address, sock: socket.socket) -> None:
        """Note a connection; one that is closed is forgotten by itself."""
        with self._lock:
            self._made.setdefault(number, weakref.WeakKeyDictionary())[sock] = address

    def moved(self, number: int, address: Address) -> None:
        """End all connections to a node but those to its present address: who waits for them asks there."""
        with self._lock:
            made = list(self._made.get(number, {}).items())
        for sock, there in made:
            if there != address:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
