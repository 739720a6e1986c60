"""The loop's side of the work in threads: results come in and jobs go out, each for a share of a turn.

A frame of hundreds of batches takes some milliseconds when it is made, and as many when it counts, and
several logs may have one at the same moment.  What the share does not suffice for is left for the next turn:
results in their order, logs in turn, so that none is always the last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace
from broker.server.workers import DiskWorkers, Finished, Result, TaskDone
from broker.storage.vnode import Vnode
from wal.errors import LogDamaged
from wal.jobs import CommitJob

SHARE_NS: Final = 2_000_000
"""The time of a turn for results, and as much for jobs; the last one may exceed it."""

LOOK_NS: Final = 5_000_000
"""How often all logs are asked for work; in turns between, only those that have appends are.

A log needs 6 µs to say that it has none, which was a third of a turn with 16 vnodes and small requests.
"""

LATE_NS: Final = 50_000_000
"""All logs are asked in one go when commits have taken every turn's share for so long."""


class DiskExchange:
    """The results of threads that are not acted on yet, and the logs that are asked for jobs."""

    def __init__(self, broker: Broker, workers: DiskWorkers) -> None:
        self._broker = broker
        self._turns = broker.stats.turns
        self._workers = workers
        self._results: deque[Result] = deque()
        # The log whose job was handed out last, if others were left for the next turn.
        self._left_after: Vnode | None = None
        self.look_at_all_ns = 0
        """When to ask all logs again."""
        self.looked_at_all = True
        """Whether the last time was for all."""

    @property
    def has_results(self) -> bool:
        """Whether results are left from the last turn."""
        return bool(self._results)

    @property
    def pending(self) -> bool:
        """Whether anything is left from the last turn."""
        return self._left_after is not None or bool(self._results)

    # --- results ---------------------------------------------------------------------------------------

    def take_some(self, now_ms: int) -> None:
        """Act on results of work in threads, for the share of a turn."""
        self._results += self._workers.take_results()
        clock_ns = self._turns.clock_ns
        ends_ns = clock_ns() + SHARE_NS
        while self._results:
            self._take(self._results.popleft(), now_ms)
            if clock_ns() >= ends_ns:
                return

    def take(self, results: Sequence[Result], now_ms: int) -> None:
        """Act on all results that are left, and on these."""
        self._results += results
        while self._results:
            self._take(self._results.popleft(), now_ms)

    def _take(self, result: Result, now_ms: int) -> None:
        try:
            self._take_in(result, now_ms)
        except Exception as error:  # noqa: BLE001  (the net)
            self._broker.internal_errors.note(ErrorPlace.LOOP, "the end of work in a thread", error)

    def _take_in(self, result: Result, now_ms: int) -> None:
        match result:
            case Finished(vnode, job, error, duration_ns, sync_ns):
                if isinstance(job, CommitJob):
                    self._count_commit(job, error, duration_ns, sync_ns)
                if error is not None:
                    # The log may begin at once to verify itself, and takes nothing before that.
                    self.look_at_all_ns = 0
                self._broker.job_done(vnode, job, error, now_ms)
            case TaskDone(done, error):
                if error is not None and not isinstance(error, OSError | LogDamaged):
                    self._broker.internal_errors.note(ErrorPlace.THREAD, "work in a thread", error)
                done(error)

    def _count_commit(self, job: CommitJob, error: Exception | None, took_ns: int, sync_ns: int) -> None:
        stats, batches = self._broker.stats, job.entry_count
        if error is None:
            stats.committed(duration_ns=took_ns, sync_ns=sync_ns, batches=batches, size_bytes=job.size_bytes)
        else:
            stats.commits_failed += 1

    # --- jobs ------------------------------------------------------------------------------------------

    def hand_out(self, now_ms: int) -> None:
        """Hand out commits for the share of a turn, and now and then all that the logs have to do."""
        turns = self._turns
        appended = self._in_turn(self._broker.vnodes.with_appends())
        left_after = None
        if appended:
            turns.enter(turns.disk)
            left_after = self._begin_commits(appended, now_ms)
        due_ns = self.look_at_all_ns if left_after is None else self.look_at_all_ns + LATE_NS
        self.looked_at_all = turns.began_ns >= due_ns
        if self.looked_at_all:
            turns.enter(turns.disk)
            self._look_at_all(now_ms)
            left_after = None
        self._left_after = left_after

    def _in_turn(self, appended: list[Vnode]) -> list[Vnode]:
        """Return these logs in the order of last time, from the first that was left."""
        if self._left_after in appended:
            first = appended.index(self._left_after) + 1
            return appended[first:] + appended[:first]
        return appended

    def _begin_commits(self, appended: list[Vnode], now_ms: int) -> Vnode | None:
        """Begin what there is time for; return the log whose commit was the last, if others are left."""
        clock_ns = self._turns.clock_ns
        ends_ns = clock_ns() + SHARE_NS
        for vnode, job in self._broker.take_jobs(now_ms, appended):
            self._workers.submit(vnode, job)
            if clock_ns() >= ends_ns and vnode is not appended[-1]:
                return vnode
        return None

    def _look_at_all(self, now_ms: int) -> None:
        self._workers.grow(self._broker.disk_threads)
        if self._turns.began_ns:
            self.look_at_all_ns = self._turns.began_ns + LOOK_NS
        for vnode, job in self._broker.take_jobs(now_ms):
            self._workers.submit(vnode, job)
