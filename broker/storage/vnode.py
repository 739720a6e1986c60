"""A vnode at work: its log, the jobs in flight and the answers that wait for them.

    append --> open frame --begin_jobs--> commit in a thread --job_done--> answers leave, readers wake

acks=1 waits for the same as acks=all: an acknowledged record can be read at once, and no record can be read
that a crash may take back (docs/adr/0007-one-level-of-acknowledgement.md).

One commit is in flight at a time; what arrives meanwhile collects in the next frame (group commit).  Beside
it runs at most one maintenance job (indexes, checkpoints, deletions), for which no answer waits.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from broker.loop.internal_errors import ErrorPlace, InternalErrors
from broker.loop.timers import no_clock
from protocol.error_codes import ErrorCode
from wal.commit import Advanced
from wal.jobs import SyncJob
from wal.log import VnodeLog
from wal.maintenance import Job
from wal.maintenance_jobs import ScrubJob

logger = logging.getLogger("kawal.broker")

SETTLE_SHARE_NS: Final = 2_000_000
"""The time for telling the waiters of a commit in one go; 1,000 of them may wait for the same."""

DiskJob = SyncJob | Job
"""Something with `run`, for a thread: a commit or maintenance."""


class AppendWaiter(Protocol):
    """Something that is answered when its appends are as safe as it asked for."""

    def appended(self, vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Learn that the vnode is done with the appends: they are safe (None) or lost (the error)."""


class Vnode:
    """One vnode of a database.

    `last_version` is the version of the last append; every append up to it is safe once the log's
    `next_version` is above it.
    """

    __slots__ = (
        "_commit",
        "_lost",
        "_maintenance",
        "_settled",
        "_waiters",
        "database",
        "index",
        "last_version",
        "log",
        "repeated_records",
    )

    def __init__(self, log: VnodeLog, *, database: str, index: int) -> None:
        self.log = log
        self.database = database
        self.index = index
        self.last_version = log.next_version - 1
        self.repeated_records = 0
        """Records dropped since the start because they repeat others (deduplication.py)."""
        self._commit: SyncJob | None = None
        self._maintenance: Job | None = None
        self._waiters: deque[tuple[int, AppendWaiter]] = deque()
        # Waiters that are done and were not told yet, in order, and whether some of them have lost appends.
        self._settled: deque[tuple[AppendWaiter, ErrorCode | None]] = deque()
        self._lost = False

    @property
    def name(self) -> str:
        """`database/vnode-index`, the name of its directory."""
        return f"{self.database}/vnode-{self.index}"

    def wait_durable(self, version: int, waiter: AppendWaiter, now_ms: int) -> None:
        """Tell the waiter when every version up to and including `version` is on the disk, maybe at once.

        It is told after all that wait for earlier versions.
        """
        if version >= self.log.next_version:
            self._waiters.append((version, waiter))
        elif self._settled:
            self._settled.append((waiter, None))
        else:
            waiter.appended(self, None, now_ms)

    @property
    def has_settled(self) -> bool:
        """True while waiters that are done have not been told."""
        return bool(self._settled)

    @property
    def busy(self) -> bool:
        """True while a job is in flight."""
        return self._commit is not None or self._maintenance is not None

    def next_deadline(self) -> int | None:
        """Return when to ask the log for work although nothing is appended; None while it is at work."""
        return None if self.busy else self.log.next_deadline()

    def begin_jobs(self, now_ms: int, *, maintains: bool = True) -> Iterator[DiskJob]:
        """Yield the disk work that can begin now, and if it `maintains`, what is in no hurry, too."""
        if self._commit is None and (commit := self.log.begin_sync(now_ms)) is not None:
            self._commit = commit
            yield commit
        if (
            maintains
            and self._maintenance is None
            and (job := self.log.begin_maintenance(now_ms)) is not None
        ):
            self._maintenance = job
            yield job

    def job_done(self, job: DiskJob, error: Exception | None, now_ms: int) -> list[Advanced]:
        """End a job and return the streams that have more to read; `settle` tells the waiters."""
        if job is self._maintenance:
            self._maintenance = None
            self._end_maintenance(job, error, now_ms)
            return []
        assert job is self._commit
        self._commit = None
        if error is not None:
            self.log.failed(job, error, now_ms)
            self._fail()
            return []
        advanced = self.log.synced(job, now_ms)
        waiters = self._waiters
        while waiters and waiters[0][0] < self.log.next_version:
            self._settled.append((waiters.popleft()[1], None))
        if self.log.state == "FAILED":
            # A sync beside the commit had failed: the log stops now, and later frames are taken back.
            self._fail()
        return advanced

    def _end_maintenance(self, job: Job, error: Exception | None, now_ms: int) -> None:
        if error is None:
            self.log.maintained(job, now_ms)
            if isinstance(job, ScrubJob) and job.damage is not None:
                logger.error("vnode %s is damaged and refuses writes: %s", self.name, job.damage)
        else:
            self.log.maintenance_failed(job, error, now_ms)
            if self.log.state == "FAILED":
                self._fail()

    def abandon(self) -> None:
        """Close the log of a dropped database; nothing may be in flight, and nothing more is written."""
        self.log.abandon()
        self._fail()

    def _fail(self) -> None:
        """Settle every waiter: its appends are lost, all that was not acknowledged was taken back."""
        self.last_version = self.log.next_version - 1
        waiters, self._waiters = self._waiters, deque()
        self._lost = True
        self._settled += [(waiter, ErrorCode.KAFKA_STORAGE_ERROR) for _, waiter in waiters]

    def settle(self, errors: InternalErrors, now_ms: int, clock_ns: Callable[[], int] = no_clock) -> bool:
        """Tell the waiters that are done, in their order; one that raises does not keep the others waiting.

        Return True if some are left to a later call, as they have taken their share of the turn.  After a
        failure none is left: what comes next must not meet changes that are still to be undone.
        """
        ends_ns = clock_ns() + SETTLE_SHARE_NS
        settled = self._settled
        while settled:
            waiter, error = settled.popleft()
            try:
                waiter.appended(self, error, now_ms)
            except Exception as fault:  # noqa: BLE001  (the net)
                errors.note(ErrorPlace.REQUEST, f"what waited for vnode {self.name}", fault)
            if not self._lost and clock_ns() > ends_ns:
                return bool(settled)
        self._lost = False
        return False

    def quarantine(self, error: Exception) -> None:
        """Stop the log until the next start: a job has ended, and what is in memory may be wrong."""
        self._commit = None
        self.log.quarantine(error)

    def crashed(self, error: Exception) -> None:
        """Stop the log after an error of our own; it is verified against the disk before it goes on."""
        self.log.stop(error)
        self._fail()
