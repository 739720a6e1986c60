"""One broker in memory: its port, its disk, and its lives from start to stop.

    start --> running --stop--> stopped       cleanly: requests in flight are answered
                      --kill--> stopped       at once; the disk keeps what a kill, or a power cut, leaves
                      --pause--> paused       like a process that gets no CPU: connections stay, but mute

The port is the broker's own until it is closed, even while it is stopped: a socket that never listens is
bound to it, so that clients are refused and no other process can take it.
"""

from __future__ import annotations

import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from random import SystemRandom
from typing import Final

import trio

from broker.config.config import Config, config_of
from broker.config.endpoints import Endpoint
from broker.loop.stats import Stats
from broker.server.listeners import Listener
from broker.server.reactor import Reactor
from broker.server.run import registry_of
from broker.server.testing.clock import Clock
from broker.server.testing.faults import Faults
from broker.server.testing.faulty import FaultyBroker
from broker.server.testing.lines import SPEAKER, new_log
from broker.server.testing.workers import RamWorkers
from broker.start import open_broker
from broker.storage.schemas import Lookups
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL

logger = logging.getLogger("kawal.testing")

HOST: Final = "127.0.0.1"

DEFAULTS: Final[Mapping[str, object]] = {
    "log.dirs": "/data",
    "kawal.http.listen": "none",
    # Small and quick: one log, and no waiting for members that may join later.
    "kawal.vnodes": 1,
    "num.partitions": 1,
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1,
    "group.consumer.min.session.timeout.ms": 1,
    "group.consumer.min.heartbeat.interval.ms": 1,
    "kawal.rebalance.interval.ms": 0,
    # A restart reads a whole segment, including the part that was never written.
    "kawal.segment.bytes": 4 << 20,
    "kawal.tail.cache.bytes": 8 << 20,
}
"""The settings that differ from `kawal serve`; those of a test come on top."""

BACKLOG: Final = 128
STOP_SECONDS_MAX: Final = 5
STEPS_MAX: Final = 10_000
"""Deadlines met one by one when time is moved forward; the rest are passed in one step."""


class NotRunning(Exception):
    """A command needs a running broker."""


def steady_ms() -> int:
    """Return the time of a steady clock that started at the time of day."""
    return (_STARTED_NS + time.monotonic_ns()) // 1_000_000


_STARTED_NS: Final = time.time_ns() - time.monotonic_ns()


class RamBroker:
    """A broker of a test; it is stopped at first."""

    def __init__(
        self,
        name: str,
        settings: Mapping[str, object],
        spawn: Callable[..., None],
        steady_ms: Callable[[], int] = steady_ms,
    ) -> None:
        """Make a broker; `spawn(function)` starts an async task.  Raises: ConfigError, OSError."""
        self.name = name
        self.clock = Clock(steady_ms)
        self.faults = Faults()
        self.lines = new_log()
        self._spawn = spawn
        self._disk = MemoryDisk()
        self._reactor: Reactor | None = None
        self._broker: FaultyBroker | None = None
        self._workers: RamWorkers | None = None
        # While the loop runs: the scope that ends it, and the event set when it has ended.
        self._scope: trio.CancelScope | None = None
        self._ended = trio.Event()
        self.failure: str | None = None
        self._config: Config = config_of({**DEFAULTS, **settings})
        self._place = _bound(0)
        self.port: int = self._place.getsockname()[1]

    @property
    def broker(self) -> FaultyBroker:
        """The broker's state machine.  Raises: NotRunning."""
        if self._broker is None:
            raise NotRunning(self._why_not())
        return self._broker

    @property
    def reactor(self) -> Reactor:
        """The loop around the state machine.  Raises: NotRunning."""
        if self._reactor is None:
            raise NotRunning(self._why_not())
        return self._reactor

    def check_running(self) -> None:
        """Raise NotRunning, with the reason, unless the broker runs."""
        if not self.is_running:
            raise NotRunning(self._why_not())

    def _why_not(self) -> str:
        if self.failure is not None:
            return f"broker {self.name} has failed: {self.failure}; see its log"
        return f"broker {self.name} is stopped; start it first"

    @property
    def is_running(self) -> bool:
        """True from `start` to `stop` or `kill`, even while the broker is paused."""
        return self._reactor is not None

    async def start(self) -> None:
        """Start on the disk as it is, on the same port; a running broker continues.  Raises: StoreError."""
        if self.is_running:
            return
        token = SPEAKER.set(self.lines)
        try:
            now_ms = self.clock.now_ms()
            self._workers = workers = RamWorkers(self._disk, self.faults, self._after)
            broker = open_broker(
                self._disk,
                self._config,
                random=SystemRandom(),
                now_ms=now_ms,
                wall_ms=now_ms,
                stats=Stats(time.monotonic_ns),
                offload=workers.submit_task,
                lookups=Lookups(registry_of, workers.submit_outside),
                kind=FaultyBroker,
            )
            assert isinstance(broker, FaultyBroker)
            broker.faults, broker.steady, broker.counts = self.faults, self.clock, Counter()
            # A server would go on; the test that uses this broker must learn of it.
            broker.internal_errors.listener = _raise
            self._broker = broker
            self._reactor = Reactor(
                broker,
                listeners=[self._listener()],
                workers=workers,
                now_ms=self.clock.now_ms,
                wall_ms=self.clock.now_ms,
                connection_room=10_000,
            )
        finally:
            SPEAKER.reset(token)
        self.failure = None
        await self.resume()

    def _listener(self) -> Listener:
        sock = _bound(self.port)
        sock.listen(BACKLOG)
        return Listener(sock, Endpoint(HOST, self.port), None)

    def _after(self, delay_ms: int, action: Callable[[], None]) -> None:
        broker = self.broker
        broker.timers.add(self.clock.now_ms() + delay_ms, lambda _now_ms: action())

    async def pause(self) -> None:
        """Serve no client until `resume`; connections stay, and new ones wait in the kernel's queue."""
        if self._scope is not None:
            self._scope.cancel()
            await self._ended.wait()

    async def resume(self) -> None:
        """Serve, or serve again."""
        reactor = self.reactor
        if self._scope is None:
            self._scope = scope = trio.CancelScope()
            self._ended = ended = trio.Event()
            self._spawn(lambda: self._run(reactor, scope, ended))
        await trio.lowlevel.checkpoint()

    async def _run(self, reactor: Reactor, scope: trio.CancelScope, ended: trio.Event) -> None:
        SPEAKER.set(self.lines)
        try:
            with scope:
                await reactor.run()
        except Exception as error:
            # One broker's fault must not end the others.
            logger.critical("the broker has failed", exc_info=error)
            self.failure = _in_words(error)
            self._let_go()
            self._disk = self._disk.kill()
        finally:
            self._scope = None
            ended.set()

    async def stop(self) -> None:
        """Stop cleanly, as after SIGTERM.  Raises: NotRunning."""
        broker, reactor, workers = self.broker, self.reactor, self._workers
        assert workers is not None
        await self.pause()
        token = SPEAKER.set(self.lines)
        try:
            reactor.begin_stop()
            broker.begin_stop(self.clock.now_ms())
            with trio.move_on_after(STOP_SECONDS_MAX):
                while reactor.busy or broker.has_disk_work:
                    workers.hurry()
                    reactor.turn()
                    await trio.lowlevel.checkpoint()
            reactor.close()
            reactor.take_in(workers.stop(), self.clock.now_ms())
            broker.close(self.clock.now_ms())
        finally:
            SPEAKER.reset(token)
        self._broker = self._reactor = self._workers = None
        self._disk.restart()

    async def kill(self, *, power_cut: bool) -> None:
        """End at once, as by SIGKILL or a power cut; a power cut leaves only synced data."""
        await self.pause()
        self._let_go()
        self._disk = self._disk.crash(DROP_ALL) if power_cut else self._disk.kill()

    def _let_go(self) -> None:
        """Close every socket, without answering anything more."""
        reactor, workers = self._reactor, self._workers
        self._broker = self._reactor = self._workers = None
        if reactor is not None and workers is not None:
            reactor.begin_stop()
            reactor.close()
            workers.stop()

    async def close(self) -> None:
        """End for good and free the port."""
        await self.pause()
        self._let_go()
        self._place.close()

    async def advance(self, duration_ms: int) -> None:
        """Move time forward, meeting every deadline on the way in order.

        A broker that is paused or stopped meets them when it continues.
        """
        end_ms = self.clock.now_ms() + duration_ms
        if self._broker is None or self._scope is None:
            self.clock.move_to(end_ms)
            return
        token = SPEAKER.set(self.lines)
        try:
            for _ in range(STEPS_MAX):
                due_ms = self.broker.next_due_ms()
                if due_ms is None or due_ms > end_ms:
                    break
                self.clock.move_to(due_ms)
                self.reactor.tick()
                await trio.lowlevel.checkpoint()
            self.clock.move_to(end_ms)
            self.reactor.tick()
        finally:
            SPEAKER.reset(token)

    def disconnect(self) -> int:
        """Close every client's connection and return their number."""
        connections = list(self.broker.connections.values())
        for connection in connections:
            connection.close("a test wants it closed")
        self.reactor.tick()
        return len(connections)


def _raise(error: BaseException) -> None:
    raise error


def _in_words(error: BaseException) -> str:
    """Return the first error of a group, such as nurseries raise, as text."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _bound(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind((HOST, port))
    except OSError:
        sock.close()
        raise
    return sock
