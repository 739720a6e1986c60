"""A reactor whose epoll and threads are controlled by the test.

loop = Loop()
sock = loop.connect("10.0.0.1")
sock.incoming.append(frame)
loop.turn((sock, EPOLLIN))
loop.work()                      # the work of a thread; its results are taken in at the next turn
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.endpoints import Endpoint
from broker.server.listeners import Listener
from broker.server.reactor import Reactor
from broker.server.workers import Finished, Result, TaskDone
from broker.storage.vnode import DiskJob, Vnode
from tests.broker.gateway import Gateway
from tests.broker.server.fakes import FakeEpoll, FakeListener, FakeSocket
from wal.disk import DiskError

WORKERS = 11


class LoopEpoll(FakeEpoll):
    """Reports the events that the test chooses, as far as they are watched."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[int, int]] = []
        self.waits: list[float] = []
        """The seconds of the polls that waited."""
        self.waiting: list[list[tuple[int, int]]] = []
        """What comes during these polls, one after the other; then nothing does."""
        self.closed = False

    def poll(self, timeout: float, count: int) -> list[tuple[int, int]]:
        if timeout:
            self.waits.append(timeout)
            self.events += self.waiting.pop(0) if self.waiting else []
        events, self.events = self.events[:count], self.events[count:]
        always = select.EPOLLHUP | select.EPOLLERR
        found = [(number, mask & (self.watched.get(number, 0) | always)) for number, mask in events]
        return [(number, mask) for number, mask in found if mask and number in self.watched]

    def modify(self, descriptor: int, mask: int) -> None:
        assert descriptor in self.watched
        self.watched[descriptor] = mask

    def close(self) -> None:
        self.closed = True


class FakeWorkers:
    """Disk threads that work when the test tells them to."""

    event_descriptor = WORKERS

    def __init__(self) -> None:
        self.jobs: list[tuple[Vnode, DiskJob]] = []
        self.tasks: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
        self.results: list[Result] = []
        self.ended: list[Exception | None] = []

    def submit(self, vnode: Vnode, job: DiskJob) -> None:
        self.jobs.append((vnode, job))

    def grow(self, count: int) -> None:
        pass

    def submit_task(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        self.tasks.append((work, done))

    def take_results(self) -> list[Result]:
        results, self.results = self.results, []
        return results

    def work(self) -> None:
        jobs, self.jobs = self.jobs, []
        for vnode, job in jobs:
            error: DiskError | None = None
            try:
                job.run()
            except DiskError as failure:
                error = failure
            self.results.append(Finished(vnode, job, error, 0))
        tasks, self.tasks = self.tasks, []
        for work, done in tasks:
            work()
            self.results.append(TaskDone(done, None))

    def break_task(self, error: Exception) -> None:
        """Report a task that has met an error of our own."""
        self.results.append(TaskDone(self.ended.append, error))


class Loop:
    """A reactor of a simulated broker."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.gateway = Gateway(**settings)
        self.epoll = LoopEpoll()
        self.workers = FakeWorkers()
        self.listener = FakeListener([])
        self.clock_ns = 0
        self.gateway.broker.stats.clock_ns = lambda: self.clock_ns
        self.gateway.broker.stats.turns.cpu_ns = lambda: self.clock_ns
        listening: Any = self.listener
        workers: Any = self.workers
        with monkeypatch.context() as patched:
            patched.setattr(select, "epoll", lambda: self.epoll)
            self.reactor = Reactor(
                self.gateway.broker,
                listeners=[Listener(listening, Endpoint("127.0.0.1", 9092), None)],
                workers=workers,
                now_ms=lambda: self.gateway.now_ms,
                wall_ms=lambda: self.gateway.now_ms,
                connection_room=1_000,
            )

    def connect(self, host: str = "10.0.0.1") -> FakeSocket:
        """Let a client connect, and return its socket."""
        self.listener.waiting.append(host)
        self.turn((self.listener, select.EPOLLIN))
        return self.listener.accepted[-1]

    def turn(self, *events: tuple[FakeSocket | FakeListener, int]) -> None:
        """Run one turn in which these sockets are ready, and the threads' results if there are any."""
        self.epoll.events += [(sock.fileno(), mask) for sock, mask in events]
        if self.workers.results:
            self.epoll.events.append((WORKERS, select.EPOLLIN))
        self.reactor.turn()

    def work(self) -> None:
        """Let the threads work until nothing is left, and take in the results."""
        while self.workers.jobs or self.workers.tasks or self.workers.results:
            self.workers.work()
            self.turn()

    def interest(self, sock: FakeSocket) -> int:
        """Return the events for which the epoll watches a socket."""
        return self.epoll.watched[sock.fileno()]
