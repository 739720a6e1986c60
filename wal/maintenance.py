"""Background work, one job at a time, alongside the commits but on other files.

    due                                        job
    a segment was closed                       IndexJob        write its `.idx`
    a reader found an `.idx` damaged           RebuildJob      make the index again
    enough was written since the last one      CheckpointJob   then the scan at the next start begins there
    frames were synced since the last one      WitnessJob      at most every `witness_ms`; free space measured
    the active segment is 3/4 full             SpareJob        reserve room for the next one
    a segment was retired durably              RenameJob       to `*.deleted`, directory synced
    the store was proved to have a segment     TierJob         a record of that, synced; then as if retired
    `delete_delay_ms` after that               UnlinkJob
    durability `os`, `flush_ms` passed         FlushJob        fdatasync of the active segment
    there is none, and room enough             ReserveJob      take room for deletions on a full disk
    nothing else, and a segment's turn         ScrubJob        read a segment again, check every CRC

A failed job costs nothing but its work, except a failed sync of the log itself, which stops the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sized

from wal.checkpoint import Witness
from wal.index import ActiveIndex
from wal.locate import was_rebuilt
from wal.maintenance_jobs import (
    CheckpointJob,
    FlushJob,
    IndexJob,
    Job,
    Marks,
    RebuildJob,
    RenameJob,
    ReserveJob,
    ScrubJob,
    SpareJob,
    TierJob,
    UnlinkJob,
    WitnessJob,
)
from wal.options import recovery_ns
from wal.retiring import RetirableSearch, note_blocker
from wal.scrub import Scrubbing, damage_path
from wal.segment import DELETED_SUFFIX, SPARE, Segment, SharedFile
from wal.snapshot import Capture
from wal.state import LogState
from wal.tierable import may_leave

__all__ = ["RETRY_MS", "Job", "Maintenance", "Marks"]

CHECKPOINT_BYTE_NS = 100
"""A checkpoint follows once recovery would take ten times as long as to make it: about 10 ns a byte."""

CHECKPOINT_SMALL_BYTES = 64 << 10
"""What a checkpoint may have without that."""

RETRY_MS = 1_000
"""The pause after a failed job: tried again at once, it would usually fail again."""


class Maintenance:
    """The scheduler of background work: `begin` gives out a job, `done` and `failed` take it back."""

    def __init__(self, state: LogState, marks: Marks) -> None:
        self.state = state
        self.generation = marks.generation
        self.witness_generation = marks.witness_generation
        self.checkpoint_wanted = False
        self.cost_ns = marks.cost_ns
        """The time that recovery would need for what was written since the last checkpoint."""
        self._checkpoint_size_bytes = 0
        self.job: Job | None = None
        self._sequences = marks.sequences
        """The first frames after the two checkpoint generations: segments below the older may be deleted."""
        self._witnessed_sequence = marks.witnessed_sequence
        self._next_witness_ms = state.now_ms
        self._next_flush_ms = state.now_ms
        self.search = RetirableSearch(state)
        self._retry_at_ms: dict[type[Job], int] = {}
        """When to try kinds of jobs again that have failed; meanwhile the others go on."""
        self._capture: Capture | None = None
        """A checkpoint in the making; until it is done, no segment is renamed."""
        self._scrubbing = Scrubbing(state.now_ms, after=marks.scrubbed, clean=marks.clean)
        self._deleted: deque[tuple[int, list[str]]] = deque()
        """Deleted files, as (when to remove them, their paths)."""

    @property
    def mark_sequences(self) -> tuple[int, int]:
        """The first frames after the two checkpoint generations, older first."""
        return self._sequences

    def wrote(self, size_bytes: int, entries: int) -> None:
        """Count a committed frame."""
        self.cost_ns += recovery_ns(frames=1, entries=entries, size_bytes=size_bytes)

    def delete_later(self, paths: list[str], now_ms: int) -> None:
        """Remove these files after the delay."""
        self._deleted.append((now_ms + self.state.options.delete_delay_ms, paths))

    def begin(self, now_ms: int) -> Job | None:
        """Return the most urgent job that is due, when none is under way."""
        if self.job is not None or self.state.stop() is not None:
            return None
        makers: tuple[tuple[type[Job], Callable[[int], Job | None]], ...] = (
            (FlushJob, self._flush),
            (SpareJob, self._spare),
            (WitnessJob, self._witness),
            (RebuildJob, self._rebuild),
            (IndexJob, self._index),
            (CheckpointJob, self._checkpoint),
            (RenameJob, self._rename),
            (TierJob, self._tier),
            (UnlinkJob, self._unlink),
            (ReserveJob, self._reserve),
            (ScrubJob, self._scrub),
        )
        for kind, make in makers:
            if self._retry_at_ms.get(kind, now_ms) <= now_ms:
                self._retry_at_ms.pop(kind, None)
                self.job = make(now_ms)
                if self.job is not None:
                    break
        return self.job

    def _not_before(self, kind: type[Job], at_ms: int) -> int:
        """Return a job's time, put off while it waits after a failure."""
        return max(at_ms, self._retry_at_ms.get(kind, at_ms))

    def next_deadline(self) -> int | None:
        """Return when to call `begin` again although nothing was appended."""
        now_ms = self.state.now_ms
        deadlines = [at_ms for at_ms in self._retry_at_ms.values() if at_ms > now_ms]
        if self._capture is not None:
            deadlines.append(self._not_before(CheckpointJob, now_ms))
        if self.state.durable_sequence > self._witnessed_sequence or self.state.full:
            deadlines.append(self._not_before(WitnessJob, self._next_witness_ms))
        if self.state.next_sequence > self.state.durable_sequence:
            deadlines.append(self._not_before(FlushJob, self._next_flush_ms))
        if self._deleted:
            deadlines.append(self._not_before(UnlinkJob, self._deleted[0][0]))
        state = self.state
        waiting: tuple[tuple[type[Job], Sized], ...]
        waiting = (RebuildJob, state.to_rebuild), (TierJob, state.to_tier), (ScrubJob, state.suspects)
        deadlines += [self._not_before(kind, now_ms) for kind, segments in waiting if segments]
        if self._scrubbing.wants(self.state):
            deadlines.append(self._not_before(ScrubJob, self._scrubbing.due_ms))
        return min(deadlines, default=None)

    def _flush(self, now_ms: int) -> Job | None:
        state = self.state
        active = state.active
        if state.durable_sequence >= state.next_sequence or now_ms < self._next_flush_ms:
            return None
        assert active is not None
        return FlushJob(active.open_shared(state.disk), state.next_sequence)

    def _reserve(self, _now_ms: int) -> Job | None:
        reserve = self.state.reserve
        if reserve is None or reserve.held or self.state.full:
            return None
        return ReserveJob(reserve, self.state.options.reserve_bytes)

    def _spare(self, _now_ms: int) -> Job | None:
        state = self.state
        active = state.active
        wanted = active is not None and active.is_nearly_full(state.options) and not state.full
        if state.spare is not None or state.spare_in_use or not wanted:
            return None
        return SpareJob(state.disk, state.path(SPARE), state.options.segment_bytes)

    def _witness(self, now_ms: int) -> Job | None:
        state = self.state
        if now_ms < self._next_witness_ms:
            return None
        witness = None
        if state.durable_sequence > self._witnessed_sequence:
            witness = self.make_witness()
        elif not state.full:
            return None
        return WitnessJob(state.disk, state.directory, witness)

    def make_witness(self) -> Witness:
        """Return a witness of what is synced now."""
        state = self.state
        base = state.active.base_version if state.active is not None else 0
        return Witness(self.witness_generation + 1, state.durable_sequence, state.written_version, base)

    def _rebuild(self, _now_ms: int) -> Job | None:
        state = self.state
        state.to_rebuild = [segment for segment in state.to_rebuild if segment.remote is None]
        if not state.to_rebuild:
            return None
        segment = state.to_rebuild[0]
        return RebuildJob(segment, segment.open_shared(state.disk))

    def _rebuilt(self, job: RebuildJob) -> None:
        assert job.index is not None
        self.state.to_rebuild.remove(job.segment)
        if job.segment in self.state.segments.all and job.segment.index is None:
            was_rebuilt(self.state, job.segment, job.index)

    def _index(self, _now_ms: int) -> Job | None:
        if not self.state.unindexed:
            return None
        while self.state.to_store:
            base_version, data = self.state.to_store.popitem()
            fetched = self.state.segments.at(base_version)
            if fetched is not None and not fetched.retired:
                return IndexJob(self.state.disk, fetched, data, self.state.options.vnode_id)
        for segment in self.state.segments.all:
            if segment.sealed and not segment.index_stored and isinstance(segment.index, ActiveIndex):
                return IndexJob(self.state.disk, segment, segment.index, self.state.options.vnode_id)
        self.state.unindexed = False
        return None

    def _checkpoint(self, _now_ms: int) -> Job | None:
        if self._capture is None:
            large_bytes = max(0, self._checkpoint_size_bytes - CHECKPOINT_SMALL_BYTES)
            enough_ns = max(self.state.options.checkpoint_ns, large_bytes * CHECKPOINT_BYTE_NS)
            if (self.cost_ns < enough_ns and not self.checkpoint_wanted) or self.state.hidden is not None:
                return None
            self._capture = Capture(self.state, generation=self.generation, clean=False)
        return self._checkpoint_job(self._capture) if self._capture.step() else None

    def make_clean_checkpoint(self) -> CheckpointJob:
        """Return a job that writes the state as a clean stop leaves it."""
        capture = Capture(self.state, generation=self.generation, clean=True)
        while not capture.step():
            pass
        return self._checkpoint_job(capture)

    def _checkpoint_job(self, capture: Capture) -> CheckpointJob:
        state = self.state
        checkpoint = capture.finish()
        self._capture = None
        self.cost_ns = 0
        self.checkpoint_wanted = False
        return CheckpointJob(
            state.disk, state.directory, checkpoint, self._sync_first(), state.next_sequence, state.reserve,
            capture.part, capture.useless_parts,
        )  # fmt: skip

    def _rename(self, _now_ms: int) -> Job | None:
        if self._capture is not None or not self.state.retired_bases:
            return None
        retired = [segment for segment in self.state.segments.all if segment.retired]
        if not retired:
            return None
        state = self.state
        return RenameJob(state.disk, state.directory, retired, self._sync_first(), state.next_sequence)

    def _tier(self, _now_ms: int) -> Job | None:
        state = self.state
        while state.to_tier:
            record = state.to_tier.pop(0)
            segment = state.segments.at(record.base_version)
            # What was proved may be old: the segment may have been retired, or found to be damaged since.
            if segment is not None and may_leave(state, segment) and segment.salt == record.salt:
                return TierJob(state.disk, state.directory, segment, record)
        return None

    def _tiered(self, job: TierJob, now_ms: int) -> None:
        segment = job.segment
        self.state.index_cache.forget(segment)
        segment.remote, segment.created_ms = job.record, job.record.created_ms
        self.delete_later([segment.path + DELETED_SUFFIX], now_ms)

    def _sync_first(self) -> SharedFile | None:
        """Return the file that durability `os` has not synced yet, if there is one."""
        state, active = self.state, self.state.active
        if active is None or state.durable_sequence >= state.next_sequence:
            return None
        return active.open_shared(state.disk)

    def _unlink(self, now_ms: int) -> Job | None:
        if not self._deleted or self._deleted[0][0] > now_ms:
            return None
        return UnlinkJob(self.state.disk, self._deleted.popleft()[1])

    def _scrub(self, now_ms: int) -> Job | None:
        state = self.state
        while state.suspects:
            segment = state.suspects.pop(0)
            if segment in state.segments.all and segment.remote is None:
                return ScrubJob(state.disk, state.directory, segment, in_turn=False)
        turn = self._scrubbing.next_segment(state, now_ms)
        return ScrubJob(state.disk, state.directory, turn, in_turn=True) if turn is not None else None

    def _scrubbed(self, job: ScrubJob) -> None:
        if job.damage is not None and job.segment in self.state.segments.all:
            self.state.found_damage(job.segment, job.damage)
            if job.segment in self.state.suspects:
                self.state.suspects.remove(job.segment)  # it was just read

    def done(self, job: Job, now_ms: int) -> None:
        """Apply what a finished job did."""
        assert job is self.job
        self.job = None
        state = self.state
        match job:
            case IndexJob():
                job.segment.index_stored = True
                note_blocker(state, job.segment)
                state.index_cache.stored(job.segment)
            case RebuildJob():
                self._rebuilt(job)
            case CheckpointJob():
                self.generation = job.checkpoint.generation + 1
                self._sequences = (self._sequences[1], job.checkpoint.sequence)
                self._checkpoint_size_bytes = job.size_bytes
                if job.part is not None and job.stored_part is not None:
                    job.part[0].stored_part = job.stored_part
                self._synced_first(job)
            case WitnessJob():
                self._witnessed(job, now_ms)
            case SpareJob():
                self._made_spare(job)
            case RenameJob():
                self._synced_first(job)
                self._renamed(job, now_ms)
            case TierJob():
                self._tiered(job, now_ms)
            case ScrubJob():
                self._scrubbed(job)
            case FlushJob():
                state.durable_sequence = max(state.durable_sequence, job.sequence)
                self._next_flush_ms = now_ms + state.options.flush_ms

    def _witnessed(self, job: WitnessJob, now_ms: int) -> None:
        if job.witness is not None:
            self.witness_generation = job.witness.generation
            self._witnessed_sequence = job.witness.durable_sequence
        self._next_witness_ms = now_ms + self.state.options.witness_ms
        self.state.full = job.free_bytes < self.state.options.min_free_bytes

    def _made_spare(self, job: SpareJob) -> None:
        assert job.file is not None
        if job.capacity == self.state.options.segment_bytes:
            self.state.spare = job.file
        else:
            # The size was changed meanwhile; the next one takes its name.
            job.file.close()

    def _synced_first(self, job: CheckpointJob | RenameJob) -> None:
        if job.sync_first is not None:
            self.state.durable_sequence = max(self.state.durable_sequence, job.sequence)

    def _renamed(self, job: RenameJob, now_ms: int) -> None:
        paths = []
        self.state.note_deletion()
        for segment in job.segments:
            self.state.index_cache.forget(segment)
            self.state.segments.remove(segment)
            self.state.retired_bases.discard(segment.base_version)
            paths += [path + DELETED_SUFFIX for path in segment.paths]
            if segment.damage is not None:
                # The damaged bytes are no longer needed.
                self.state.scrub_damages.remove(segment.damage)
                paths.append(damage_path(segment))
        self.delete_later(paths, now_ms)

    def failed(self, job: Job, now_ms: int) -> bool:
        """Take back a failed job; return whether the log itself can no longer be trusted."""
        assert job is self.job
        self.job = None
        self._retry_at_ms[type(job)] = now_ms + RETRY_MS
        if isinstance(job, CheckpointJob):
            self.checkpoint_wanted = True
        if isinstance(job, TierJob) and job.is_renamed:
            self._tiered(job, now_ms)  # its record is durable, and nothing has the old name any more
        if isinstance(job, UnlinkJob):
            self._deleted.append((now_ms + RETRY_MS, job.paths))
        if isinstance(job, CheckpointJob | RenameJob):
            return job.sync_first is not None
        return isinstance(job, FlushJob)

    def retirable_segments(self) -> list[Segment]:
        """Return segments that no stream or kept checkpoint needs; ask for a checkpoint if one does."""
        return self._droppable(self.search.next_segments())

    def segments_below(self, version: int) -> list[Segment]:
        """Return the segments that end at or below `version` and that no kept checkpoint needs."""
        return self._droppable(
            [segment for segment in self.state.segments.all if segment.next_version <= version]
        )

    def _droppable(self, segments: list[Segment]) -> list[Segment]:
        found = []
        for segment in segments:
            # The newest segment stays: recovery continues its sequence and its crc.
            if not segment.sealed or segment.retired or segment is self.state.active:
                continue
            if segment.base_version in self.state.retiring_bases:
                continue
            if segment.next_sequence <= self._sequences[0]:
                found.append(segment)
            else:
                self.checkpoint_wanted = True
        return found
