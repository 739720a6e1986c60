"""A vnode's log: batches of many streams, appended, committed together, and read by stream and offset.

The event loop is the only writer: no method but `SyncJob.run` blocks for long, and none waits.

    append ... append      join the open frame; nothing is promised yet
    job = begin_sync()     closes the open frame; what is appended from now on joins the next one
    job.run()              in a thread: one write, one fdatasync (and the roll to a new segment when due)
    synced(job)            readers may see the frame; its batches may be acknowledged
    written(job)           with durability `remote` first this; `synced` when the store has the frame, too
    failed(job, error)     everything not acknowledged is taken back; the log refuses appends until it has
                           been reopened, which the next `begin_sync` attempts

`begin_maintenance` gives out background work: indexes of sealed segments, checkpoints, the witness, room for
the next segment, deletions. It may run beside a SyncJob, in another thread.
"""

from __future__ import annotations

from dataclasses import replace

from wal.checkpoint import write_witness
from wal.commit import (
    Advanced,
    begin_commit,
    begin_seal,
    commit_done,
    roll_back,
    roll_done,
    waits_for_store,
)
from wal.disk import Disk
from wal.disk_errors import DiskFull
from wal.errors import LogDamaged, LogFailed
from wal.jobs import CommitJob, Phase, ReopenJob, SyncJob
from wal.log_settings import LogSettings
from wal.maintenance import RETRY_MS, Job, Maintenance, Marks
from wal.options import LogOptions
from wal.recovery import Recovery
from wal.recovery_report import RecoveryReport
from wal.segment import ANOTHER_HISTORY, DELETED_SUFFIX, REPAIRED, TEMPORARY
from wal.state import LogState
from wal.stream import epoch_after_loss
from wal.whole_files import read_file, remove_durably

NEVER_MS = 2**62
"""After every moment there will be."""

EXPIRY_MS = 10_000
"""The interval at which a slice of the idle producers is examined."""


class VnodeLog(LogSettings):
    """The log of one vnode; made with `open`."""

    def __init__(self, state: LogState, recovery: RecoveryReport, marks: Marks) -> None:
        super().__init__(state)
        self.recovery = recovery
        self._job: SyncJob | None = None
        self._last_commit_ms = self._last_seal_ms = state.now_ms
        self._unsealed = marks.unsealed
        self._maintenance = Maintenance(state, marks)
        self.storage = state, self._maintenance
        """The parts that `wal.storage_state` describes."""
        self._next_expiry_ms = self._reopen_at_ms = state.now_ms
        self._stop_error: BaseException | None = None

    @classmethod
    def open(cls, disk: Disk, directory: str, *, options: LogOptions, now_ms: int) -> VnodeLog:
        """Recover the log in `directory`, which must exist; `recovery` of the result is the report.

        A damaged log opens too: it serves records below the damage and refuses appends.
        Raises: DiskError when the directory cannot be read or written.
        """
        recovery = Recovery(disk, directory, options, now_ms)
        state = recovery.run()
        if recovery.report.last_wall_ms:
            # A clock that is wrong at the start must not get into the frames before it is judged.
            state.wall_offset_ms = min(state.wall_offset_ms, recovery.report.last_wall_ms - now_ms)
        log = cls(state, recovery.report, recovery.marks())
        deleted = [name for name in disk.list(directory) if name.endswith(DELETED_SUFFIX)]
        if deleted:
            log._maintenance.delete_later([state.path(name) for name in deleted], now_ms)
        if state.refusal() is None:
            log._maybe_begin_another_history(now_ms, now_ms + options.wall_offset_ms)
        return log

    def _maybe_begin_another_history(self, now_ms: int, wall_ms: int) -> None:
        """Begin a leader epoch in every stream, durably, when acknowledged records may be missing.

        A power failure may have taken them, or they are younger than what was restored.  Consumers that have
        read beyond the offsets that are given out again learn of it (KIP-320).  Raises: DiskError.
        """
        report, options = self.recovery, self._state.options
        disk, path = self._state.disk, self._state.path(ANOTHER_HISTORY)
        if disk.exists(path):
            if read_file(disk, path) == REPAIRED:
                self.fill_lost_offsets()
            self.begin_leader_epoch(lambda epoch: epoch_after_loss(epoch, wall_ms))
        elif options.durability == "os" and not (report.clean or report.is_new):
            self.begin_leader_epoch(lambda epoch: epoch + 1)  # all were synced, so it is new
        else:
            return
        self._state.options = replace(options, durability="disk")
        while (job := self.begin_sync(now_ms)) is not None:
            job.run()
            self.synced(job, now_ms)
        self._state.options = options
        remove_durably(self._state.disk, self._state.directory, ANOTHER_HISTORY)

    @property
    def state(self) -> str:
        """The state: `OPEN`, `FAILED`, `DAMAGED` or `CLOSED`."""
        if self._state.damage is not None:
            return "DAMAGED"
        if self._state.failure is not None:
            return "FAILED"
        if self._state.closed:
            return "CLOSED"
        return "DAMAGED" if self._state.scrub_damages else "OPEN"

    @property
    def damage(self) -> LogDamaged | None:
        """The damage, if there is any: a log with damage takes no appends."""
        return self._state.damage or next(iter(self._state.scrub_damages), None)

    def damage_from(self, version: int) -> LogDamaged | None:
        """Return the damage in segments with entries from `version` on, or in the log as a whole."""
        found = (segment.damage for segment in self._state.segments.all if segment.next_version > version)
        return self._state.damage or next((damage for damage in found if damage is not None), None)

    @property
    def scrub_damages(self) -> list[LogDamaged]:
        """The damage found in sealed segments: reads of damaged bytes raise, all others work."""
        return self._state.scrub_damages

    @property
    def open_frame_bytes(self) -> int:
        """The number of bytes appended but not yet given to a job."""
        return sum(frame.size_bytes for frame in self._state.pending)

    @property
    def tail_cache_bytes(self) -> int:
        """The memory of recent batches, for readers at the end."""
        return self._state.tail.size_bytes

    def begin_sync(self, now_ms: int) -> SyncJob | None:
        """Turn the open frame into a job, when there is something to write and no job is under way."""
        state = self._state
        state.now_ms = now_ms
        if self._job is not None or state.closed or state.damage is not None:
            return None
        if self._stop_error is not None and state.unstored:
            return None  # those before it count first
        if state.failure is not None:
            self._job = self._begin_reopen() if now_ms >= self._reopen_at_ms else None
        elif state.pending:
            if state.unstored and waits_for_store(state, state.pending[0], now_ms):
                return None
            self._job = begin_commit(state, state.pending[0], now_ms)
            if state.pending.popleft() is self._open:
                self._open = None
        elif self._seal_due(now_ms):
            self._job = begin_seal(state, now_ms)
        return self._job

    def _seal_wanted(self) -> bool:
        """Return whether frames need a seal; the footer of a roll that got no further has sealed them too."""
        state, active = self._state, self._state.active
        return self._unsealed and not state.unstored and active is not None and not active.sealed

    def _seal_due(self, now_ms: int) -> bool:
        options = self._state.options
        return (
            self._seal_wanted()
            and now_ms >= self._last_commit_ms + options.seal_idle_ms
            and now_ms >= self._last_seal_ms + options.seal_interval_ms
        )

    def written(self, job: CommitJob, now_ms: int) -> None:
        """Take back a job whose `run` returned; in their order, commits are `synced` once they are stored."""
        assert job is self._job
        self._job = None
        state = self._state
        state.now_ms = now_ms
        state.unstored.append(job)

    def synced(self, job: SyncJob, now_ms: int) -> list[Advanced]:
        """Take back a job whose `run` returned; return the streams that advanced."""
        state = self._state
        if state.unstored:
            assert job is state.unstored[0]
            state.unstored.popleft()
        else:
            assert job is self._job
            self._job = None
        state.now_ms = now_ms
        if isinstance(job, ReopenJob):
            self._reopened(job)
            return []
        assert isinstance(job, CommitJob)
        advanced = commit_done(state, job)
        if job.built is None:
            self._last_seal_ms = now_ms
            self._unsealed = False
        else:
            self._last_commit_ms = now_ms
            self._unsealed = not job.closes
            self._maintenance.wrote(job.size_bytes, job.built.header.entry_count)
        if job.free_bytes is not None:
            state.full = job.free_bytes < state.options.min_free_bytes
        self._maybe_stop()
        return advanced

    def failed(self, job: SyncJob, error: BaseException, now_ms: int) -> None:
        """Take back a job whose `run` raised: everything unacknowledged is rolled back and gets error 56.

        When only the room for a new segment was missing, the log stays open and refuses ordinary appends with
        DiskFull; after any other failure it refuses all appends until it has been verified against the disk.
        """
        assert job is self._job
        assert not self._state.unstored, "those before it count first"
        self._job = None
        state = self._state
        state.now_ms = now_ms
        no_room = isinstance(error, DiskFull)
        state.full = state.full or no_room
        frames = []
        if isinstance(job, CommitJob):
            roll_done(state, job)
            frames = [job.built.frame] if job.built is not None else []
        else:
            self._reopen_at_ms = now_ms + RETRY_MS
        roll_back(state, frames)
        self._open = None
        if not (no_room and job.phase is Phase.PREPARE and isinstance(job, CommitJob)):
            self._fail(error)

    def stop(self, error: BaseException) -> None:
        """Stop after an error of our own: everything unacknowledged is rolled back and gets error 56.

        The log is verified against the disk before it takes anything again, as after a failed sync.
        """
        self._stop_error = error
        self._maybe_stop()

    def quarantine(self, error: BaseException) -> None:
        """Stop until the next start, which recovers the log from the disk: what is in memory may be wrong."""
        self._job = None
        self._fail(error)
        self._reopen_at_ms = NEVER_MS

    def _fail(self, error: BaseException) -> None:
        state = self._state
        roll_back(state, [])
        self._open = None
        state.failure = LogFailed(
            f"{state.directory}: {error}; nothing is acknowledged until the log has been verified "
            "against the disk"
        )
        self._refused = state.refusal()

    def _begin_reopen(self) -> ReopenJob:
        state = self._state
        active = state.active
        segment = active if active is not None and not active.sealed else None
        return ReopenJob(
            disk=state.disk,
            directory=state.directory,
            segment=segment,
            file=segment.shared if segment is not None else None,
            temporary_path=state.path(TEMPORARY),
            trust_cache=state.options.durability == "os",
            keep={known.base_version for known in state.segments.all},
        )

    def _reopened(self, job: ReopenJob) -> None:
        state = self._state
        state.failure = None
        if job.free_bytes is not None:
            state.full = job.free_bytes < state.options.min_free_bytes
        if job.problem:
            assert job.segment is not None
            state.damage = LogDamaged(
                job.segment.path, job.damage_position, job.segment.end_position, job.problem
            )
        elif job.segment is not None:
            job.segment.shared = job.fresh
            state.next_sequence = state.durable_sequence = job.segment.next_sequence
        self._refused = state.refusal()

    def begin_maintenance(self, now_ms: int) -> Job | None:
        """Return the most urgent maintenance job, when one is due and none is under way."""
        return self._maintenance.begin(now_ms)

    def maintained(self, job: Job, now_ms: int) -> None:
        """Take back a maintenance job whose `run` returned."""
        self._maintenance.done(job, now_ms)
        self._refused = self._state.refusal()

    def maintenance_failed(self, job: Job, error: BaseException, now_ms: int) -> None:
        """Take back a maintenance job whose `run` raised; it is retried later."""
        if self._maintenance.failed(job, now_ms):
            self._stop_error = error
            self._maybe_stop()

    def _maybe_stop(self) -> None:
        """Stop after a failed sync outside a SyncJob, once no SyncJob is under way."""
        if self._stop_error is None or self._job is not None or self._state.unstored:
            return
        error, self._stop_error = self._stop_error, None
        self._fail(error)

    def retire_segments(self) -> int:
        """Announce the segments that no stream needs; once that is synced, maintenance deletes them.

        Returns their number. Call it after log starts have moved; a frame and a job must follow. Call it
        again while `retirement_goes_on`, as one call opens few indexes.
        """
        return self._announce_retired(self._maintenance.retirable_segments())

    @property
    def retirement_goes_on(self) -> bool:
        """Whether `retire_segments` has more segments to look at."""
        return self._maintenance.search.goes_on

    @property
    def retirement_waits(self) -> bool:
        """Whether segments that no stream needs are kept until a checkpoint has moved past them."""
        return self._maintenance.checkpoint_wanted

    def retire_below(self, version: int) -> int:
        """Announce the segments that end below `version`, whatever they hold; return their number."""
        return self._announce_retired(self._maintenance.segments_below(version))

    def next_deadline(self) -> int | None:
        """Return when to call `begin_sync` and `begin_maintenance` again although nothing is appended."""
        if self._state.failure is not None:
            return self._reopen_at_ms
        if self._state.stop() is not None:
            return None  # neither of them has anything to do
        deadline = self._maintenance.next_deadline()
        if self._seal_wanted():
            options = self._state.options
            seal = max(
                self._last_commit_ms + options.seal_idle_ms, self._last_seal_ms + options.seal_interval_ms
            )
            deadline = seal if deadline is None else min(deadline, seal)
        return deadline

    def tick(self, now_ms: int) -> None:
        """Do the timed work that needs no disk: expire idle producers."""
        self._state.now_ms = now_ms
        if now_ms >= self._next_expiry_ms:
            self._next_expiry_ms = now_ms + EXPIRY_MS
            self._state.producers.expire(now_ms)

    def close(self, now_ms: int) -> list[Advanced]:
        """Stop cleanly: commit the open frame, seal, write checkpoint and witness; block until that is done.

        No job may be under way. Returns the streams that advanced. A failed or damaged log is left as it is.
        """
        assert self._job is None
        assert self._maintenance.job is None
        advanced: list[Advanced] = []
        state, lacks_store = self._state, self._state.lacks_store
        while state.unstored:
            # The next start takes them for written, and brings them into the store.
            advanced += self.synced(state.unstored[0], now_ms)
        while state.stop() is None and (state.pending or self._seal_wanted()):
            job = self.begin_sync(now_ms) or self._force_seal(now_ms)
            try:
                job.run()
            except OSError as error:
                self.failed(job, error, now_ms)
            else:
                advanced += self.synced(job, now_ms)
        state.remove_spare()
        if state.stop() is None:
            if not lacks_store:  # it would count for the next start
                self._maintenance.make_clean_checkpoint().run()
            write_witness(state.disk, state.directory, self._maintenance.make_witness())
        state.closed = True
        self._refused = state.refusal()
        return advanced

    def abandon(self) -> None:
        """Close the log without writing: its directory is about to be removed.  No job may be under way."""
        assert self._job is None
        assert self._maintenance.job is None
        state = self._state
        state.close_spare()
        state.unstored.clear()
        state.pending.clear()
        state.closed = True
        self._refused = state.refusal()

    def _force_seal(self, now_ms: int) -> SyncJob:
        self._job = begin_seal(self._state, now_ms)
        return self._job
