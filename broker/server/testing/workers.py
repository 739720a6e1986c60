"""Disk work of a broker in memory: done at once on the event loop, or later if a test wants a slow disk.

Results are announced through an eventfd, like those of threads, so a job ends in a later turn than it began.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

from broker.server.testing.faults import Faults
from broker.server.workers import DiskWorkers, Done, Finished, Result, SyncClock
from broker.storage.vnode import DiskJob, Vnode
from wal.jobs import CommitJob
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault

META = "meta"

After = Callable[[int, Callable[[], None]], None]
"""Calls its second argument after so many milliseconds of the broker's time."""


class RamWorkers(DiskWorkers):
    """Disk workers without threads; `fail_sync` and `slow_disk` meet commits of records, in order."""

    def __init__(self, disk: MemoryDisk, faults: Faults, after: After) -> None:
        super().__init__(0)
        self._disk = disk
        self._faults = faults
        self._after = after
        # Jobs that a slow disk has not begun yet, oldest first.
        self._waiting: list[tuple[Vnode, DiskJob, bool]] = []
        self._sync_fails = False
        disk.faults[:] = [self._fault]

    def grow(self, count: int) -> None:
        """Do nothing: there are no threads, however many vnodes there are."""

    def submit(self, vnode: Vnode, job: DiskJob) -> None:
        """Run the job now, or when the slow disk gets to it."""
        met = self._faults.of_commit() if isinstance(job, CommitJob) and vnode.database != META else []
        entry = (vnode, job, any(fault.kind == "fail_sync" for fault in met))
        delay_ms = sum(fault.delay_ms for fault in met)
        if not delay_ms:
            self._run(*entry)
            return
        self._waiting.append(entry)
        self._after(delay_ms, lambda: self._begin(entry))

    def submit_task(self, work: Callable[[], object], done: Done) -> None:
        """Do the work now; the loop calls `done(error)` later."""
        self._run_task(work, done)

    def hurry(self) -> None:
        """Begin all jobs that wait for a slow disk, as the broker is stopping cleanly."""
        for entry in self._waiting[:]:
            self._begin(entry)

    def stop(self) -> list[Result]:
        """Take no more work and drop jobs not begun; return the results not taken yet."""
        self._waiting.clear()
        return super().stop()

    def _begin(self, entry: tuple[Vnode, DiskJob, bool]) -> None:
        if entry in self._waiting:
            self._waiting.remove(entry)
            self._run(*entry)

    def _run(self, vnode: Vnode, job: DiskJob, sync_fails: bool) -> None:
        error: Exception | None = None
        clock = SyncClock(job)
        self._sync_fails = sync_fails
        try:
            job.run()
        except Exception as failure:  # noqa: BLE001  (as in a thread)
            error = failure
        self._sync_fails = False
        self._tell(Finished(vnode, job, error, *clock.durations_ns()))

    def _fault(self, call: Call) -> Fault | None:
        return Fault(errno=errno.EIO) if self._sync_fails and call.kind == "sync" else None
