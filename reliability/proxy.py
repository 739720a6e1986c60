"""A TCP proxy that delays, stalls, cuts, and loses replies; one thread for each direction of a connection."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Final

CHUNK_BYTES: Final = 64 << 10
TICK_SECONDS: Final = 0.02


class FaultProxy:
    """A proxy to one address; its attributes say what is wrong with the network now."""

    def __init__(self, port: int, target: tuple[str, int]) -> None:
        self.target = target
        self.delay_seconds = 0.0
        self.stalled = False
        """Nothing passes in either direction."""
        self.loses_replies = False
        """The server gets requests, and its answers vanish."""
        self.closed = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def heal(self, *, cut: bool) -> None:
        """End all faults; cut the connections, where bytes may be missing."""
        self.delay_seconds, self.stalled = 0.0, False
        if cut:
            self.cut()
        self.loses_replies = False

    def cut(self) -> None:
        """Abort every connection."""
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End."""
        self.closed = True
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self.closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._sockets += [client, server]
            for source, sink, replies in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=(source, sink, replies), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, is_replies: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                if self.delay_seconds:
                    time.sleep(self.delay_seconds)
                while self.stalled and not self.closed:
                    time.sleep(TICK_SECONDS)
                if not (is_replies and self.loses_replies):
                    sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
