"""Threads that run disk jobs and hand the results back to the event loop.

A job touches only its own data and files, so the threads share nothing with the loop except two queues.
Results are announced through an eventfd that the reactor's epoll watches: one wake-up takes all of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

from broker.storage.vnode import DiskJob, Vnode
from wal.jobs import CommitJob

Done = Callable[[Exception | None], None]
"""Called on the event loop when work in a thread has ended, with its error."""


class Finished(NamedTuple):
    """A job that has ended, with `error` if it failed."""

    vnode: Vnode
    job: DiskJob
    error: Exception | None
    duration_ns: int
    sync_ns: int = 0
    """The part of the duration that a commit's sync took."""


class TaskDone(NamedTuple):
    """A piece of blocking work, other than a job, that has ended."""

    done: Done
    error: Exception | None


class SyncClock:
    """Measures a job, and the sync of a commit separately."""

    __slots__ = ("_began_ns", "_written_ns")

    def __init__(self, job: DiskJob) -> None:
        self._written_ns = 0
        if isinstance(job, CommitJob):
            job.on_written = self._written
        self._began_ns = time.monotonic_ns()

    def _written(self) -> None:
        self._written_ns = time.monotonic_ns()

    def durations_ns(self) -> tuple[int, int]:
        """Return the durations of the whole job and of its sync."""
        now_ns = time.monotonic_ns()
        return now_ns - self._began_ns, now_ns - self._written_ns if self._written_ns else 0


Result = Finished | TaskDone


TASK_THREADS: Final = 2
"""Threads for work that is no disk job: large answers, lookups, compaction, cold files."""


class DiskWorkers:
    """A pool of threads that grows with the number of vnodes; it has one job of a vnode at a time."""

    def __init__(self, count: int) -> None:
        self.event_descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._queue: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        # Long work has threads of its own: a commit must not wait behind it.
        self._tasks: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._results: deque[Result] = deque()
        self._threads: list[threading.Thread] = []
        self._task_threads: list[threading.Thread] = []
        self.grow(count)

    def grow(self, count: int) -> None:
        """Start threads until there are at least `count`."""
        for number in range(len(self._threads), count):
            self._start(self._threads, self._queue, f"kawal-disk-{number}")

    def _start(
        self, threads: list[threading.Thread], queue: SimpleQueue[Callable[[], Any] | None], name: str
    ) -> None:
        thread = threading.Thread(target=self._work, args=(queue,), name=name, daemon=True)
        threads.append(thread)
        thread.start()

    def submit(self, vnode: Vnode, job: DiskJob) -> None:
        """Run the job in a thread; its result arrives as a `Finished`."""
        self._queue.put(lambda: self._run_job(vnode, job))

    def submit_task(self, work: Callable[[], object], done: Done) -> None:
        """Run `work` in a thread, then `done(error)` on the loop."""
        if len(self._task_threads) < TASK_THREADS:
            self._start(self._task_threads, self._tasks, f"kawal-work-{len(self._task_threads)}")
        self._tasks.put(lambda: self._run_task(work, done))

    def take_results(self) -> list[Result]:
        """Take the results of all work that has ended since the last call."""
        try:
            os.eventfd_read(self.event_descriptor)
        except BlockingIOError:
            return []
        return self._take_all()

    def _take_all(self) -> list[Result]:
        results = []
        while self._results:
            results.append(self._results.popleft())
        return results

    def stop(self) -> list[Result]:
        """End the threads once their work is done, and return the results not taken yet."""
        for _ in self._threads:
            self._queue.put(None)
        for _ in self._task_threads:
            self._tasks.put(None)
        for thread in [*self._threads, *self._task_threads]:
            thread.join()
        os.close(self.event_descriptor)
        return self._take_all()

    def _work(self, queue: SimpleQueue[Callable[[], Any] | None]) -> None:
        while (task := queue.get()) is not None:
            task()
            # What the task holds, such as a large answer, goes now and not with the next task.
            del task

    def _run_job(self, vnode: Vnode, job: DiskJob) -> None:
        error: Exception | None = None
        clock = SyncClock(job)
        try:
            job.run()
        except Exception as failure:  # noqa: BLE001  (the loop judges it, and the thread goes on)
            error = failure
        self._tell(Finished(vnode, job, error, *clock.durations_ns()))

    def _run_task(self, work: Callable[[], object], done: Done) -> None:
        error: Exception | None = None
        try:
            work()
        except Exception as failure:  # noqa: BLE001  (the loop judges it, and the thread goes on)
            error = failure
        self._tell(TaskDone(done, error))

    def _tell(self, result: Result) -> None:
        self._results.append(result)
        self.wake()

    def wake(self) -> None:
        """Make the event descriptor readable, so that the event loop takes a turn."""
        os.eventfd_write(self.event_descriptor, 1)
