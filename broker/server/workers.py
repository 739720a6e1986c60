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
from typing import Final, NamedTuple

from broker.server.thread_pool import ThreadPool
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


JOURNAL_THREADS: Final = 3
"""Threads that send what acknowledgements wait for, one chunk each (wal/remote/journal.py)."""


READ_THREADS: Final = 4
"""Threads that read blocks from an object store: 160 MB/s, if it gives 40 to one request."""


PEER_THREADS: Final = 6
"""Threads that wait for the answers of one other node, each with a connection of its own."""


AUDIT_STOP_SECONDS: Final = 2.0


class DiskWorkers:
    """A pool of threads that grows with the number of vnodes; it has one job of a vnode at a time."""

    def __init__(self, count: int) -> None:
        self.event_descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._jobs = ThreadPool("kawal-disk")
        # Long work has threads of its own: a commit must not wait behind it.
        self._tasks = ThreadPool("kawal-work")
        # Other machines may be slow or away.
        self._outside = ThreadPool("kawal-outside")
        # An object store takes whole segments, for as long as it likes.
        self._remote = ThreadPool("kawal-remote")
        # Acknowledgements wait for these, which must not wait for a whole segment.
        self._journal = ThreadPool("kawal-journal")
        self._heartbeats = ThreadPool("kawal-heartbeat")
        # A node of this data directory may hang, or be about to start again: the others are asked meanwhile.
        self._peers: dict[int, ThreadPool] = {}
        # Clients wait for what is read back, and not for what is copied.
        self._reads = ThreadPool("kawal-remote-reads")
        # The audit log may lie on a disk of its own, which may hang.
        self._audit = ThreadPool("kawal-audit")
        self._results: deque[Result] = deque()
        # Whether a thread has woken the loop, or is about to, for results that it has not begun to take.
        self._is_woken = False
        # Another machine may answer after the end, when the descriptor's number is that of another file.
        self._ending = threading.Lock()
        self._ended = False
        self.grow(count)

    def grow(self, count: int) -> None:
        """Start threads until there are at least `count`."""
        self._jobs.grow(count)

    def submit(self, vnode: Vnode, job: DiskJob) -> None:
        """Run the job in a thread; its result arrives as a `Finished`."""
        self._jobs.submit(lambda: self._run_job(vnode, job))

    def submit_task(self, work: Callable[[], object], done: Done) -> None:
        """Run `work` in a thread, then `done(error)` on the loop."""
        self._tasks.grow(min(len(self._tasks) + 1, TASK_THREADS))
        self._tasks.submit(lambda: self._run_task(work, done))

    def submit_outside(self, work: Callable[[], object], done: Done) -> None:
        """Run `work`, which waits for another machine, in the one thread for such, then `done(error)`."""
        self._outside.grow(1)
        self._outside.submit(lambda: self._run_outside(work, done))

    def submit_remote(self, work: Callable[[], object], done: Done) -> None:
        """Run `work`, which waits for an object store, in the one thread for such, then `done(error)`."""
        self._remote.grow(1)
        self._remote.submit(lambda: self._run_outside(work, done))

    def submit_remote_read(self, work: Callable[[], object], done: Done) -> None:
        """Run `work`, which reads from an object store, in a thread of those for such, then `done(error)`."""
        self._reads.grow(min(len(self._reads) + 1, READ_THREADS))
        self._reads.submit(lambda: self._run_outside(work, done))

    def submit_journal(self, work: Callable[[], object], done: Done) -> None:
        """Run `work`, a chunk for an object store, in one of the threads for such, then `done(error)`."""
        self._journal.grow(min(len(self._journal) + 1, JOURNAL_THREADS))
        self._journal.submit(lambda: self._run_outside(work, done))

    def submit_heartbeat(self, work: Callable[[], object], done: Done) -> None:
        """Run `work`, a sign of life that must not wait for anything else, then `done(error)`."""
        self._heartbeats.grow(1)
        self._heartbeats.submit(lambda: self._run_outside(work, done))

    def submit_peer(self, node_id: int, work: Callable[[], object], done: Done) -> None:
        """Run `work`, which waits for another node, in a thread of those for that, then `done(error)`."""
        pool = self._peers.get(node_id)
        if pool is None:
            pool = self._peers[node_id] = ThreadPool(f"kawal-node-{node_id}")
        pool.grow(min(len(pool) + 1, PEER_THREADS))
        pool.submit(lambda: self._run_outside(work, done))

    def submit_audit(self, work: Callable[[], object], done: Done) -> None:
        """Run `work`, which writes the audit log, in the one thread for that, then `done(error)`."""
        self._audit.grow(1)
        self._audit.submit(lambda: self._run_outside(work, done))

    def take_results(self) -> list[Result]:
        """Take the results of all work that has ended since the last call."""
        try:
            os.eventfd_read(self.event_descriptor)
        except BlockingIOError:
            return []
        self._is_woken = False
        return self._take_all()

    def _take_all(self) -> list[Result]:
        results = []
        while self._results:
            results.append(self._results.popleft())
        return results

    def stop(self) -> list[Result]:
        """End the threads once their work is done, and return the results not taken yet.

        What waits for another machine is left to itself, and so is a write of the audit log that hangs.
        """
        self._jobs.stop()
        self._tasks.stop()
        self._outside.end()
        self._remote.end()
        self._journal.end()
        self._heartbeats.end()
        for pool in self._peers.values():
            pool.end()
        self._reads.end()
        self._audit.stop(within_seconds=AUDIT_STOP_SECONDS)
        with self._ending:
            self._ended = True
            os.close(self.event_descriptor)
        return self._take_all()

    def _run_job(self, vnode: Vnode, job: DiskJob) -> None:
        clock = SyncClock(job)
        error = _error_of(job.run)
        self._tell(Finished(vnode, job, error, *clock.durations_ns()))

    def _run_outside(self, work: Callable[[], object], done: Done) -> None:
        result = TaskDone(done, _error_of(work))
        with self._ending:
            if not self._ended:
                self._tell(result)

    def _run_task(self, work: Callable[[], object], done: Done) -> None:
        self._tell(TaskDone(done, _error_of(work)))

    def _tell(self, result: Result) -> None:
        self._results.append(result)
        if not self._is_woken:
            # Two threads may both come here; that none does is impossible, as the loop takes the flag down
            # before it takes results.
            self._is_woken = True
            self.wake()

    def wake(self) -> None:
        """Make the event descriptor readable, so that the event loop takes a turn."""
        os.eventfd_write(self.event_descriptor, 1)


def _error_of(work: Callable[[], object]) -> Exception | None:
    """Run a piece of work, and return its error, which the loop judges; the thread goes on."""
    try:
        work()
    except Exception as failure:  # noqa: BLE001
        return failure
    return None
