"""The event loop's inner turn: every ready socket is served, then the machine's wishes are carried out.

One epoll of our own is nested in trio's: trio wakes one task, which serves all sockets that are ready.
Measured against a task per connection with trio's streams this takes half the CPU per small request and
memory for an idle connection is one small object (performance.md section 2).

    turn = poll, accept, receive -> broker.receive ... -> finished disk work -> send -> hand out disk jobs

All appends of one turn thus join one frame, and all answers of one connection leave in one call.
"""

from __future__ import annotations

import errno
import logging
import select
import socket
from collections.abc import Callable
from typing import Final

import trio

from broker.core import Broker
from broker.server.listeners import Listener, told_address
from broker.server.transport import RECEIVES_PER_TURN, Transport
from broker.server.workers import Crashed, DiskWorkers, Finished, TaskDone
from wal.segment import FileRange

logger = logging.getLogger("kawal.server")

EVENTS_PER_TURN: Final = 512
ACCEPTS_PER_TURN: Final = 64

_READ: Final = select.EPOLLIN
_BOTH: Final = select.EPOLLIN | select.EPOLLOUT
_LOST: Final = select.EPOLLHUP | select.EPOLLERR


class Reactor:
    """Serves all connections of a broker until it is cancelled."""

    def __init__(
        self,
        broker: Broker,
        *,
        listeners: list[Listener],
        workers: DiskWorkers,
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
    ) -> None:
        self._broker = broker
        self._workers = workers
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._epoll = select.epoll()
        self._transports: dict[int, Transport] = {}
        self._hosts: dict[str, int] = {}
        self._listeners = {listener.socket.fileno(): listener for listener in listeners}
        self._timer: trio.CancelScope | None = None
        for descriptor in self._listeners:
            self._epoll.register(descriptor, _READ)
        self._epoll.register(workers.event_descriptor, _READ)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run_timer)
            while True:
                self.turn()
                await trio.lowlevel.wait_readable(self._epoll.fileno())

    async def _run_timer(self) -> None:
        """Wake at the machine's next deadline; `_set_timer` moves it."""
        while True:
            with trio.CancelScope() as self._timer:
                self._set_timer()
                await trio.sleep_forever()
            now_ms = self._clock()
            self._broker.tick(now_ms)
            self._finish_turn(now_ms)

    def _set_timer(self) -> None:
        deadline_ms = self._broker.next_deadline()
        if deadline_ms is None or self._timer is None:
            return
        deadline = trio.current_time() + max(0, deadline_ms - self._now_ms()) / 1000
        if deadline < self._timer.deadline:
            self._timer.deadline = deadline

    def _clock(self) -> int:
        now_ms = self._now_ms()
        self._broker.set_clocks(now_ms=now_ms, wall_ms=self._wall_ms())
        return now_ms

    def turn(self) -> None:
        """Serve what is ready now and carry out what follows from it."""
        now_ms = self._clock()
        for descriptor, mask in self._epoll.poll(0, EVENTS_PER_TURN):
            transport = self._transports.get(descriptor)
            if transport is not None:
                self._serve(transport, mask, now_ms)
            elif descriptor in self._listeners:
                self._accept(self._listeners[descriptor], now_ms)
            elif descriptor == self._workers.event_descriptor:
                self._take_results(now_ms)
        self._finish_turn(now_ms)

    def _finish_turn(self, now_ms: int) -> None:
        while self._broker.has_unsent:
            for connection in self._broker.take_unsent():
                transport = self._transports.get(connection.descriptor)
                if transport is not None and transport.connection is connection:
                    self._send(transport, now_ms)
        for vnode, job in self._broker.take_jobs(now_ms):
            self._workers.submit(vnode, job)
        self._set_timer()

    # --- connections -----------------------------------------------------------------------------------

    def _accept(self, listener: Listener, now_ms: int) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                sock, address = listener.socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    logger.warning(
                        "no file descriptor left for a new connection; raise the limit of open files"
                    )
                return
            self._admit(listener, sock, str(address[0]), int(address[1]), now_ms)

    def _admit(self, listener: Listener, sock: socket.socket, host: str, port: int, now_ms: int) -> None:
        config = self._broker.config
        if (
            len(self._transports) >= config.max_connections
            or self._hosts.get(host, 0) >= config.max_connections_per_ip
        ):
            logger.warning("connection from %s refused: the limit of connections is reached", host)
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = self._broker.connect(
            peer=f"{host}:{port}", descriptor=sock.fileno(), told=told_address(listener, sock)
        )
        transport = Transport(sock, connection)
        self._transports[sock.fileno()] = transport
        self._hosts[host] = self._hosts.get(host, 0) + 1
        transport.interest = _READ
        self._epoll.register(sock.fileno(), _READ)

    def _serve(self, transport: Transport, mask: int, now_ms: int) -> None:
        if mask & select.EPOLLIN:
            self._receive(transport, now_ms)
        elif mask & _LOST:
            self._lose(transport, "the client closed the connection")
            return
        if mask & select.EPOLLOUT and not transport.connection.closed:
            self._send(transport, now_ms)

    def _receive(self, transport: Transport, now_ms: int) -> None:
        connection = transport.connection
        for _ in range(RECEIVES_PER_TURN):
            if connection.saturated or connection.close_reason is not None:
                self._set_interest(transport)
                return
            try:
                size = transport.receive()
            except OSError as error:
                self._lose(transport, (error.strerror or "connection error").lower())
                return
            if size < 0:
                connection.reader.release_buffer()
                return
            if size == 0:
                self._lose(transport, "the client closed the connection")
                return
            if self._broker.receive(connection, size, now_ms):
                return

    def _send(self, transport: Transport, now_ms: int) -> None:
        connection = transport.connection
        connection.dirty = False
        try:
            left = transport.send()
        except OSError as error:
            self._lose(transport, (error.strerror or str(error)).lower())
            return
        if left:
            self._warm_if_cold(transport)
        elif connection.close_reason is not None and not connection.outgoing:
            self._lose(transport, connection.close_reason)
            return
        if connection.stalled and not connection.saturated:
            self._broker.resume(connection, now_ms)
        self._set_interest(transport)

    def _set_interest(self, transport: Transport) -> None:
        connection = transport.connection
        wanted = 0 if connection.saturated or connection.close_reason is not None else _READ
        if connection.outgoing and not transport.warming:
            wanted |= select.EPOLLOUT
        if wanted != transport.interest and not connection.closed:
            transport.interest = wanted
            self._epoll.modify(transport.socket.fileno(), wanted)

    def _lose(self, transport: Transport, reason: str) -> None:
        connection = transport.connection
        if connection.closed:
            return
        logger.debug("connection %d from %s ends: %s", connection.identity, connection.peer, reason)
        descriptor = transport.socket.fileno()
        self._epoll.unregister(descriptor)
        del self._transports[descriptor]
        self._hosts[connection.host] -= 1
        if not self._hosts[connection.host]:
            del self._hosts[connection.host]
        transport.socket.close()
        self._broker.disconnect(connection)

    # --- disk work -------------------------------------------------------------------------------------

    def _take_results(self, now_ms: int) -> None:
        for result in self._workers.take_results():
            match result:
                case Finished(vnode, job, error):
                    self._broker.job_done(vnode, job, error, now_ms)
                case TaskDone(done, error):
                    done(error)
                case Crashed(fault):
                    raise fault

    def _warm_if_cold(self, transport: Transport) -> None:
        """Let a thread read the range at the head first: sendfile would stop the loop for a disk's time."""
        head = transport.connection.outgoing[0]
        if transport.warming or type(head) is not FileRange or not head.maybe_cold:
            return

        def warmed(_error: BaseException | None) -> None:
            transport.warming = False
            head.maybe_cold = False
            if not transport.connection.closed:
                self._send(transport, self._now_ms())

        transport.warming = True
        self._workers.submit_task(head.read, warmed)

    # --- the end ---------------------------------------------------------------------------------------

    def stop_accepting(self) -> None:
        """Close the listeners; connections that exist live on."""
        for descriptor, listener in self._listeners.items():
            self._epoll.unregister(descriptor)
            listener.socket.close()
        self._listeners.clear()

    @property
    def busy(self) -> bool:
        """True while a call is unanswered or an answer unsent."""
        return any(
            transport.connection.calls or transport.connection.outgoing
            for transport in self._transports.values()
        )

    def close(self) -> None:
        """Close every connection and the epoll."""
        for transport in tuple(self._transports.values()):
            self._lose(transport, "the server stops")
        self._epoll.close()
