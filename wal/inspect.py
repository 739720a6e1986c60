"""Inspection of a log without opening it, for `kawal wal inspect` and `kawal wal verify`.

Nothing is written and no lock is taken, so a server may be running: bytes that it is just writing show as an
unfinished tail, never as damage, because the witness is read before the segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from wal.checkpoint import WITNESS_NAME, load_checkpoints, load_witness
from wal.disk import Disk, NoSuchFile
from wal.format import (
    ENTRY,
    FIRST_FRAME_POSITION,
    FOOTER,
    RETIRED_META,
    Entry,
    EntryKind,
    Footer,
    FrameHeader,
    FrameKind,
    MetaKind,
    SegmentHeader,
    decode_segment_start,
    seed_of,
    unknown_format,
)
from wal.index_file import decode_index
from wal.remote_record import read_records
from wal.scan import END, NEVER_WRITTEN, FoundFrame, Scan, survey_after
from wal.segment import INDEX_SUFFIX, SUFFIX, Totals, base_version_of
from wal.torn import is_never_written
from wal.unreadable import PatientReader
from wal.whole_files import read_file


class FrameView(NamedTuple):
    """A frame with its entries, for display."""

    position: int
    header: FrameHeader
    entries: list[Entry]

    @property
    def kind(self) -> str:
        """The kind: `data`, `seal`, `pad`, `footer` or `lost`; a number when it is unknown."""
        known = self.header.kind in set(FrameKind)
        return FrameKind(self.header.kind).name.lower() if known else str(self.header.kind)


class Damage(NamedTuple):
    """A range [start, end) of a file whose bytes are not those that were written."""

    file: str
    start: int
    end: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: bytes {self.start} to {self.end}: {self.problem}"


@dataclass(slots=True)
class SegmentReport:
    """The report on one segment, read completely."""

    path: str
    header: SegmentHeader | None = None
    size_bytes: int = 0
    end_position: int = 0
    """The end of the last valid frame."""
    next_sequence: int = 0
    """The sequence due there."""
    last_crc: int = 0
    frames: dict[str, int] = field(default_factory=dict)
    """The number of frames of each kind."""
    entries: int = 0
    records: int = 0
    payload_bytes: int = 0
    lost_frames: int = 0
    sealed: bool = False
    tail: str = ""
    """The bytes after the last frame: none, room, or unfinished bytes."""
    index: str = ""
    """The state of its `.idx`: `good`, `missing` or `odd`; a missing or odd one is rebuilt when needed."""
    note: str = ""
    """A harmless oddity."""
    retired: set[int] = field(default_factory=set)
    """The base versions of the segments whose deletion its frames allow."""
    damages: list[Damage] = field(default_factory=list)


@dataclass(slots=True)
class LogReport:
    """The report on a whole vnode's log."""

    directory: str
    segments: list[SegmentReport] = field(default_factory=list)
    witnessed_sequence: int = 0
    """Frames below this sequence were synced, according to witness and checkpoints."""
    checkpoint_sequence: int = 0
    """The first frame that the newest checkpoint does not cover."""
    notes: list[str] = field(default_factory=list)
    """Harmless oddities."""
    damages: list[Damage] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing acknowledged is damaged or missing."""
        return not self.damages


def frames(disk: Disk, path: str) -> Iterator[FrameView]:
    """Yield the valid frames of a segment file, with their entries, up to the first invalid one.

    Raises: ValueError when the file does not begin with a segment header; DiskError.
    """
    file = disk.open(path, read_only=True)
    try:
        header, _ = decode_segment_start(PatientReader(file).read_at(0, FIRST_FRAME_POSITION))
        if header is None:
            raise ValueError(f"{path}: not a segment: no valid header at byte 0 or 512")
        scan = Scan(
            file,
            seed=seed_of(header.salt),
            position=FIRST_FRAME_POSITION,
            sequence=header.base_sequence,
            skim=True,
        )
        for frame in scan:
            yield FrameView(frame.position, frame.header, _entries(frame))
    finally:
        file.close()


def _entries(frame: FoundFrame) -> list[Entry]:
    if frame.header.kind != FrameKind.DATA:
        return []
    return [Entry._make(fields) for fields in ENTRY.iter_unpack(frame.table)]


def verify_segment(disk: Disk, path: str, *, witnessed_sequence: int = 0) -> SegmentReport:
    """Read a segment completely and check every CRC.  Raises: DiskError."""
    report = SegmentReport(path)
    file = disk.open(path, read_only=True)
    try:
        report.size_bytes = file.size()
        start = PatientReader(file).read_at(0, FIRST_FRAME_POSITION)
        report.header, both = decode_segment_start(start)
        if report.header is None:
            version = unknown_format(start)
            problem = (
                "neither copy of the segment header is valid"
                if version is None
                else f"the segment has format {version}, which this version of kawal does not read"
            )
            report.damages.append(Damage(path, 0, FIRST_FRAME_POSITION, problem))
            return report
        if not both:
            report.note = "one copy of the segment header is not valid; the other one is used"
        seed = seed_of(report.header.salt)
        scan = Scan(file, seed=seed, position=FIRST_FRAME_POSITION, sequence=report.header.base_sequence)
        _count(report, scan)
        report.end_position, report.next_sequence = scan.position, scan.sequence
        report.sealed = scan.finished
        if not scan.finished:
            survey = survey_after(file, seed=seed, position=scan.position + 1, sequence=scan.sequence)
            if scan.unreadable or max(survey.durable_sequence, witnessed_sequence) > scan.sequence:
                report.damages.append(Damage(path, scan.position, survey.position, scan.problem))
            elif scan.problem in (END, NEVER_WRITTEN) and is_never_written(
                PatientReader(file), scan.position
            ):
                report.tail = f"{report.size_bytes - scan.position} bytes of room"
            else:
                report.tail = f"unfinished bytes from {scan.position} on: {scan.problem}"
        report.index = _index_state(disk, report, seed)
    finally:
        file.close()
    return report


def _count(report: SegmentReport, scan: Scan) -> None:
    """Walk the frames, add them up, and compare the footer with the sum."""
    totals = Totals()
    for frame in scan:
        header = frame.header
        view = FrameView(frame.position, header, [])
        report.frames[view.kind] = report.frames.get(view.kind, 0) + 1
        report.last_crc = frame.header_crc
        if header.kind == FrameKind.LOST:
            report.lost_frames += header.entry_count
        if header.kind == FrameKind.FOOTER:
            stated = Footer._make(FOOTER.unpack(frame.table))
            if not report.lost_frames and (*stated[:5], stated.chain_crc) != totals:
                problem = f"the footer states {tuple(stated)}, but the frames add up to {tuple(totals)}"
                report.damages.append(Damage(report.path, frame.position, frame.next_position, problem))
            return
        totals = totals.with_frame(frame.head, header, frame.max_timestamp())
        if header.kind == FrameKind.DATA:
            report.entries += header.entry_count
            report.records += header.record_count
            report.payload_bytes += header.payload_bytes
            report.retired |= _retired(frame)


def _retired(frame: FoundFrame) -> set[int]:
    """Return the base versions of the segments that the frame's meta entries retire."""
    assert frame.payload is not None
    found, start = set(), 0
    for entry in ENTRY.iter_unpack(frame.table):
        end = start + entry[6]
        if entry[1] == EntryKind.META and frame.payload[start] == MetaKind.RETIRED:
            found.add(RETIRED_META.unpack(frame.payload[start:end])[1])
        start = end
    return found


def _index_state(disk: Disk, report: SegmentReport, seed: int) -> str:
    path = report.path.removesuffix(SUFFIX) + INDEX_SUFFIX
    if not disk.exists(path):
        return "missing"
    assert report.header is not None
    index = decode_index(read_file(disk, path), base_version=report.header.base_version, seed=seed)
    return "odd" if index is None else "good"


def verify_log(disk: Disk, directory: str) -> Iterator[SegmentReport | LogReport]:
    """Check a whole log: yield a report for each segment as it is read, and one for the log at the end.

    Raises: NoSuchFile when the directory is missing; DiskError.
    """
    report = LogReport(directory)
    known = _read_marks(disk, report)
    bases = sorted(base for name in disk.list(directory) if (base := base_version_of(name)) is not None)
    for row, base in enumerate(bases):
        # Every segment but the newest was synced as a whole before its successor was made.
        witnessed = report.witnessed_sequence if row == len(bases) - 1 else 0
        try:
            segment = verify_segment(disk, f"{directory}/{base:020d}{SUFFIX}", witnessed_sequence=witnessed)
        except NoSuchFile:
            continue  # retention was faster
        _check_place(report, segment, base)
        report.segments.append(segment)
        report.damages += segment.damages
        if segment.note:
            report.notes.append(f"{segment.path}: {segment.note}")
        yield segment
    remote = read_records(disk, directory, disk.list(directory)).keys() - set(bases)
    if remote:
        report.notes.append(f"{len(remote)} segments are in the object store only, and were not read")
    _check_missing(report, known - set(bases) - remote)
    yield report


def _read_marks(disk: Disk, report: LogReport) -> set[int]:
    """Read witness and checkpoints for how far the log was synced; return the segments that must exist."""
    checkpoints, odd = load_checkpoints(disk, report.directory)
    witness = load_witness(disk, report.directory)
    marks = [checkpoint.durable_sequence for checkpoint in checkpoints]
    if witness is not None:
        marks.append(witness.durable_sequence)
    elif disk.exists(f"{report.directory}/{WITNESS_NAME}"):
        report.notes.append(f"{WITNESS_NAME} has no valid slot; the next start writes a new one")
    report.witnessed_sequence = max(marks, default=0)
    report.notes += [f"{name} is not a valid checkpoint; an older one is used" for name in odd]
    if not checkpoints:
        return set()
    report.checkpoint_sequence = checkpoints[0].sequence
    base_versions, retired = checkpoints[0].segments[0], checkpoints[0].segments[-1]
    return {base for base, gone in zip(base_versions, retired, strict=True) if not gone}


def _check_place(report: LogReport, segment: SegmentReport, base: int) -> None:
    """Check a segment against its name and the segment before it."""
    header, before = segment.header, report.segments[-1] if report.segments else None
    if header is None:
        return
    if header.base_version != base:
        problem = f"it holds the segment of version {header.base_version}: it was renamed or copied"
        segment.damages.append(Damage(segment.path, 0, FIRST_FRAME_POSITION, problem))
    elif before is None or before.header is None or before.damages:
        return
    elif header.base_sequence != before.next_sequence:
        if not before.sealed:
            problem = f"{before.tail}, and the next segment begins with frame {header.base_sequence}"
            report.damages.append(Damage(before.path, before.end_position, before.size_bytes, problem))
    elif header.previous_crc != before.last_crc and not before.lost_frames:
        problem = f"it does not continue {before.path}: crc {before.last_crc:#010x} is not repeated"
        segment.damages.append(Damage(segment.path, 0, FIRST_FRAME_POSITION, problem))
    else:
        before.tail = ""  # left by a failed write; the successor proves that nothing is missing


def _check_missing(report: LogReport, missing: set[int]) -> None:
    """Report segments that the checkpoint lists and that are missing without having been retired since."""
    retired: set[int] = set().union(*(segment.retired for segment in report.segments))
    for base in sorted(missing - retired):
        path = f"{report.directory}/{base:020d}{SUFFIX}"
        report.damages.append(Damage(path, 0, 0, "the segment is missing"))
    last = report.segments[-1] if report.segments else None
    due = last.next_sequence if last is not None else 0
    if report.witnessed_sequence > due and (last is None or last.sealed):
        problem = f"frames {due} to {report.witnessed_sequence - 1} were synced, but their file is missing"
        report.damages.append(Damage(report.directory, 0, 0, problem))
    due = 0
    for segment in report.segments:
        first = segment.header.base_sequence if segment.header is not None else due
        # Below the checkpoint its list of segments counts: a segment not in it was retired.
        if first > max(due, report.checkpoint_sequence) and not report.damages:
            problem = f"frames {due} to {first - 1} are missing before it"
            report.damages.append(Damage(segment.path, 0, 0, problem))
        due = max(due, segment.next_sequence)
