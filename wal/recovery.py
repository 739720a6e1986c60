"""Bring a vnode's log back: find where it ends, tell a torn tail from damage, and rebuild what is derived.

Let s be the first frame that is missing or invalid, and D the highest `durable_sequence` of any valid frame
behind it, of the witness and of the checkpoints. All frames below D were synced, so

    D > s     an acknowledged frame is damaged: serve what lies below s, refuse appends, name file and bytes
    D <= s    a torn tail: nobody was promised anything behind s; keep a copy, cut, go on

A segment is followed by one that begins with the sequence due and repeats the CRC of the last frame before;
if it does not, frames or whole segments are missing. After a write that failed a segment may end without a
footer, and its successor proves that nothing is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wal.checkpoint import Checkpoint, Witness, load_checkpoints, load_witness
from wal.disk import Disk
from wal.errors import LogDamaged
from wal.format import HEADER_BYTES, FrameKind, SegmentHeader, decode_segment_header
from wal.index import ActiveIndex, index_frame
from wal.maintenance import Marks
from wal.options import ENTRY_COST_BYTES, LogOptions
from wal.replay import replay_frame
from wal.scan import END, NEVER_WRITTEN, FoundFrame, Scan, highest_durable_after
from wal.segment import Segment, SharedFile, base_version_of, segment_name
from wal.snapshot import restore
from wal.state import LogState

TEMPORARY_SUFFIX = ".tmp"


@dataclass(slots=True)
class RecoveryReport:
    """What recovery found and did."""

    frames: int = 0
    """Frames read behind the checkpoint."""
    entries: int = 0
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    torn_file: str = ""
    """Where a copy of the torn tail lies."""
    clean: bool = False
    """The log ends where a clean stop left it."""
    damage: LogDamaged | None = None
    notes: list[str] = field(default_factory=list)
    """Odd things that cost nothing: a checkpoint that was not valid, leftovers removed."""


class Recovery:
    """One run of recovery over a directory; `run` returns the state."""

    def __init__(self, disk: Disk, directory: str, options: LogOptions, now_ms: int) -> None:
        self.disk = disk
        self.directory = directory
        self.state = LogState(disk, directory, options, now_ms)
        self.report = RecoveryReport()
        self._generations: list[Checkpoint] = []
        self.witness: Witness | None = None
        self._promised = 0
        """Highest sequence below which everything was synced, by witness and checkpoints."""
        self._replay_from = 0
        self._due: int | None = 0
        """The sequence with which the next segment must begin; None when only the checkpoint could tell."""
        self._crc = 0
        """The predecessor's crc that it must repeat."""

    def run(self) -> LogState:
        """Recover.  Raises: DiskError when the disk cannot be read or the good part not be synced."""
        names = self.disk.list(self.directory)
        self._remove_temporaries(names)
        bases = sorted(base for name in names if (base := base_version_of(name)) is not None)
        checkpoint = self._load_marks()
        known = restore(self.state, checkpoint) if checkpoint is not None else []
        self._replay_from = self.state.next_sequence
        present = set(bases)
        for segment in known:
            if segment.base_version in present:
                self.state.segments.add(segment)
        if known:
            self._due, self._crc = known[-1].next_sequence, known[-1].last_crc
        elif checkpoint is not None:
            self._due = None
        newest = known[-1].base_version if known else -1
        self._scan_all([base for base in bases if base > newest])
        self._judge_end()
        self._judge_missing([segment for segment in known if segment.base_version not in present])
        self._finish(checkpoint)
        return self.state

    def _remove_temporaries(self, names: list[str]) -> None:
        for name in names:
            if name.endswith(TEMPORARY_SUFFIX):
                self.disk.remove(self.state.path(name))
                self.report.notes.append(f"removed {name}, left by an interrupted write")

    def _load_marks(self) -> Checkpoint | None:
        generations, odd = load_checkpoints(self.disk, self.directory)
        self.witness = load_witness(self.disk, self.directory)
        for name in odd:
            self.report.notes.append(f"{name} is not a valid checkpoint; going back to an older one")
        if self.witness is not None:
            self._promised = self.witness.durable_sequence
        for one in generations:
            self._promised = max(self._promised, one.durable_sequence)
        newest = generations[0] if generations else None
        self._generations = generations
        return newest

    def marks(self) -> Marks:
        """Where maintenance goes on."""
        found = self._generations
        cost = self.report.scanned_bytes + self.report.entries * ENTRY_COST_BYTES
        return Marks(
            generation=found[0].generation + 1 if found else 0,
            witness_generation=self.witness.generation if self.witness is not None else 0,
            sequences=(found[1].sequence, found[0].sequence) if len(found) > 1 else (0, 0),
            cost_bytes=cost,
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
                self._damaged_inside(segment, scan)
            if self.report.damage is not None:
                return

    def _open_segment(self, base: int) -> bool:
        path = self.state.path(segment_name(base))
        shared = SharedFile(self.disk.open(path))
        header = decode_segment_header(shared.file.read_at(0, HEADER_BYTES))
        problem = self._header_problem(header, base)
        if header is None or problem:
            self._damage(path, 0, HEADER_BYTES, problem)
            return False
        segment = Segment(path, base_version=base, base_sequence=header.base_sequence, salt=header.salt)
        segment.shared = shared
        segment.capacity = shared.file.size()
        segment.index = ActiveIndex()
        self.state.segments.add(segment)
        return True

    def _header_problem(self, header: SegmentHeader | None, base: int) -> str:
        if header is None:
            return "the segment header has a wrong magic, format or crc"
        if header.base_version != base:
            return f"the file holds the segment of version {header.base_version}: it was renamed or copied"
        if header.vnode_id != self.state.options.vnode_id:
            return f"the file belongs to vnode {header.vnode_id}, this is vnode {self.state.options.vnode_id}"
        if self._due is None:
            if header.base_sequence <= self._replay_from:
                return ""
            return f"it begins with frame {header.base_sequence}, frame {self._replay_from} is due before it"
        if header.base_sequence != self._due:
            return (
                f"it begins with frame {header.base_sequence}, frame {self._due} is due: a segment is missing"
            )
        if header.previous_crc != self._crc:
            return (
                f"it repeats crc {header.previous_crc:#010x} of its predecessor, which has {self._crc:#010x}"
            )
        return ""

    def _scan_segment(self, segment: Segment) -> Scan:
        """Index the frames that the checkpoint covers by their tables; check and replay the ones behind."""
        assert segment.shared is not None
        file = segment.shared.file
        scan = Scan(file, seed=segment.seed, position=HEADER_BYTES, sequence=segment.base_sequence, skim=True)
        segment.next_sequence = segment.base_sequence
        if segment.base_sequence < self._replay_from:
            for frame in scan:
                self._found(segment, frame)
                if scan.sequence >= self._replay_from:
                    break
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

    def _found(self, segment: Segment, frame: FoundFrame) -> None:
        index_frame(segment.active_index, frame)
        header = frame.header
        segment.end_position = frame.next_position
        segment.next_sequence = frame.next_sequence
        segment.last_crc = self._crc = frame.header_crc
        if header.kind != FrameKind.FOOTER:
            segment.totals = segment.totals.with_frame(frame.head, header, frame.max_timestamp())
        segment.next_version = max(segment.next_version, header.base_version + header.record_count)
        self.state.written_version = max(self.state.written_version, segment.next_version)

    def _continues(self, base: int) -> bool:
        """Whether the next segment proves that the one before it ends where its scan stopped."""
        shared = SharedFile(self.disk.open(self.state.path(segment_name(base)), read_only=True))
        header = decode_segment_header(shared.file.read_at(0, HEADER_BYTES))
        return header is not None and header.base_sequence == self._due and header.previous_crc == self._crc

    def _judge_tail(self, segment: Segment, scan: Scan) -> None:
        """Decide what the end of the newest segment is: never written, torn, or damaged."""
        assert segment.shared is not None
        file = segment.shared.file
        if scan.sequence < self._replay_from:
            self._damage(
                segment.path, scan.position, file.size(), f"{scan.problem}, where a checkpointed frame was"
            )
            return
        durable, next_valid = highest_durable_after(file, seed=segment.seed, position=scan.position + 1)
        durable = max(durable, self._promised)
        if durable > scan.sequence:
            self._damage(segment.path, scan.position, next_valid, scan.problem)
        elif scan.problem not in (END, NEVER_WRITTEN) or not _zeros_from(segment):
            self._cut_torn_tail(segment, scan)

    def _damaged_inside(self, segment: Segment, scan: Scan) -> None:
        assert segment.shared is not None
        file, seed = segment.shared.file, segment.seed
        _, next_valid = highest_durable_after(file, seed=seed, position=scan.position + 1)
        self._damage(segment.path, scan.position, next_valid, scan.problem)

    def _judge_end(self) -> None:
        if self.report.damage is not None:
            return
        # Behind the checkpointed segments one must lie that holds the frames up to the checkpoint.
        due = self._due if self._due is not None else max(0, self.state.next_sequence - 1)
        if self._promised > due:
            known = self.state.segments.all
            version = known[-1].next_version if known else self.state.written_version
            problem = (
                f"frames {due} to {self._promised - 1} were synced, and the file that held them is missing"
            )
            self._damage(self.state.path(segment_name(version)), 0, 0, problem)

    def _judge_missing(self, missing: list[Segment]) -> None:
        for segment in missing:
            if segment.base_version not in self.state.retired_bases and self.report.damage is None:
                self._damage(segment.path, 0, segment.end_position, "the segment is missing")

    def _cut_torn_tail(self, segment: Segment, scan: Scan) -> None:
        assert segment.shared is not None
        file = segment.shared.file
        size = file.size()
        torn = _without_trailing_zeros(file.read_at(scan.position, size - scan.position))
        self.report.truncated_bytes = len(torn)
        name = f"torn-{segment.base_version:020d}-{scan.position}.bin"
        self.report.torn_file = self.state.path(name)
        copy = self.disk.open(self.report.torn_file, create=True)
        try:
            copy.write_at(0, [torn[: self.state.options.torn_copy_bytes]])
            copy.sync()
        finally:
            copy.close()
        file.truncate(scan.position)
        file.allocate(segment.capacity)
        file.sync()
        self.disk.sync_directory(self.directory)

    def _damage(self, path: str, start: int, end: int, problem: str) -> None:
        self.report.damage = LogDamaged(path, start, end, problem)
        self.state.damage = self.report.damage

    def _finish(self, checkpoint: Checkpoint | None) -> None:
        """Make sure that what was found is on the disk before anything is built on it."""
        state = self.state
        active = state.active
        state.next_version = state.written_version
        ends_as_left = (
            checkpoint is not None and checkpoint.clean and checkpoint.sequence == state.next_sequence
        )
        self.report.clean = ends_as_left and self.report.damage is None
        if not self.report.clean:
            if active is not None and active.shared is not None:
                active.shared.file.sync()
            self.disk.sync_directory(self.directory)
        state.durable_sequence = state.next_sequence
        if active is not None and active.sealed and active.base_version == state.next_version:
            state.next_version = state.written_version = active.base_version + 1
        for segment in state.segments.all:
            segment.retired = segment.base_version in state.retired_bases
        state.full = self.disk.free_bytes(self.directory) < state.options.min_free_bytes


def _zeros_from(segment: Segment) -> bool:
    """Whether nothing but zeros lies behind the segment's last frame."""
    assert segment.shared is not None
    position = segment.end_position
    zeros = bytes(1 << 20)
    while data := segment.shared.file.read_at(position, len(zeros)):
        if data != zeros[: len(data)]:
            return False
        position += len(data)
    return True


def _without_trailing_zeros(data: bytes) -> bytes:
    return data.rstrip(b"\0")
