"""The event loop's inner turn: every ready socket is served, then the work that the broker asks for is done.

Our own epoll is nested in trio's: trio wakes one task, which serves all ready sockets. Compared with a task
per connection and trio's streams, this takes half the CPU per small request, and an idle connection takes
only one small object.

    turn = poll, accept, receive -> broker.receive ... -> finished disk work -> send -> hand out disk jobs

All appends of one turn thus join one frame, and all answers of one connection leave in one call.
"""

from __future__ import annotations

import logging
import select
from collections.abc import Callable
from typing import Final

import trio

from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace
from broker.loop.stats import Cause
from broker.loop.turns import Work
from broker.server.acceptor import Acceptor
from broker.server.held_back import HeldBack
from broker.server.listeners import Listener
from broker.server.transport import RECEIVES_PER_TURN, Transport
from broker.server.workers import DiskWorkers, Finished, Result, TaskDone
from wal.disk_errors import DiskError
from wal.errors import LogDamaged
from wal.jobs import CommitJob
from wal.segment import FileRange

logger = logging.getLogger("kawal.server")

EVENTS_PER_TURN: Final = 512
TURN_NS_MAX: Final = 20_000_000
"""After 20 ms answers leave and other work gets a turn, however many sockets are still ready."""

PAUSE_AFTER_ERROR_SECONDS: Final = 0.1
"""An error of our own in the loop itself may come again at once: it must not take all of a processor."""

_READ: Final = select.EPOLLIN
_BOTH: Final = select.EPOLLIN | select.EPOLLOUT
_LOST: Final = select.EPOLLHUP | select.EPOLLERR


def _ignore(_error: Exception | None) -> None:
    """Take no notice of the outcome."""


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
        connection_room: int,
    ) -> None:
        """Make a reactor; `connection_room` limits the connections, whatever is configured."""
        self._broker = broker
        self._turns = broker.stats.turns
        self._workers = workers
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._epoll = select.epoll()
        self._transports: dict[int, Transport] = {}
        self._held = HeldBack(broker.memory)
        self._timer: trio.CancelScope | None = None
        # Events of the last poll that are not served yet, the next one last.
        self._ready: list[tuple[int, int]] = []
        self._poll_number = 0
        # True: nothing more is read, and requests in progress are answered.
        self._stopping = False
        self._acceptor = Acceptor(
            broker,
            listeners=listeners,
            epoll=self._epoll,
            connection_room=connection_room,
            admitted=self._admitted,
        )
        self._epoll.register(workers.event_descriptor, _READ)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run_timer)
            while True:
                try:
                    self.turn()
                except Exception as error:  # noqa: BLE001  (the last net)
                    self._broker.internal_errors.note(ErrorPlace.LOOP, "a turn of the event loop", error)
                    self._turns.end()
                    await trio.sleep(PAUSE_AFTER_ERROR_SECONDS)
                if self._ready or self._broker.scheduler.pending:
                    await trio.lowlevel.checkpoint()
                else:
                    await trio.lowlevel.wait_readable(self._epoll.fileno())

    async def _run_timer(self) -> None:
        """Wake at the broker's next deadline, which `_set_timer` moves."""
        while True:
            with trio.CancelScope() as self._timer:
                self._set_timer()
                await trio.sleep_forever()
            with self._broker.internal_errors.net(ErrorPlace.LOOP, "the timers of the event loop"):
                self.tick()

    def tick(self) -> None:
        """Let the broker do the work that is due, and carry out what follows from it."""
        now_ms = self._begin_turn(self._turns.timers)
        self._broker.tick(now_ms)
        self._finish_turn(now_ms)
        if self._broker.scheduler.pending:
            # The loop may be waiting for a socket.
            self._workers.wake()

    def _set_timer(self) -> None:
        deadline_ms = self._broker.next_deadline()
        if deadline_ms is None or self._timer is None:
            return
        deadline = trio.current_time() + max(0, deadline_ms - self._now_ms()) / 1000
        if deadline < self._timer.deadline:
            self._timer.deadline = deadline

    def turn(self) -> None:
        """Serve the sockets that are ready, and carry out what follows from it."""
        turns = self._turns
        now_ms = self._begin_turn(turns.sockets)
        if not self._ready:
            self._poll_number += 1
            self._ready = self._epoll.poll(0, EVENTS_PER_TURN)
            self._ready.reverse()
        ends_ns = turns.began_ns + TURN_NS_MAX
        while self._ready:
            descriptor, mask = self._ready.pop()
            transport = self._transports.get(descriptor)
            if transport is not None:
                if transport.poll_number < self._poll_number:
                    self._serve_safely(transport, mask, now_ms)
            elif descriptor in self._acceptor:
                before = turns.enter(turns.accept)
                with self._broker.internal_errors.net(ErrorPlace.LOOP, "accepting connections"):
                    self._acceptor.accept(descriptor, now_ms)
                turns.leave(before)
            elif descriptor == self._workers.event_descriptor:
                before = turns.enter(turns.disk)
                self.take_in(self._workers.take_results(), now_ms)
                turns.leave(before)
            if turns.clock_ns() > ends_ns:
                break
        self._broker.scheduler.run_some(turns.clock_ns)
        self._finish_turn(now_ms)

    def _begin_turn(self, task: Work) -> int:
        now_ms = self._now_ms()
        self._turns.begin(task)
        self._broker.set_clocks(now_ms=now_ms, wall_ms=self._wall_ms())
        return now_ms

    def _finish_turn(self, now_ms: int) -> None:
        turns = self._turns
        turns.enter(turns.sending)
        while self._broker.has_unsent or self._resume_held(now_ms):
            for connection in self._broker.take_unsent():
                transport = self._transports.get(connection.descriptor)
                if transport is not None and transport.connection is connection:
                    try:
                        self._send(transport, now_ms)
                    except Exception as error:  # noqa: BLE001  (the net)
                        self._failed(transport, error)
        turns.leave(turns.disk)
        self._workers.grow(self._broker.disk_threads)
        for vnode, job in self._broker.take_jobs(now_ms):
            self._workers.submit(vnode, job)
        self._set_timer()
        turns.end()

    # --- connections -----------------------------------------------------------------------------------

    def _admitted(self, transport: Transport) -> None:
        transport.poll_number = self._poll_number
        transport.interest = _READ
        self._transports[transport.fileno()] = transport
        self._epoll.register(transport.fileno(), _READ)

    def _serve_safely(self, transport: Transport, mask: int, now_ms: int) -> None:
        """Serve a socket; an error of our own ends its connection."""
        try:
            self._serve(transport, mask, now_ms)
        except Exception as error:  # noqa: BLE001  (the net)
            self._failed(transport, error)

    def _failed(self, transport: Transport, error: Exception) -> None:
        connection = transport.connection
        what = f"connection {connection.identity} is closed"
        self._broker.internal_errors.note(ErrorPlace.CONNECTION, what, error)
        if not connection.closed:
            connection.close("internal error", Cause.BUG)
            self._lose(transport, "internal error")

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
            if self._stopping or connection.saturated or connection.close_reason is not None:
                self._set_interest(transport, now_ms)
                break
            if connection.stalled:
                # The event is from before the stall: the requests in the buffer must go before there is room.
                self._resume(transport, now_ms)
                break
            try:
                size = transport.receive()
            except OSError as error:
                self._lose(transport, (error.strerror or "connection error").lower())
                return
            if size < 0:
                break
            if size == 0:
                self._lose(transport, "the client closed the connection")
                return
            if self._broker.intake.receive(connection, size, now_ms):
                self._set_interest(transport, now_ms)
                break
            if transport.drained:
                break
        connection.reader.release_buffer()

    def _resume_held(self, now_ms: int) -> bool:
        """Read connections again that were held back for memory; return whether there is more to send."""
        while self._held and not self._broker.has_unsent:
            transport = self._held.take()
            if transport is None:
                return False
            self._resume(transport, now_ms)
        return self._broker.has_unsent

    def _resume(self, transport: Transport, now_ms: int) -> None:
        connection = transport.connection
        if connection.stalled and not connection.saturated and not self._stopping:
            self._broker.intake.resume(connection, now_ms)
            connection.reader.release_buffer()
        self._set_interest(transport, now_ms)

    def _send(self, transport: Transport, now_ms: int) -> None:
        connection = transport.connection
        connection.dirty = False
        if connection.aborted:
            self._lose(transport, connection.close_reason or "")
            return
        try:
            transport.send(now_ms)
        except DiskError as error:
            self._workers.submit_task(connection.outgoing[0].load, _ignore)  # it marks what is unreadable
            self._unreadable(transport, error)
            return
        except OSError as error:
            self._lose(transport, (error.strerror or str(error)).lower())
            return
        if transport.blocked:
            self._warm_if_cold(transport)
        elif connection.close_reason is not None and not connection.outgoing:
            self._lose(transport, connection.close_reason)
            return
        self._resume(transport, now_ms)

    def _set_interest(self, transport: Transport, now_ms: int) -> None:
        connection = transport.connection
        wanted = _READ
        if self._stopping or connection.close_reason is not None:
            wanted = 0
        elif connection.saturated:
            wanted = 0
            connection.stalled = True
            if not connection.at_own_limit:
                self._held.add(transport)
                self._broker.intake.held_back(connection, now_ms)
        if transport.wants_write or (connection.outgoing and not transport.warming):
            wanted |= select.EPOLLOUT
        if wanted != transport.interest and not connection.closed:
            transport.interest = wanted
            self._epoll.modify(transport.fileno(), wanted)

    def _lose(self, transport: Transport, reason: str) -> None:
        connection = transport.connection
        if connection.closed:
            return
        logger.debug("connection %d from %s ends: %s", connection.identity, connection.peer, reason)
        descriptor = transport.fileno()
        self._epoll.unregister(descriptor)
        del self._transports[descriptor]
        self._held.remove(transport)
        self._acceptor.left(transport.host)
        # A client that takes nothing is not waited for: the kernel's memory for it is freed, too.
        transport.close(reset=connection.aborted and transport.blocked)
        self._broker.disconnect(connection)

    # --- disk work -------------------------------------------------------------------------------------

    def take_in(self, results: list[Result], now_ms: int) -> None:
        """Act on the results of work in threads."""
        for result in results:
            with self._broker.internal_errors.net(ErrorPlace.LOOP, "the end of work in a thread"):
                self._take_in(result, now_ms)

    def _take_in(self, result: Result, now_ms: int) -> None:
        match result:
            case Finished(vnode, job, error, duration_ns, sync_ns):
                if isinstance(job, CommitJob):
                    self._count_commit(job, error, duration_ns, sync_ns)
                self._broker.job_done(vnode, job, error, now_ms)
            case TaskDone(done, error):
                if error is not None and not isinstance(error, OSError | LogDamaged):
                    self._broker.internal_errors.note(ErrorPlace.THREAD, "work in a thread", error)
                done(error)

    def _count_commit(self, job: CommitJob, error: Exception | None, duration_ns: int, sync_ns: int) -> None:
        stats = self._broker.stats
        if error is None:
            stats.committed(
                duration_ns=duration_ns, sync_ns=sync_ns, batches=job.entry_count, size_bytes=job.size_bytes
            )
        else:
            stats.commits_failed += 1

    def _warm_if_cold(self, transport: Transport) -> None:
        """Have a thread read the range at the head first: sendfile would block the loop for a disk read."""
        head = transport.connection.outgoing[0]
        if transport.warming or type(head) is not FileRange or not (head.maybe_cold or head.must_load):
            return

        def warmed(error: Exception | None) -> None:
            transport.warming = False
            transport.blocked = False
            head.maybe_cold = False
            if transport.connection.closed:
                return
            if error is not None:
                self._unreadable(transport, error)
            else:
                self._send(transport, self._now_ms())

        transport.warming = True
        self._workers.submit_task(head.load, warmed)

    def _unreadable(self, transport: Transport, error: Exception) -> None:
        """End a connection whose answer cannot be finished; the next fetch gets an error code."""
        connection = transport.connection
        logger.error("the answer to connection %d ends early: %s", connection.identity, error)
        connection.abort("stored records cannot be read", Cause.DISK)
        self._lose(transport, "stored records cannot be read")

    # --- the end ---------------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Close the listeners and read nothing more, as clients that poll would keep the server busy."""
        self._acceptor.close()
        self._stopping = True
        now_ms = self._now_ms()
        for transport in self._transports.values():
            self._set_interest(transport, now_ms)

    @property
    def busy(self) -> bool:
        """True while an answer is in progress or unsent."""
        return self._broker.scheduler.pending or any(
            transport.connection.outgoing for transport in self._transports.values()
        )

    def close(self) -> None:
        """Close every connection and the epoll."""
        for transport in tuple(self._transports.values()):
            transport.connection.close("the server is stopping", Cause.STOP)
            self._lose(transport, "the server is stopping")
        self._epoll.close()
