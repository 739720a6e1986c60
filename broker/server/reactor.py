"""The event loop's inner turn: every ready socket is served, then the work that the broker asks for is done.

Our own epoll is nested in trio's: trio wakes one task, which serves all ready sockets. Compared with a task
per connection and trio's streams, this takes half the CPU per small request, and an idle connection takes
only one small object. While there is work, the reactor waits on its own epoll and visits trio every few
milliseconds, for timers, signals and HTTP: a visit costs as much as a small request.

    turn = poll -> short work: accept, receive -> broker.receive ..., finished disk work
                -> send, hand out disk jobs
                -> long work: clients that come or go, sockets that took long before; slices of long answers
                -> send, hand out disk jobs

Appends of one turn thus join a frame, and answers of one connection leave in one call.  Each part has a share
of the turn (ready_sockets.py says which sockets are long work); what is left waits for the next turn.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import trio

from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace
from broker.loop.turns import Work
from broker.server.acceptor import Acceptor
from broker.server.collector import collect_what_is_left
from broker.server.disk_exchange import DiskExchange
from broker.server.listeners import Listener
from broker.server.loop_timer import LoopTimer
from broker.server.ready_sockets import WAITING, Level, ServiceClock
from broker.server.sender import Sender
from broker.server.sockets import READ, Sockets
from broker.server.transport import RECEIVES_PER_TURN, Transport
from broker.server.visits import passes, visit_ns
from broker.server.workers import DiskWorkers, Result

if TYPE_CHECKING:
    from broker.server.peer_door import PeerDoor

SHORT_SHARE_NS: Final = 4_000_000
"""The processor time of a turn for sockets with short work, half of it for those that never ask for more; the
last one may exceed it, as with each share."""

LONG_SHARE_NS: Final = 3_000_000
"""The time for sockets with long work, as much for slices, and half of it for clients that come or go."""

LONG_SHARE_BESIDE_SHORT_NS: Final = 1_000_000
"""The same while clients with short work are about, which would wait meanwhile."""

SHORT_WORK_EXPECTED_NS: Final = 50_000_000
"""Clients with short work are about for so long after the last was served."""

RECEIVE_SHARE_NS: Final = 1_000_000
"""The time for one socket in one turn; a large request takes several."""

COLLECTED_AFTER_NS: Final = 500_000
"""Slices and timers that take so long may have made thousands of objects."""

PAUSE_AFTER_ERROR_SECONDS: Final = 0.1
"""An error of our own in the loop itself may come again at once: it must not take all of a processor."""

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
        connection_room: int,
        door: PeerDoor | None = None,
    ) -> None:
        """Make a reactor; `connection_room` limits the connections of clients, `door` is for other nodes."""
        self._broker = broker
        self._turns = broker.stats.turns
        self._services = ServiceClock(self._turns)
        self._workers = workers
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._timer = LoopTimer(broker, now_ms)
        # The listener of HTTP, which trio's tasks serve.
        self._pages = -1
        self._sockets = Sockets(broker)
        self._ready = self._sockets.ready
        self._sender = Sender(broker, self._sockets, workers, now_ms)
        self._short_work_expected_until_ns = 0
        # Whether the last turn that had long work beside short ran slices.
        self._runs_slices = False
        self._disk = DiskExchange(broker, workers)
        self._acceptor = Acceptor(
            broker,
            listeners=listeners,
            epoll=self._sockets.epoll,
            connection_room=connection_room,
            admitted=self._sockets.admit,
        )
        self._sockets.left = self._acceptor.left
        self._door = door
        if door is not None:
            door.open(broker, self._sockets)
        self._sockets.epoll.register(workers.event_descriptor, READ)

    def expect_pages(self, descriptor: int) -> None:
        """Visit trio soon when a client of HTTP comes to this listener: it would wait for the next visit."""
        self._pages = descriptor
        # Trio's task accepts the client, so each is reported once.
        self._sockets.epoll.register(descriptor, READ | select.EPOLLET)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._timer.run, self.tick)
            while True:
                try:
                    self.take_turns()
                except Exception as error:  # noqa: BLE001  (the last net)
                    self._broker.internal_errors.note(ErrorPlace.LOOP, "a turn of the event loop", error)
                    self._turns.end()
                    await trio.sleep(PAUSE_AFTER_ERROR_SECONDS)
                if self._pending:
                    for _ in range(passes(self._turns)):
                        await trio.lowlevel.checkpoint()
                else:
                    await trio.lowlevel.wait_readable(self._sockets.epoll.fileno())

    def take_turns(self) -> None:
        """Take turns until nothing more comes, a timer is due, or trio has to be visited."""
        clock_ns = self._turns.clock_ns
        began_ns = clock_ns()
        self.turn()
        while (now_ns := clock_ns()) < (ends_ns := began_ns + visit_ns(self._turns)):
            if self._pending:
                self.turn()
                continue
            left_ns = min(ends_ns, self._timer.ends_ns) - now_ns
            if left_ns <= 0 or not self._ready.poll(self._sockets.transports, left_ns / 1e9):
                return
            self.turn(polled=True)

    def tick(self) -> None:
        """Let the broker do the work that is due, and carry out what follows from it."""
        self._timer.forget()
        turns = self._turns
        now_ms = self._begin_turn(turns.timers)
        self._broker.tick(now_ms)
        if turns.clock_ns() - turns.began_ns > COLLECTED_AFTER_NS:
            collect_what_is_left()
        self._finish_turn(now_ms)
        if self._pending:
            # The loop may be waiting for a socket.
            self._workers.wake()

    @property
    def _pending(self) -> bool:
        """True while there is work without any new event."""
        waits = bool(self._ready) or self._disk.pending
        return waits or self._sender.pending or self._broker.scheduler.pending

    def turn(self, *, polled: bool = False) -> None:
        """Serve the sockets that are ready, and carry out what follows from it.

        `polled`: the epoll has just been asked.
        """
        turns = self._turns
        now_ms = self._begin_turn(turns.sockets)
        ready = self._ready
        if not polled:
            ready.poll(self._sockets.transports)
        self._serve_short(now_ms)
        if ready.edge or ready.long or self._broker.scheduler.pending:
            self._do_long_work(now_ms)
        self._finish_turn(now_ms)

    def _do_long_work(self, now_ms: int) -> None:
        """Serve what takes long, and run slices; beside short work one of them: each may exceed its share."""
        turns, ready, scheduler = self._turns, self._ready, self._broker.scheduler
        serves, runs, share_ns = True, True, LONG_SHARE_NS
        if turns.began_ns < self._short_work_expected_until_ns:
            self._carry_out(now_ms)
            turns.enter(turns.sockets)
            share_ns = LONG_SHARE_BESIDE_SHORT_NS
            if scheduler.pending and (ready.edge or ready.long):
                self._runs_slices = runs = not self._runs_slices
                serves = not runs
        if serves:
            self._serve_level(ready.edge, share_ns // 2, now_ms)
            self._serve_level(ready.long, share_ns, now_ms)
        if runs and scheduler.pending:
            began_ns = turns.clock_ns()
            scheduler.run_some(turns.clock_ns, share_ns)
            if turns.clock_ns() - began_ns > COLLECTED_AFTER_NS:
                collect_what_is_left()

    def _serve_short(self, now_ms: int) -> None:
        """Take in the results of threads, accept clients, and serve those that ask for little."""
        ready = self._ready
        if self._disk.has_results:
            self._take_results(now_ms)
        while ready.others:
            self._serve_other(ready.first(ready.others)[0], now_ms)
        if ready.prompt or ready.short:
            self._short_work_expected_until_ns = self._turns.began_ns + SHORT_WORK_EXPECTED_NS
            took_ns = self._serve_level(ready.prompt, SHORT_SHARE_NS // 2, now_ms) if ready.prompt else 0
            if ready.short:
                self._serve_level(ready.short, SHORT_SHARE_NS - took_ns, now_ms)

    def _serve_other(self, descriptor: int, now_ms: int) -> None:
        """Serve a descriptor that belongs to no client, if it is still watched."""
        turns = self._turns
        if descriptor in self._acceptor:
            before = turns.enter(turns.accept)
            with self._broker.internal_errors.net(ErrorPlace.LOOP, "accepting connections"):
                self._acceptor.accept(descriptor, now_ms)
            turns.leave(before)
        elif descriptor == self._workers.event_descriptor:
            self._take_results(now_ms)
        elif descriptor == self._pages:
            turns.asked_for_page()
        elif self._door is not None and descriptor == self._door.descriptor:
            self._door.accept(now_ms)

    def _serve_level(self, level: Level, share_ns: int, now_ms: int) -> int:
        """Serve the sockets of a level for so long of processor time, and at least one; return the time."""
        took_ns = 0
        ready = self._ready
        clock_ns = self._turns.clock_ns
        before_ns = clock_ns()
        ends_ns = before_ns + WAITING * share_ns
        while level:
            descriptor, mask = ready.first(level)
            transport = self._sockets.transports[descriptor]
            transport.new = False
            self._serve_safely(transport, mask, now_ms)
            if transport.interest < 0:
                # It was reported once only (ready_sockets.py), and may have more to say.
                self._sockets.watch(transport, now_ms)
            now_ns = clock_ns()
            service_ns = self._services.took_ns(before_ns, now_ns)
            connection = transport.connection
            ready.judge(transport, service_ns + connection.sliced_ns)
            connection.sliced_ns = 0
            took_ns += service_ns
            before_ns = now_ns
            if took_ns > share_ns or now_ns > ends_ns:
                break
        return took_ns

    def _begin_turn(self, task: Work) -> int:
        now_ms = self._now_ms()
        self._turns.begin(task)
        self._broker.set_clocks(now_ms=now_ms, wall_ms=self._wall_ms())
        return now_ms

    def _finish_turn(self, now_ms: int) -> None:
        self._carry_out(now_ms)
        self._sockets.release_one()
        self._timer.set(None if self._disk.looked_at_all else self._disk.look_at_all_ns)
        self._turns.end()

    def _carry_out(self, now_ms: int) -> None:
        """Send what was answered, and hand out disk jobs."""
        turns = self._turns
        if self._sender.pending:
            turns.enter(turns.sending)
            self._sender.send_some(turns.clock_ns, now_ms)
        self._disk.hand_out(now_ms)

    def _take_results(self, now_ms: int) -> None:
        before = self._turns.enter(self._turns.disk)
        self._disk.take_some(now_ms)
        self._turns.leave(before)

    # --- connections -----------------------------------------------------------------------------------

    def _serve_safely(self, transport: Transport, mask: int, now_ms: int) -> None:
        """Serve a socket; an error of our own ends its connection."""
        try:
            self._serve(transport, mask, now_ms)
        except Exception as error:  # noqa: BLE001  (the net)
            self._sockets.fail(transport, error)

    def _serve(self, transport: Transport, mask: int, now_ms: int) -> None:
        if transport.connection.stalled:
            self._serve_buffered(transport, now_ms)
        if mask & select.EPOLLIN or transport.buffered:
            self._receive(transport, now_ms)
        elif mask & _LOST:
            self._sockets.lose(transport, "the client closed the connection")
            return
        if mask & select.EPOLLOUT and not transport.connection.closed:
            self._sender.send(transport, now_ms)

    def _receive(self, transport: Transport, now_ms: int) -> None:
        connection = transport.connection
        clock_ns = self._turns.clock_ns
        ends_ns = clock_ns() + RECEIVE_SHARE_NS
        for _ in range(RECEIVES_PER_TURN):
            if self._sockets.stopping or connection.saturated or connection.close_reason is not None:
                self._sockets.watch(transport, now_ms)
                break
            if connection.stalled:
                # The requests in the buffer must go before there is room.
                break
            try:
                size = transport.receive()
            except OSError as error:
                self._sockets.lose(transport, (error.strerror or "connection error").lower())
                return
            if size < 0:
                if transport.wants_write:
                    self._sockets.watch(transport, now_ms)
                break
            if size == 0:
                self._sockets.lose(transport, "the client closed the connection")
                return
            if self._broker.intake.receive(connection, size, now_ms):
                self._sockets.watch(transport, now_ms)
                break
            if transport.drained or clock_ns() > ends_ns:
                break
        connection.reader.release_buffer()
        if transport.buffered and not (
            connection.stalled or self._sockets.stopping or connection.close_reason is not None
        ):
            self._ready.resume(transport)

    def _serve_buffered(self, transport: Transport, now_ms: int) -> None:
        """Serve the requests that a stalled connection has in its buffer, as far as the limits allow."""
        connection = transport.connection
        if not connection.saturated and not self._sockets.stopping and connection.close_reason is None:
            self._broker.intake.resume(connection, now_ms)
            connection.reader.release_buffer()
        self._sockets.watch(transport, now_ms)

    # --- disk work -------------------------------------------------------------------------------------

    def take_in(self, results: list[Result], now_ms: int) -> None:
        """Act on the results of work in threads."""
        self._disk.take(results, now_ms)

    # --- the end ---------------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Close the listeners and read nothing more, as clients that poll would keep the server busy."""
        self._acceptor.close()
        if self._door is not None:
            self._door.close()
        self._sockets.begin_stop(self._now_ms())

    @property
    def busy(self) -> bool:
        """True while an answer is in progress or unsent."""
        return self._broker.scheduler.pending or any(
            transport.connection.outgoing for transport in self._sockets.transports.values()
        )

    def close(self) -> None:
        """Close every connection and the epoll."""
        self._sockets.close()
