"""The connections that are not read because of the memory that all of them hold."""

from __future__ import annotations

from broker.connections.connection import Connection
from broker.connections.memory_limits import HostUse, MemoryLimits
from broker.server.transport import Transport


class HeldBack:
    """Connections in the order in which they are read again: by address, the longest held back first."""

    def __init__(self, memory: MemoryLimits[Connection]) -> None:
        self._memory = memory
        self._by_host: dict[HostUse[Connection], dict[Connection, Transport]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_host)

    def add(self, transport: Transport) -> None:
        """Hold a connection back until there is room again."""
        connection = transport.connection
        self._by_host.setdefault(connection.use, {})[connection] = transport

    def remove(self, transport: Transport) -> None:
        """Forget a connection, if it is held back."""
        use = transport.connection.use
        transports = self._by_host.get(use)
        if transports is not None:
            transports.pop(transport.connection, None)
            if not transports:
                del self._by_host[use]

    def take(self) -> Transport | None:
        """Take the next connection that may be read; None while none may."""
        transport = self._next()
        if transport is not None:
            self.remove(transport)
        return transport

    def _next(self) -> Transport | None:
        memory = self._memory
        if memory.full:
            return self._floor(memory.floor)
        # Few addresses can have their share while memory is not full.
        for use, transports in self._by_host.items():
            found = next(iter(transports.values())) if not memory.host_full(use) else self._floor(use.floor)
            if found is not None:
                return found
        return None

    def _floor(self, floor: Connection | None) -> Transport | None:
        """Return the only connection that may be read although memory is full, if it is held back."""
        if floor is None or floor.saturated:
            return None
        return self._by_host.get(floor.use, {}).get(floor)
