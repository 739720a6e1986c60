"""The intake: requests are taken out of a connection's buffer and served, as far as the limits allow."""

from __future__ import annotations

import logging
from typing import Final

from broker.connections.connection import Connection
from broker.connections.connection_reaper import ConnectionReaper
from broker.connections.memory_limits import MemoryLimits
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.loop.stats import Cause
from broker.requests.dispatcher import Dispatcher
from broker.requests.request_log import RequestLog
from protocol.errors import ProtocolError
from protocol.framing import PRODUCE

logger = logging.getLogger("kawal.broker")

REQUESTS_SHARE_NS: Final = 1_000_000
"""The time for requests of one connection in one turn; the last one may exceed it."""


class Intake:
    """Serves the requests of all connections."""

    def __init__(
        self,
        loop: Loop,
        dispatcher: Dispatcher,
        memory: MemoryLimits[Connection],
        reaper: ConnectionReaper,
        request_log: RequestLog,
    ) -> None:
        """`reaper` makes room when `memory` is full; `request_log` chooses the requests that are logged."""
        self._loop = loop
        self._dispatcher = dispatcher
        self._memory = memory
        self._reaper = reaper
        self._log = request_log

    def receive(self, connection: Connection, size_bytes: int, now_ms: int) -> bool:
        """Serve the requests completed by the bytes just read into the connection's buffer.

        Return True if no more should be read from this client for now.
        """
        connection.reader.received(size_bytes)
        connection.active_ms = now_ms
        connection.received_ns = self._loop.stats.turns.began_ns
        connection.client.received_bytes += size_bytes
        self._loop.stats.received_bytes += size_bytes
        return self.resume(connection, now_ms)

    def resume(self, connection: Connection, now_ms: int) -> bool:
        """Serve the requests in the buffer as far as the limits allow; return the same as `receive`."""
        reader, memory = connection.reader, self._memory
        connection.stalled = False
        served = False
        turns = self._loop.stats.turns
        before, ends_ns = turns.task, 0
        repeats, log = self._dispatcher.repeats, self._log if self._log.on else None
        try:
            while connection.close_reason is None:
                at_own_limit = connection.at_own_limit
                if at_own_limit and not reader.pending_bytes:
                    # Most clients send nothing before their answer has come: it is not to be waited for.
                    connection.note_received(now_ms, served=served)
                    return False
                held = at_own_limit or (memory.tight and memory.holds_back(connection))
                if held or connection.wait_for_heavy():
                    connection.stalled = True
                    connection.note_received(now_ms, served=served)
                    self.held_back(connection, now_ms)
                    return True
                data = reader.next_request()
                if data is None:
                    connection.note_received(now_ms, served=served)
                    return False
                if not served:
                    served, ends_ns = True, turns.clock_ns() + REQUESTS_SHARE_NS
                while repeats is not None and data is not None and data[: len(PRODUCE)] == PRODUCE:
                    before_run, data = data, repeats.serve(connection, data, now_ms, ends_ns, log)
                    if data is before_run:
                        break
                if data is not None:
                    self._serve(connection, data, now_ms)
                if turns.mark_ns > ends_ns:
                    connection.rest()
                    self._loop.scheduler.first(connection.rested)
                if not reader.pending_bytes and connection.close_reason is None:
                    connection.note_received(now_ms, served=served)
                    return False
        except Exception as error:  # noqa: BLE001  (it ends the connection)
            turns.leave(before)
            self._close(connection, error)
        finally:
            memory.had_heavy_turn(connection)
        return True

    def _serve(self, connection: Connection, data: memoryview, now_ms: int) -> None:
        """Serve one request."""
        turns, login = self._loop.stats.turns, connection.login
        if login is not None and login.expects_raw:
            call, position = login.open_raw(data, now_ms), 0
        else:
            owned = connection.reader.owned
            call, position = connection.open_call(data, data_owned=owned, now_ms=now_ms)
        before = turns.enter(call)
        call.began_ns = turns.mark_ns
        if self._log.on:
            call.logged = self._log.wants(call)
        if login is None or login.admits(call, now_ms):
            self._dispatcher.serve(call, data, position)
        turns.leave(before)

    def serve_inside(self, connection: Connection, data: memoryview, now_ms: int) -> None:
        """Serve a request that did not come through a socket; its bytes stay valid."""
        turns = self._loop.stats.turns
        before = turns.task
        try:
            call, position = connection.open_call(data, data_owned=True, now_ms=now_ms)
            turns.enter(call)
            call.began_ns = turns.mark_ns
            if self._log.on:
                call.logged = self._log.wants(call)
            self._dispatcher.serve(call, data, position)
        except Exception as error:  # noqa: BLE001  (it ends the connection)
            self._close(connection, error)
        turns.leave(before)

    def _close(self, connection: Connection, error: Exception) -> None:
        """Close a connection whose request is wrong, or met an error of our own."""
        if isinstance(error, ProtocolError):
            logger.info("connection %d from %s closed: %s", connection.identity, connection.peer, error)
            connection.close(str(error))
            return
        self._loop.internal_errors.note(
            ErrorPlace.CONNECTION, f"connection {connection.identity} is closed", error
        )
        connection.close("internal error", Cause.BUG)

    def held_back(self, connection: Connection, now_ms: int) -> None:
        """Arrange an end for the state of a saturated connection, in which it is not read."""
        if not connection.at_own_limit:
            self._memory.held_back += 1
            self._reaper.relieve_soon(now_ms)
