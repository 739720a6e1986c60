"""Close the connections whose time has run out: idle ones, half-sent requests, answers that are not read.

All connections are looked at one after another, some in each slice, again and again: without a timer for
each, 10,000 idle clients cost a millisecond per pass.  A limit of T is kept to T plus a tenth.

    idle            no request is open and no byte has moved for connections.max.idle.ms
    read timeout    a request is still incomplete after kawal.request.read.timeout.ms, with extra time for
                    the bytes that have arrived: a slow line may send a large request, but a byte a minute is
                    no request
    write timeout   no byte of an answer was read for kawal.response.write.timeout.ms

While the memory for requests or answers is full (memory_limits.py) the reaper also makes room, every second:
parked fetches are answered with what there is, and connections that make no progress are closed.
Source: slowloris, Apache's mod_reqtimeout (MinRate).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from broker.connections.connection import Connection
from broker.loop.stats import Cause

if TYPE_CHECKING:
    from broker.core import Broker

logger = logging.getLogger("kawal.broker")

CONNECTIONS_PER_SLICE: Final = 500
"""Connections looked at before other work has its turn: about 0.2 ms."""

SLICE_PAUSE_MS: Final = 1

PASSES_PER_TIMEOUT: Final = 10

PASS_INTERVAL_MS_MAX: Final = 10_000

READ_BYTES_PER_SECOND_MIN: Final = 16 << 10
"""A request that comes in at this rate is given time, however large it is."""

RELIEF_INTERVAL_MS: Final = 1000
"""How long memory may be full, and its holder still, before room is made."""

LEFT_HALF_SENT: Final = "left a request half sent while the memory for requests is full"


class ConnectionReaper:
    """Looks after the connections of a broker by its clock."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._slice: Iterator[Connection] = iter(())
        self._reaping = False
        self._relieving = False

    def connected(self, now_ms: int) -> None:
        """There is a connection to look after."""
        if not self._reaping:
            self._reaping = True
            self._schedule(now_ms)

    def _schedule(self, now_ms: int) -> None:
        config = self._broker.config
        shortest_ms = min(config.kawal_request_read_timeout_ms, config.kawal_response_write_timeout_ms)
        if config.connections_max_idle_ms >= 0:
            shortest_ms = min(shortest_ms, config.connections_max_idle_ms)
        pause_ms = min(max(shortest_ms // PASSES_PER_TIMEOUT, 1), PASS_INTERVAL_MS_MAX)
        self._broker.timers.add(now_ms + pause_ms, self._begin)

    def _begin(self, now_ms: int) -> None:
        self._slice = iter(tuple(self._broker.connections.values()))
        self._run_slice(now_ms)

    def _run_slice(self, now_ms: int) -> None:
        for _ in range(CONNECTIONS_PER_SLICE):
            connection = next(self._slice, None)
            if connection is None:
                self._reaping = bool(self._broker.connections)
                if self._reaping:
                    self._schedule(now_ms)
                return
            if not connection.closed:
                self._look(connection, now_ms)
        self._broker.timers.add(now_ms + SLICE_PAUSE_MS, self._run_slice)

    def _look(self, connection: Connection, now_ms: int) -> None:
        config = self._broker.config
        if connection.outgoing:
            silent_ms = now_ms - connection.unsent_since_ms
            if silent_ms >= config.kawal_response_write_timeout_ms:
                _end(connection, Cause.WRITE_TIMEOUT, f"took nothing of its answers for {silent_ms} ms")
        elif connection.unfinished_bytes:
            self._look_at_request(connection, now_ms, config.kawal_request_read_timeout_ms)
        elif (
            not connection.calls
            and 0 <= config.connections_max_idle_ms <= now_ms - connection.active_ms
            and not connection.stalled
        ):
            _end(connection, Cause.IDLE, f"was idle for {now_ms - connection.active_ms} ms")

    def _look_at_request(self, connection: Connection, now_ms: int, timeout_ms: int) -> None:
        if connection.saturated or connection.stalled:
            # We are the ones who do not read: the client's time begins again when we do.
            connection.unfinished_since_ms = now_ms
            return
        took_ms = now_ms - connection.unfinished_since_ms
        count = connection.unfinished_bytes
        if took_ms >= timeout_ms + count * 1000 // READ_BYTES_PER_SECOND_MIN:
            _end(connection, Cause.READ_TIMEOUT, f"sent {count} bytes of a request in {took_ms} ms")

    # --- full memory -----------------------------------------------------------------------------------

    def relieve_soon(self, now_ms: int) -> None:
        """Memory is full: make room if it still is in a while."""
        if not self._relieving:
            self._relieving = True
            self._broker.timers.add(now_ms + RELIEF_INTERVAL_MS, self._relieve)

    def _relieve(self, now_ms: int) -> None:
        memory = self._broker.memory
        self._relieving = False
        if not memory.full:
            return
        logger.warning(
            "clients hold %d bytes of requests and %d bytes of answers: the memory for them is full",
            memory.requests_bytes,
            memory.answers_bytes,
        )
        if memory.requests_full:
            self._broker.waiters.wake_all(now_ms)
            self._end_half_sent(now_ms)
        if memory.answers_full:
            for connection in tuple(self._broker.connections.values()):
                if connection.outgoing and _is_over(connection.unsent_since_ms, now_ms):
                    _end(connection, Cause.MEMORY, "took no answers while the memory for them is full")
        self.relieve_soon(now_ms)

    def _end_half_sent(self, now_ms: int) -> None:
        """End requests that have stopped to come, the oldest first, until half of the memory is free.

        Those that we have stopped to read may be coming still; but for the one that has the floor.
        """
        memory = self._broker.memory
        floor, surplus_bytes = memory.floor, memory.requests_bytes - memory.requests_bytes_max // 2
        for connection in tuple(memory.unfinished):
            if surplus_bytes <= 0:
                return
            unread = connection.stalled and connection is not floor
            if not unread and not connection.at_own_limit and _is_over(connection.active_ms, now_ms):
                surplus_bytes -= connection.accounted_requests_bytes
                _end(connection, Cause.MEMORY, LEFT_HALF_SENT)


def _is_over(since_ms: int, now_ms: int) -> bool:
    return now_ms - since_ms >= RELIEF_INTERVAL_MS


def _end(connection: Connection, cause: Cause, why: str) -> None:
    level = logging.DEBUG if cause is Cause.IDLE else logging.INFO
    logger.log(level, "connection %d from %s closed: it %s", connection.identity, connection.peer, why)
    connection.abort(why, cause)
