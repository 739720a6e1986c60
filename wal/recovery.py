"""Recovery of a vnode's log: find its end, distinguish a torn tail from damage, rebuild derived data.

Let s be the first frame that is missing or invalid, and D the highest `durable_sequence` of any valid frame
after it, of the witness and of the checkpoints. All frames below D were synced, so

    D > s     an acknowledged frame is damaged: serve frames below s, refuse appends, name file and bytes
    D <= s    a torn tail: nothing from s on was acknowledged; keep a copy, cut, continue

Frames that were read may be in the page cache only: after a failed sync the kernel shows the lost bytes and
takes them for written, so that another sync writes nothing. Frames not proved to be synced are therefore
written again before the log continues.

A segment is followed by one that begins with the sequence due and repeats the CRC of the last frame before
it; otherwise frames or whole segments are missing. After a failed write a segment may end without a footer;
its successor proves that nothing is missing.
"""

from __future__ import annotations

from collections import deque

from wal.checkpoint import Checkpoint, Witness, load_checkpoints, load_witness, write_witness
from wal.compaction import forget_unfinished
from wal.continuity import Due, is_misplaced, refuse_unknown_format
from wal.disk import Disk, DiskFull, File
from wal.errors import LogDamaged
from wal.format import FIRST_FRAME_POSITION, FrameKind, SegmentHeader, decode_segment_start
from wal.index import ActiveIndex
from wal.index_parts import load_parts
from wal.indexing import index_frame
from wal.leftovers import adopt_records, remove_parts, remove_temporaries
from wal.locate import rebuild_index
from wal.maintenance import Marks
from wal.options import LogOptions, recovery_ns
from wal.recovery_report import Fault, FaultKind, RecoveryReport, Unproven
from wal.replay import replay_frame
from wal.scan import END, NEVER_WRITTEN, FoundFrame, Scan, Survey, survey_after
from wal.scrub import look_again, place_problem, read_place, scrub
from wal.segment import Segment, SharedFile, base_version_of, segment_name
from wal.snapshot import restore
from wal.state import LogState
from wal.torn import cut_torn_tail, is_never_written
from wal.unreadable import PatientReader


class Recovery:
    """One run of recovery over a directory; `run` returns the state."""

    def __init__(
        self, disk: Disk, directory: str, options: LogOptions, now_ms: int, *, thorough: bool = False
    ) -> None:
        self.disk = disk
        self.directory = directory
        self.state = LogState(disk, directory, options, now_ms)
        self.report = RecoveryReport()
        self.thorough = thorough
        """Whether to check all segments, not only those after the checkpoint."""
        self._generations: list[Checkpoint] = []
        self.witness: Witness | None = None
        self._promised = 0
        """The highest sequence below which everything was synced, according to witness and checkpoints."""
        self._unproven: deque[Unproven] = deque()
        """The last frames of the newest segment, which no later frame declares synced."""
        self._replay_from = 0
        self._due: int | None = 0
        """The sequence with which the next segment must begin; None when only the checkpoint knew."""
        self._crc: int | None = 0
        """The predecessor's crc that the next segment must repeat; None after frames given up by a repair."""
        self.missing: Segment | None = None
        """The missing segment that the checkpoint lists, for a fault of that kind."""
        self.fault: Fault | None = None
        """The fault in `report.damage`, for a repair."""

    def run(self) -> LogState:
        """Recover.  Raises: DiskError when the disk cannot be read or the good part cannot be synced."""
        names = self.disk.list(self.directory)
        self.report.notes += remove_temporaries(self.disk, self.directory, names)
        bases = sorted(base for name in names if (base := base_version_of(name)) is not None)
        checkpoint = self._load_marks()
        known = restore(self.state, checkpoint) if checkpoint is not None else []
        self._replay_from = self.state.next_sequence
        present = set(bases) | adopt_records(self.disk, self.directory, names, known)
        for segment in known:
            if segment.base_version in present:
                self.state.segments.add(segment)
        if known:
            self._due, self._crc = known[-1].next_sequence, known[-1].last_crc
        elif checkpoint is not None:
            self._due = None
        to_scan = [base for base in bases if base > (known[-1].base_version if known else -1)]
        remove_parts(self.disk, self.directory, names, to_scan)
        self._scan_all(to_scan)
        self._judge_end()
        self._judge_missing([segment for segment in known if segment.base_version not in present])
        local = [segment for segment in known if segment.base_version in present and segment.remote is None]
        self._judge_places(local)
        if self.thorough:
            self._scrub(local)
        look_again(self.state, names)
        forget_unfinished(self.state)
        self._finish(checkpoint)
        if not self.report.last_wall_ms and self.state.active is not None:
            header, _ = self._read_start(self.state.active.base_version)
            self.report.last_wall_ms = header.created_ms if header else 0
        return self.state

    @property
    def previous_crc(self) -> int:
        """The predecessor's crc for a segment in the place where the scan ended."""
        return self._crc or 0

    def _load_marks(self) -> Checkpoint | None:
        generations, odd = load_checkpoints(self.disk, self.directory)
        self.witness = load_witness(self.disk, self.directory)
        self.report.notes += [f"{name} is not a valid checkpoint; going back to an older one" for name in odd]
        if self.witness is not None:
            self._promised = self.witness.durable_sequence
        for checkpoint in generations:
            self._promised = max(self._promised, checkpoint.durable_sequence)
        self._generations = generations
        return generations[0] if generations else None

    def marks(self) -> Marks:
        """Return the marks from which maintenance continues."""
        found = self._generations
        report = self.report
        cost_ns = recovery_ns(frames=report.frames, entries=report.entries, size_bytes=report.scanned_bytes)
        return Marks(
            generation=found[0].generation + 1 if found else 0,
            witness_generation=self.witness.generation if self.witness is not None else 0,
            sequences=(found[1].sequence, found[0].sequence) if len(found) > 1 else (0, 0),
            witnessed_sequence=self._promised,
            clean=report.clean or report.is_new,  # what was never written cannot have been damaged
            scrubbed=read_place(self.disk, self.directory),
            unsealed=self.report.damage is None
            and any(frame.kind == FrameKind.DATA for frame in self._unproven),
            cost_ns=cost_ns,
        )

    def _scan_all(self, bases: list[int]) -> None:
        for row, base in enumerate(bases):
            is_last = row == len(bases) - 1
            if not self._open_segment(base):
                return
            segment = self.state.segments.all[-1]
            scan = self._scan_segment(segment)
            self._due = scan.sequence
            if scan.finished:
                segment.sealed = True
            elif is_last:
                self._judge_tail(segment, scan)
            elif self._continues(bases[row + 1]):
                segment.sealed = True
            else:
                self._damaged_inside(segment, scan, bases[row + 1])
            if self.report.damage is not None:
                return

    def _open_segment(self, base: int) -> bool:
        path = self.state.path(segment_name(base))
        shared = SharedFile(self.disk.open(path))
        start = PatientReader(shared.file).read_at(0, FIRST_FRAME_POSITION)
        header, both = decode_segment_start(start)
        if header is None:
            refuse_unknown_format(path, start)
        due = Due(base, self.state.options.vnode_id, self._due, self._crc, self._replay_from)
        if (problem := due.problem(header)) or header is None:
            self._damage(path, 0, FIRST_FRAME_POSITION, problem)
            self._unusable(path, header, base)
            return False
        if not both:
            self.report.notes.append(f"{path}: one of the two headers is damaged; the other one is used")
        segment = Segment(path, base_version=base, base_sequence=header.base_sequence, salt=header.salt)
        segment.shared = shared
        segment.format = header.format
        segment.created_ms = header.created_ms
        segment.capacity = shared.file.size()
        segment.index = ActiveIndex()
        if self._crc is None and self.state.segments.all:
            # The end of the one before was given up; a later start compares with what its checkpoint lists.
            self.state.segments.all[-1].last_crc = header.previous_crc
        self.state.segments.add(segment)
        self._unproven.clear()
        return True

    def _unusable(self, path: str, header: SegmentHeader | None, base: int) -> None:
        """Record for a repair whether the file itself is at fault, or frames before it are missing."""
        due = self._due if self._due is not None else self._replay_from
        is_of_this_log = (
            header is not None
            and header.base_version == base
            and header.vnode_id == self.state.options.vnode_id
        )
        if header is not None and is_of_this_log and header.base_sequence > due:
            self.fault = Fault(FaultKind.GAP, path, 0, due, header.base_sequence, base)
        else:
            self.fault = Fault(FaultKind.FILE, path, 0, due, due, base)

    def _scan_segment(self, segment: Segment) -> Scan:
        """Index the frames that the checkpoint covers by their tables; check and replay those after it."""
        assert segment.shared is not None
        file = segment.shared.file
        segment.next_sequence = segment.base_sequence
        if segment.base_sequence < self._replay_from and not self.thorough:
            self._use_parts(segment)
        scan = Scan(
            file,
            seed=segment.seed,
            position=segment.end_position,
            sequence=segment.next_sequence,
            skim=not self.thorough,
        )
        if segment.base_sequence < self._replay_from:
            if scan.sequence < self._replay_from:
                for frame in scan:
                    self._found(segment, frame)
                    if scan.sequence >= self._replay_from:
                        break
            if not self.thorough:
                segment.active_index.trust_nothing()
            if scan.sequence < self._replay_from or scan.finished:
                return scan
        scan = Scan(file, seed=segment.seed, position=scan.position, sequence=scan.sequence)
        for frame in scan:
            self._found(segment, frame)
            self.report.frames += 1
            self.report.scanned_bytes += frame.header.size_bytes
            self.report.entries += frame.header.entry_count
            replay_frame(self.state, frame)
            self.state.next_sequence = frame.next_sequence
            self.state.expected_crc = frame.header_crc
        return scan

    def _use_parts(self, segment: Segment) -> None:
        """Take the index of the frames that the checkpoint covers from where it was stored."""
        part = load_parts(self.disk, segment, before=self._replay_from)
        if part is not None:
            self._crc = part.last_crc
            self.report.last_wall_ms = part.written_ms
            self.state.written_version = max(self.state.written_version, part.next_version)

    def _found(self, segment: Segment, frame: FoundFrame) -> None:
        newest = index_frame(segment.active_index, frame)
        header = frame.header
        self._unproven.append(Unproven(header.sequence, header.kind, frame.position, header.size_bytes))
        while self._unproven[0].sequence < header.durable_sequence:
            self._unproven.popleft()
        segment.end_position = frame.next_position
        segment.next_sequence = frame.next_sequence
        segment.last_crc = frame.header_crc
        self.report.last_wall_ms = header.ingest_ms
        self._crc = frame.header_crc if header.kind != FrameKind.LOST else None
        if header.kind != FrameKind.FOOTER:
            segment.totals = segment.totals.with_frame(frame.head, header, newest)
        segment.next_version = max(segment.next_version, header.base_version + header.record_count)
        self.state.written_version = max(self.state.written_version, segment.next_version)

    def _continues(self, base: int) -> bool:
        """Return whether the next segment proves that the one before it ends where its scan stopped."""
        header, _ = self._read_start(base)
        if header is None or header.base_sequence != self._due:
            return False
        return self._crc is None or header.previous_crc == self._crc

    def _judge_tail(self, segment: Segment, scan: Scan) -> None:
        """Decide whether the end of the newest segment was never written, is torn, or is damaged."""
        assert segment.shared is not None
        file = PatientReader(segment.shared.file)
        survey = survey_after(file, seed=segment.seed, position=scan.position + 1, sequence=scan.sequence)
        if max(survey.durable_sequence, self._promised, self._replay_from) > scan.sequence:
            self._damaged_frames(segment, scan, survey, self._promised)
        elif scan.unreadable:
            # An acknowledged frame may lie there.
            self._damaged_frames(segment, scan, survey, scan.sequence + 1)
        elif scan.problem not in (END, NEVER_WRITTEN) or not is_never_written(file, scan.position):
            cut, path = cut_torn_tail(self.disk, self.directory, segment, self.state.options.torn_copy_bytes)
            self.report.truncated_bytes, self.report.torn_file = cut, path

    def _damaged_inside(self, segment: Segment, scan: Scan, next_base: int) -> None:
        following, path = self._read_start(next_base)[0], self.state.path(segment_name(next_base))
        if following is not None and is_misplaced(following, next_base, scan.sequence):
            self._damage(path, 0, FIRST_FRAME_POSITION, "it does not follow the segment before it")
            self._unusable(path, following, next_base)
            return
        assert segment.shared is not None
        file = segment.shared.file
        survey = survey_after(file, seed=segment.seed, position=scan.position + 1, sequence=scan.sequence)
        next_sequence = following.base_sequence if following is not None else scan.sequence + 1
        self._damaged_frames(segment, scan, survey, next_sequence)

    def _damaged_frames(self, segment: Segment, scan: Scan, survey: Survey, next_sequence: int) -> None:
        """Report damaged frames, up to the next valid one or else the frame `next_sequence`."""
        self._damage(segment.path, scan.position, survey.position, scan.problem)
        end_position = None
        if survey.sequence > scan.sequence:
            next_sequence, end_position = survey.sequence, survey.position
        self.fault = Fault(
            FaultKind.FRAMES, segment.path, scan.position, scan.sequence, next_sequence,
            segment.base_version, end_position,
        )  # fmt: skip

    def _read_start(self, base: int) -> tuple[SegmentHeader | None, bool]:
        shared = SharedFile(self.disk.open(self.state.path(segment_name(base)), read_only=True))
        return decode_segment_start(PatientReader(shared.file).read_at(0, FIRST_FRAME_POSITION))

    def _judge_end(self) -> None:
        if self.report.damage is not None:
            return
        # After the checkpointed segments there must be one that holds the frames up to the checkpoint.
        due = self._due if self._due is not None else max(0, self.state.next_sequence - 1)
        if self._promised > due:
            known = self.state.segments.all
            version = known[-1].next_version if known else self.state.written_version
            problem = (
                f"frames {due} to {self._promised - 1} were synced, but the file that held them is missing"
            )
            path = self.state.path(segment_name(version))
            self._damage(path, 0, 0, problem)
            self.fault = Fault(FaultKind.END, path, 0, due, self._promised, version)

    def _judge_missing(self, missing: list[Segment]) -> None:
        for segment in missing:
            if segment.base_version not in self.state.retired_bases and self.report.damage is None:
                self._damage(segment.path, 0, segment.end_position, "the segment is missing")
                self.fault = Fault(
                    FaultKind.SEGMENT, segment.path, 0, segment.base_sequence, segment.next_sequence,
                    segment.base_version,
                )  # fmt: skip
                self.missing = segment

    def _judge_places(self, segments: list[Segment]) -> None:
        """Compare the headers and sizes of segments that are not scanned with what the checkpoint says."""
        for segment in segments:
            problem = "" if segment.retired else place_problem(self.disk, segment)
            if problem:
                damage = LogDamaged(segment.path, 0, segment.end_position, problem)
                self.state.found_damage(segment, damage)
            elif not segment.retired and not self.disk.exists(segment.index_path):
                # Now rather than at the first read of it, on the event loop.
                file = segment.open_shared(self.disk).file
                segment.index, segment.index_stored = rebuild_index(segment, file), False
                self.report.notes.append(f"{segment.index_path} is missing and was rebuilt")

    def _scrub(self, segments: list[Segment]) -> None:
        for segment in segments:
            if self.report.damage is not None:
                return
            found = scrub(self.disk, segment)
            if found is not None:
                self.fault, problem = found
                end = self.fault.end_position or segment.end_position
                self._damage(segment.path, self.fault.position, end, problem)

    def _damage(self, path: str, start: int, end: int, problem: str) -> None:
        self.report.damage = self.state.damage = LogDamaged(path, start, end, problem)

    def _write_unproven(self, file: File) -> None:
        """Make the unproven frames dirty again, with unchanged bytes: a sync then writes them."""
        if self.report.damage is not None:
            return
        for frame in self._unproven:
            if frame.sequence >= self._promised:
                data = file.read_at(frame.position, frame.size_bytes)
                file.write_at(frame.position, [data])

    def _witness_frames(self) -> None:
        """Record that the frames found are synced: damage to the last of them is then no torn tail."""
        state = self.state
        generation = self.witness.generation + 1 if self.witness is not None else 1
        base = state.active.base_version if state.active is not None else 0
        witness = Witness(generation, state.durable_sequence, state.written_version, base)
        try:
            write_witness(self.disk, self.directory, witness)
        except DiskFull:
            return  # maintenance writes it once there is room
        self.witness = witness
        self._promised = witness.durable_sequence

    def _finish(self, checkpoint: Checkpoint | None) -> None:
        """Make sure that the frames found are on the disk before anything is built on them."""
        state, active = self.state, self.state.active
        state.next_version = state.written_version
        ends_as_left = (
            checkpoint is not None and checkpoint.clean and checkpoint.sequence == state.next_sequence
        )
        self.report.clean = ends_as_left and self.report.damage is None
        self.report.is_new = checkpoint is None and self.witness is None and active is None
        if not self.report.clean:
            if active is not None and active.shared is not None:
                self._write_unproven(active.shared.file)
                active.shared.file.sync()
            self.disk.sync_directory(self.directory)
        state.durable_sequence = state.next_sequence
        if self.report.damage is None and state.durable_sequence > self._promised:
            self._witness_frames()
        if active is not None and active.sealed and active.base_version == state.next_version:
            state.next_version = state.written_version = active.base_version + 1
        for segment in state.segments.all:
            segment.retired = segment.base_version in state.retired_bases
        state.full = self.disk.free_bytes(self.directory) < state.options.min_free_bytes
