"""A vnode at work: its log, the jobs in flight and the answers that wait for them.

    append --> open frame --begin_jobs--> commit in a thread --job_done--> answers leave, readers wake
                                          with durability `remote`: job_done --> journal --stored--> the same

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
from wal.jobs import CommitJob, SyncJob
from wal.log import VnodeLog
from wal.maintenance import Job
from wal.maintenance_jobs import ScrubJob

logger = logging.getLogger("kawal.broker")

SETTLE_SHARE_NS: Final = 2_000_000
"""The time for telling the waiters of a commit in one go; 1,000 of them may wait for the same."""

DiskJob = SyncJob | Job
"""Something with `run`, for a thread: a commit or maintenance."""


class Journal(Protocol):
    """The way of commits of durability `remote` once they are on the disk."""

    def written(self, vnode: Vnode, job: CommitJob, now_ms: int) -> None:
        """Take a commit; once it is stored, `Vnode.stored` is called, commit by commit in their order."""

    def forget(self, vnode: Vnode) -> None:
        """Send nothing more of a vnode that was dropped, or has stopped."""

    def look_behind(self) -> None:
        """Refuse appends while too much waits: the next commit of a log waits for those on their way."""


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
        "_failure",
        "_lost",
        "_maintenance",
        "_settled",
        "_waiters",
        "database",
        "index",
        "is_confirmed",
        "journal",
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
        self.journal: Journal | None = None
        """With it, commits of a log of durability `remote` count once it has them."""
        self.is_confirmed = True
        """False: an earlier process left frames that the store may lack: none is safe, or shown, before
        `confirm`."""
        self._commit: SyncJob | None = None
        self._failure: Exception | None = None
        """Why the commit in flight failed, while those before it are still to be stored."""
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
        """Tell the waiter when every version up to and including `version` is safe, maybe at once.

        It is told after all that wait for earlier versions.
        """
        if version >= self.log.next_version or not self.is_confirmed:
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
        """True while a job is in flight; commits that the store does not have yet are none."""
        is_committing = self._commit is not None and self._failure is None
        return is_committing or self._maintenance is not None

    def next_deadline(self) -> int | None:
        """Return when to ask the log for work although nothing is appended; None while it is at work."""
        is_idle = self._commit is None and self._maintenance is None
        return self.log.next_deadline() if is_idle else None

    def begin_jobs(self, now_ms: int, *, maintains: bool = True) -> Iterator[DiskJob]:
        """Yield the disk work that can begin now, and if it `maintains`, what is in no hurry, too."""
        if self._commit is None and (commit := self.log.begin_sync(now_ms)) is not None:
            self._commit = commit
            yield commit
        elif self._commit is None and self.journal is not None and self.log.unstored:
            self.journal.look_behind()
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
        if job is not self._commit:
            return []  # the log has stopped meanwhile
        if error is not None:
            self._failure = error
            if not self.log.unstored:
                self._failed(now_ms)
            return []
        self._commit = None
        if self._goes_on(job):
            assert isinstance(job, CommitJob)
            assert self.journal is not None
            self.log.written(job, now_ms)
            self.journal.written(self, job, now_ms)
            return []
        return self._counts(job, now_ms)

    def _goes_on(self, job: SyncJob) -> bool:
        """Whether a commit that is on the disk must reach the store before it counts, unlike a seal."""
        if self.journal is None or not isinstance(job, CommitJob) or job.built is None:
            return False
        # The class may have changed since the job began: it must not overtake those before it, nor be in
        # the store before it is synced.
        return bool(self.log.unstored) or (job.needs_sync and self.log.options.durability == "remote")

    def stored(self, job: CommitJob, now_ms: int) -> list[Advanced]:
        """Learn that the store has a commit; return the streams that have more to read, as `job_done`."""
        if not self.log.unstored or self.log.unstored[0] is not job:
            return []  # the log has stopped meanwhile
        advanced = self._counts(job, now_ms)
        if self._failure is not None and not self.log.unstored:
            self._failed(now_ms)
        return advanced

    def _failed(self, now_ms: int) -> None:
        job, error = self._commit, self._failure
        assert job is not None
        assert error is not None
        self._commit = self._failure = None
        self.log.failed(job, error, now_ms)
        self._fail()

    def _counts(self, job: SyncJob, now_ms: int) -> list[Advanced]:
        """Apply a commit: its records can be read from now on, and what waits for them is settled."""
        advanced = self.log.synced(job, now_ms)
        self._settle_safe()
        if self.log.state == "FAILED":
            # A sync beside the commit had failed: the log stops now, and later frames are taken back.
            self._fail()
        return advanced

    def confirm(self) -> list[Advanced]:
        """Learn that the store has all that was there at the start; return the streams that it shows now."""
        self.is_confirmed = True
        self._settle_safe()
        return self.log.show_replayed()

    def _settle_safe(self) -> None:
        """Settle all whose appends are safe."""
        waiters = self._waiters
        while self.is_confirmed and waiters and waiters[0][0] < self.log.next_version:
            self._settled.append((waiters.popleft()[1], None))

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
        if self._failure is not None:
            self.quarantine(self._failure)
        self.log.abandon()
        self._fail()

    def before_close(self, now_ms: int) -> None:
        """Take back a commit that has failed, as those before it will not be stored any more."""
        while self._failure is not None:
            self.stored(self.log.unstored[0], now_ms)

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
        self._commit = self._failure = None
        self.log.quarantine(error)
        if self.journal is not None:
            self.journal.forget(self)  # the next start brings into the store what is on the disk

    def crashed(self, error: Exception) -> None:
        """Stop the log after an error of our own; it is verified against the disk before it goes on."""
        self.log.stop(error)
        self._fail()
