"""Brokers in memory without ports: their listeners give clients one end of a socket pair.

async def steps(broker: RamBroker) -> None:
    client = await world.connect(HOST, broker.port)

world.run(steps)
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from broker.server.testing import ram
from broker.server.testing.ram import RamBroker

START_MS = 1_700_000_000_000


class PairSocket(socket.socket):
    """One end of a pair that claims to be a TCP socket."""

    def getsockname(self) -> Any:
        return "127.0.0.1", 4_000

    def setsockopt(self, *_: Any) -> None:
        return


class PairListener:
    """A bound socket; while it listens, `connect` reaches it."""

    def __init__(self, world: World, port: int) -> None:
        self.world = world
        self.port = port
        self._waiting: list[socket.socket] = []
        self._ready = os.eventfd(0, os.EFD_NONBLOCK)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def fileno(self) -> int:
        return self._ready

    def listen(self, _backlog: int) -> None:
        self.world.listening[self.port] = self

    def connected(self, sock: socket.socket) -> None:
        self._waiting.append(sock)
        os.eventfd_write(self._ready, 1)

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        if not self._waiting:
            os.eventfd_read(self._ready)
            raise BlockingIOError
        return PairSocket(fileno=self._waiting.pop().detach()), ("127.0.0.1", 5_000)

    def close(self) -> None:
        if self.world.listening.get(self.port) is self:
            del self.world.listening[self.port]
        for sock in self._waiting:
            sock.close()
        os.close(self._ready)


class World:
    """The ports of this machine, as far as the brokers see them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listening: dict[int, PairListener] = {}
        self.now_ms = START_MS
        self._last_port = 4_000
        monkeypatch.setattr(ram, "_bound", self._bound)
        monkeypatch.setattr(trio, "open_tcp_stream", self.connect)

    def _bound(self, port: int) -> PairListener:
        if not port:
            self._last_port += 1
        return PairListener(self, port or self._last_port)

    async def connect(self, _host: str, port: int) -> trio.SocketStream:
        """Open a client's connection to a broker."""
        await trio.lowlevel.checkpoint()
        listener = self.listening.get(port)
        if listener is None:
            raise OSError(errno.ECONNREFUSED, "connection refused")
        ours, theirs = socket.socketpair()
        listener.connected(theirs)
        return trio.SocketStream(trio.socket.from_stdlib_socket(ours))

    async def broker(self, nursery: trio.Nursery, **settings: object) -> RamBroker:
        """Start a broker and return it."""
        named = {key.replace("_", "."): value for key, value in settings.items()}
        made = RamBroker("broker-1", named, nursery.start_soon, lambda: self.now_ms)
        await made.start()
        return made

    def run(self, steps: Callable[[RamBroker], Awaitable[None]], **settings: object) -> None:
        """Run the steps on one broker."""

        async def main() -> None:
            with trio.fail_after(30):
                async with trio.open_nursery() as nursery:
                    broker = await self.broker(nursery, **settings)
                    await steps(broker)
                    await broker.close()

        trio.run(main)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)
