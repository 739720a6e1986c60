"""Close the connections whose time has run out: idle ones, half-sent requests, answers that are not read.

Regular passes look at all connections, some in each slice.  Without a timer for each, 10,000 idle clients
cost a millisecond per pass.  A limit of T is enforced within T plus a tenth.

    setup timeout   the handshake or login of a listener with security is not done after
                    kawal.connection.setup.timeout.ms
    idle            no request is open and no byte has moved for connections.max.idle.ms
    read timeout    a request is still incomplete after kawal.request.read.timeout.ms, with extra time for
                    the bytes that have arrived: a slow line may send a large request, but a byte a minute
                    is too slow
    write timeout   no byte of an answer was read for kawal.response.write.timeout.ms

While the memory for requests or answers, or an address's share of it, is full (memory_limits.py), the reaper
also makes room, every second: parked fetches are answered with what there is, the heaviest first, and
connections that make no progress, or too little, are closed.
Source: slowloris, Apache's mod_reqtimeout (MinRate).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from broker.config.config import Config
from broker.connections.connection import Connection
from broker.connections.memory_limits import HostUse, MemoryLimits
from broker.loop.loop import Loop
from broker.loop.slices import Steps, chunks, or_again
from broker.loop.stats import Cause

logger = logging.getLogger("kawal.broker")

CONNECTIONS_PER_STEP: Final = 100
"""Connections looked at before other work has its turn: about 0.2 ms."""

PASSES_PER_TIMEOUT: Final = 10

PASS_INTERVAL_MS_MAX: Final = 10_000

READ_BYTES_PER_SECOND_MIN: Final = 16 << 10
"""A request that arrives at this rate is given time, however large it is."""

RELIEF_INTERVAL_MS: Final = 1000
"""The time that memory may be full, and its holder make no progress, before room is made."""

TAKEN_BYTES_PER_SECOND_MIN: Final = 16 << 10
TAKEN_WITHIN_MS: Final = 10_000
"""While memory is full of answers, a client takes as much of its own, on average over such a time: one that
takes a byte now and then would keep it full for ever."""

LEFT_HALF_SENT: Final = "left a request half sent while the memory for requests is full"


class ConnectionReaper:
    """The reaper of a node's connections."""

    def __init__(
        self,
        loop: Loop,
        connections: Mapping[int, Connection],
        memory: MemoryLimits[Connection],
        config: Callable[[], Config],
    ) -> None:
        """`config()` is the configuration in effect."""
        self._loop = loop
        self._connections = connections
        self._memory = memory
        self._config = config
        self._reaping = False
        self._relieving = False
        # By connection: since when it is looked at, and the bytes that it had taken then.
        self._takers: dict[int, tuple[int, int]] = {}
        memory.wide.make_room = lambda: self.relieve_soon(loop.clock.turn_ms)

    def connected(self, now_ms: int) -> None:
        """Watch a new connection, too."""
        if not self._reaping:
            self._reaping = True
            self._schedule(now_ms)

    def _schedule(self, now_ms: int) -> None:
        config = self._config()
        shortest_ms = min(config.kawal_request_read_timeout_ms, config.kawal_response_write_timeout_ms)
        if any(spec.protocol.encrypted or spec.protocol.sasl for spec in config.specs):
            shortest_ms = min(shortest_ms, config.kawal_connection_setup_timeout_ms)
        if config.connections_max_idle_ms >= 0:
            shortest_ms = min(shortest_ms, config.connections_max_idle_ms)
        pause_ms = min(max(shortest_ms // PASSES_PER_TIMEOUT, 1), PASS_INTERVAL_MS_MAX)
        self._loop.timers.add(now_ms + pause_ms, lambda _now_ms: self._begin())

    def _begin(self) -> None:
        self._loop.scheduler.add_work(or_again(self._pass(), self._again))

    def _again(self) -> None:
        self._schedule(self._loop.clock.turn_ms)

    def _pass(self) -> Steps:
        """Look at every present connection."""
        for connections in chunks(tuple(self._connections.values()), per_step=CONNECTIONS_PER_STEP):
            for connection in connections:
                if not connection.closed:
                    self._look(connection, self._loop.clock.turn_ms)
            yield
        self._reaping = bool(self._connections)
        if self._reaping:
            self._schedule(self._loop.clock.turn_ms)

    def _look(self, connection: Connection, now_ms: int) -> None:
        config = self._config()
        if connection.dirty:
            return  # it has not been offered its answer yet
        if connection.ready_by_ms is not None and now_ms >= connection.ready_by_ms:
            _end(connection, Cause.SETUP, "did not complete its TLS handshake or its login in time")
            return
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
            # It is the server that does not read: the client's time starts anew when it does.
            connection.unfinished_since_ms = now_ms
            return
        took_ms = now_ms - connection.unfinished_since_ms
        count = connection.unfinished_bytes
        if took_ms >= timeout_ms + count * 1000 // READ_BYTES_PER_SECOND_MIN:
            _end(connection, Cause.READ_TIMEOUT, f"sent {count} bytes of a request in {took_ms} ms")

    # --- full memory -----------------------------------------------------------------------------------

    def relieve_soon(self, now_ms: int) -> None:
        """Make room in a while, if memory is still full then."""
        if not self._relieving:
            self._relieving = True
            self._loop.timers.add(now_ms + RELIEF_INTERVAL_MS, self._relieve)

    def _relieve(self, now_ms: int) -> None:
        memory = self._memory
        self._relieving = False
        hosts = memory.full_hosts()
        if not hosts:
            self._takers.clear()
            return
        logger.warning(
            "memory for clients is full: requests %d of %d bytes, answers %d of %d bytes; %s are not read",
            memory.requests_bytes,
            memory.requests_bytes_max,
            memory.answers_bytes,
            memory.answers_bytes_max,
            "clients" if memory.full else f"clients from {', '.join(sorted(use.host for use in hosts))}",
        )
        surplus_bytes = self._requests_surplus(hosts)
        if surplus_bytes > 0:
            self._loop.waiters.wake_heaviest(surplus_bytes, lambda call: call.connection.use in hosts, now_ms)
            self._end_half_sent(hosts, surplus_bytes, now_ms)
        for use in hosts:
            if memory.answers_full or memory.host_answers_full(use):
                self._end_unread(use, now_ms)
        self.relieve_soon(now_ms)

    def _requests_surplus(self, hosts: set[HostUse[Connection]]) -> int:
        """Return how much the requests of these hosts take above half of what they may; 0 if they may."""
        memory = self._memory
        if memory.requests_full:
            return memory.requests_bytes - memory.requests_bytes_max // 2
        return sum(
            use.requests_bytes - memory.host_requests_bytes_max // 2
            for use in hosts
            if memory.host_requests_full(use)
        )

    def _end_unread(self, use: HostUse[Connection], now_ms: int) -> None:
        for connection in tuple(self._connections.values()):
            if connection.use is not use or connection.dirty:
                continue
            if not connection.memory_bytes:  # what is sent from files takes none
                self._takers.pop(connection.identity, None)
            elif _is_over(connection.unsent_since_ms, now_ms):
                _end(connection, Cause.MEMORY, "took no answers while the memory for them is full")
            elif self._trickles(connection, now_ms):
                _end(
                    connection, Cause.MEMORY, "took its answers too slowly while the memory for them is full"
                )

    def _trickles(self, connection: Connection, now_ms: int) -> bool:
        """Whether a client has taken too little of its answers for a while."""
        taken_bytes = connection.departures.sent_bytes
        since_ms, before_bytes = self._takers.setdefault(connection.identity, (now_ms, taken_bytes))
        if now_ms - since_ms < TAKEN_WITHIN_MS:
            return False
        self._takers[connection.identity] = now_ms, taken_bytes
        return (taken_bytes - before_bytes) * 1_000 < TAKEN_BYTES_PER_SECOND_MIN * (now_ms - since_ms)

    def _end_half_sent(self, hosts: set[HostUse[Connection]], surplus_bytes: int, now_ms: int) -> None:
        """End requests that have stopped arriving, the oldest first, until half of the memory is free.

        Those that the server has stopped reading are spared, as their clients may still be sending; the one
        with the floor is not.
        """
        floor = self._memory.floor
        for connection in tuple(self._memory.unfinished):
            if surplus_bytes <= 0:
                return
            unread = connection.stalled and connection is not floor
            if (
                connection.use in hosts
                and not unread
                and not connection.at_own_limit
                and _is_over(connection.active_ms, now_ms)
            ):
                surplus_bytes -= connection.accounted_requests_bytes
                _end(connection, Cause.MEMORY, LEFT_HALF_SENT)


def _is_over(since_ms: int, now_ms: int) -> bool:
    return now_ms - since_ms >= RELIEF_INTERVAL_MS


def _end(connection: Connection, cause: Cause, why: str) -> None:
    level = logging.DEBUG if cause is Cause.IDLE else logging.INFO
    logger.log(level, "connection %d from %s closed: it %s", connection.identity, connection.peer, why)
    connection.abort(why, cause)
