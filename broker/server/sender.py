"""Sending what was answered, a share of each turn; a thread reads file ranges that are not in memory."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from broker.connections.connection import Connection
from broker.core import Broker
from broker.loop.stats import Cause
from broker.server.sockets import READ, Sockets
from broker.server.transport import Transport
from broker.server.warming import Warming
from broker.server.workers import DiskWorkers
from wal.disk_errors import DiskError
from wal.segment import FileRange

logger = logging.getLogger("kawal.server")

SEND_SHARE_NS: Final = 3_000_000
"""The time for sending in one go; the last connection may exceed it."""


def _ignore(_error: Exception | None) -> None:
    """Take no notice of the outcome."""


class Sender:
    """The connections that have something to send, the first one next."""

    def __init__(
        self, broker: Broker, sockets: Sockets, workers: DiskWorkers, now_ms: Callable[[], int]
    ) -> None:
        self._broker = broker
        self._sockets = sockets
        self._workers = workers
        self._now_ms = now_ms
        self._waiting: deque[Connection] = deque()

    @property
    def pending(self) -> bool:
        """True while something is left to send."""
        return bool(self._waiting or self._broker.unsent)

    def send_some(self, clock_ns: Callable[[], int], now_ms: int) -> None:
        """Send what was answered until all has left or the time is used up."""
        waiting = self._waiting
        broker = self._broker
        waiting += broker.take_unsent()
        ends_ns = clock_ns() + SEND_SHARE_NS
        while waiting:
            connection = waiting.popleft()
            transport = self._sockets.transports.get(connection.descriptor)
            if transport is not None and transport.connection is connection:
                try:
                    self.send(transport, now_ms)
                except Exception as error:  # noqa: BLE001  (the net)
                    self._sockets.fail(transport, error)
            if clock_ns() > ends_ns:
                break
            if broker.unsent and not waiting:
                waiting += broker.take_unsent()
        for connection in waiting:
            connection.account()

    def send(self, transport: Transport, now_ms: int) -> None:
        """Send as much as one socket takes; requests that waited for room are served in a later turn."""
        sockets = self._sockets
        connection = transport.connection
        connection.dirty = False
        if connection.aborted:
            sockets.lose(transport, connection.close_reason or "")
            return
        try:
            transport.send(now_ms)
        except DiskError as error:
            self._workers.submit_task(connection.outgoing[0].load, _ignore)  # it marks what is unreadable
            self._unreadable(transport, error)
            return
        except OSError as error:
            sockets.lose(transport, (error.strerror or str(error)).lower())
            return
        if transport.blocked:
            connection.account()
            self._warm_if_cold(transport)
        elif connection.close_reason is not None and not connection.outgoing:
            sockets.lose(transport, connection.close_reason)
            return
        if connection.stalled and not sockets.stopping:
            connection.account()
            if not connection.saturated:
                sockets.ready.resume(transport)
        if transport.interest != READ or connection.outgoing or connection.close_reason is not None:
            sockets.watch(transport, now_ms)

    def _warm_if_cold(self, transport: Transport) -> None:
        """Have a thread read the next ranges first: sendfile would block the loop for a disk read."""
        head = transport.connection.outgoing[0]
        if transport.warming or type(head) is not FileRange or not (head.maybe_cold or head.must_load):
            return
        warming = Warming(transport.connection)

        def warmed(error: Exception | None) -> None:
            transport.warming = False
            transport.blocked = False
            if transport.connection.closed:
                return
            if not transport.connection.aborted:
                warming.done()
            if error is not None:
                self._unreadable(transport, error)
            else:
                self.send(transport, self._now_ms())

        transport.warming = True
        self._workers.submit_task(warming.load, warmed)

    def _unreadable(self, transport: Transport, error: Exception) -> None:
        """End a connection whose answer cannot be finished; the next fetch gets an error code."""
        connection = transport.connection
        logger.error("the answer to connection %d ends early: %s", connection.identity, error)
        connection.abort("stored records cannot be read", Cause.DISK)
        self._sockets.lose(transport, "stored records cannot be read")
