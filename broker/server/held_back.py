"""The connections that are not read because of the memory that all of them hold."""

from __future__ import annotations

from broker.connections.connection import Connection
from broker.connections.memory_limits import HostUse, MemoryLimits
from broker.server.transport import Transport

Waiting = dict[HostUse[Connection], dict[Connection, Transport]]


class HeldBack:
    """Connections in the order in which they are read again: by address, the longest held back first.

    Those that hold nothing come before those in the middle of a request, which would fill the room there is;
    first among them are those that are known for small requests, for which there may be room alone.
    """

    def __init__(self, memory: MemoryLimits[Connection]) -> None:
        self._memory = memory
        self._proven: Waiting = {}
        self._holding_nothing: Waiting = {}
        self._others: Waiting = {}
        self._all = (self._proven, self._holding_nothing, self._others)

    def __bool__(self) -> bool:
        return bool(self._proven or self._holding_nothing or self._others)

    def add(self, transport: Transport) -> None:
        """Hold a connection back until there is room again."""
        connection = transport.connection
        if connection.request_bytes or connection.unfinished_bytes:
            waiting = self._others
        else:
            waiting = self._proven if connection.proven else self._holding_nothing
        for other in self._all:
            if other is not waiting:
                _remove(other, connection)
        waiting.setdefault(connection.use, {})[connection] = transport

    def remove(self, transport: Transport) -> None:
        """Forget a connection, if it is held back."""
        for waiting in self._all:
            _remove(waiting, transport.connection)

    def take(self) -> Transport | None:
        """Take the next connection that may be read; None while none may."""
        transport = self._next()
        if transport is not None:
            self.remove(transport)
        return transport

    def _next(self) -> Transport | None:
        memory = self._memory
        # Few addresses can have their share while memory is not full, and then one answer is that of all.
        for waiting in self._all:
            for use, transports in waiting.items():
                first = next(iter(transports.values()))
                if not (memory.tight and memory.holds_back(first.connection)):
                    return first
                floor = self._floor(memory.floor if memory.full else use.floor)
                if floor is not None:
                    return floor
                if memory.full:
                    break
        return None

    def _floor(self, floor: Connection | None) -> Transport | None:
        """Return the only connection that may finish its request although memory is full, if it is held."""
        if floor is None or floor.saturated:
            return None
        for waiting in self._all:
            transport = waiting.get(floor.use, {}).get(floor)
            if transport is not None:
                return transport
        return None


def _remove(waiting: Waiting, connection: Connection) -> None:
    transports = waiting.get(connection.use)
    if transports is not None:
        transports.pop(connection, None)
        if not transports:
            del waiting[connection.use]
