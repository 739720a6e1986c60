"""The state of a log's storage as its files show it, for `kawal wal describe`.

A mark is a checkpoint: a start reads the frames after it. A log keeps two generations, so a file is no longer
needed to recover once the older one begins after it; it stays as long as streams have batches in it.

    frames     [ ..... older mark ..... newest mark ..... end ]
    role         data   |  older-mark     |  replayed

Nothing is written and no lock is taken: a server may be running, and the report is then a moment old.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from wal.checkpoint import Checkpoint, load_checkpoints, load_witness
from wal.disk import Disk, NoSuchFile
from wal.format import FIRST_FRAME_POSITION, FrameKind, SegmentHeader, decode_segment_start, seed_of
from wal.index_file import decode_index
from wal.inspect import frames
from wal.segment import INDEX_SUFFIX, SUFFIX, base_version_of, part_path
from wal.unreadable import PatientReader
from wal.whole_files import read_file


class Role(StrEnum):
    """The reason why a segment's file is kept."""

    REPLAYED = "replayed"
    """A start replays its frames after the newest mark; the newest segment, too, when it has none."""
    OLDER_MARK = "older-mark"
    """The newest mark covers it; if that is lost, a start replays it from the older one."""
    DATA = "data"
    """Both marks cover it: it is kept only for its batches."""
    RETIRED = "retired"
    """No stream needs it, and that is durable: it goes."""


class SegmentState(NamedTuple):
    """One segment; sequences count frames."""

    path: str
    first_sequence: int
    next_sequence: int
    end_position: int
    """The end of its last frame; its file may be larger."""
    role: Role
    index_state: str
    """`sealed`: its `.idx` is whole; `parts`: it grows, with parts of the index on the disk; `memory`: with
    none; `rebuilt`: its `.idx` is missing or odd, and is made again."""
    index_bytes: int

    @property
    def has_frames(self) -> bool:
        """Whether a frame was written to it."""
        return self.next_sequence > self.first_sequence


@dataclass(slots=True)
class StorageReport:
    """The journal, the index and the marks of one log."""

    directory: str
    segments: list[SegmentState] = field(default_factory=list)
    mark_sequence: int = 0
    """The frame with which the newest mark begins; 0 without one."""
    mark_generation: int = -1
    """-1 without a mark."""
    older_mark_sequence: int = 0
    is_clean: bool = False
    """Whether a clean stop wrote the newest mark."""
    witnessed_sequence: int = 0
    """Frames below this sequence were synced, by the witness and the marks."""
    end_sequence: int = 0
    """The sequence of the next frame."""
    frames_after_mark: int = 0
    bytes_after_mark: int = 0
    streams: int = 0
    """The streams in the newest mark, with those of copies."""
    problems: list[str] = field(default_factory=list)

    @property
    def index_bytes(self) -> int:
        """The size of the indexes on the disk."""
        return sum(segment.index_bytes for segment in self.segments)

    def of_role(self, role: Role) -> list[SegmentState]:
        """Return the segments that are kept for this reason."""
        return [segment for segment in self.segments if segment.role == role]


class _Extent(NamedTuple):
    """The frames of a segment."""

    first_sequence: int
    next_sequence: int
    end_position: int
    bytes_after_mark: int = 0
    salt: int = 0
    retired: bool = False


def storage_report(disk: Disk, directory: str) -> StorageReport:
    """Describe the log in a directory; headers of the frames after the newest mark are read.

    Raises: NoSuchFile when the directory is missing; DiskError.
    """
    names = disk.list(directory)
    report = StorageReport(directory)
    checkpoints, odd = load_checkpoints(disk, directory)
    report.problems += [f"{directory}/{name} is not a valid checkpoint" for name in odd]
    newest = checkpoints[0] if checkpoints else None
    if newest is not None:
        report.mark_sequence, report.mark_generation = newest.sequence, newest.generation
        report.is_clean, report.streams = newest.clean, len(newest.streams[0])
        # With one generation, what is older than it is needed by no mark.
        report.older_mark_sequence = checkpoints[-1].sequence
    witness = load_witness(disk, directory)
    marks = [checkpoint.durable_sequence for checkpoint in checkpoints]
    report.witnessed_sequence = max([*marks, witness.durable_sequence if witness else 0])
    report.end_sequence = report.mark_sequence
    listed = _listed(newest) if newest is not None else {}
    bases = sorted(base for name in names if (base := base_version_of(name)) is not None)
    for row, base in enumerate(bases):
        path = f"{directory}/{base:020d}{SUFFIX}"
        try:
            extent = listed.get(base) or _scanned(disk, path, report.mark_sequence)
            is_last = row == len(bases) - 1
            index = _index_state(disk, path, base, extent.salt, is_last=is_last)
        except NoSuchFile:
            continue  # retention was faster
        except ValueError as error:
            report.problems.append(str(error))
            continue
        role = _role(report, extent, is_last=is_last)
        report.segments.append(SegmentState(path, *extent[:3], role, *index))
        report.bytes_after_mark += extent.bytes_after_mark
        report.end_sequence = max(report.end_sequence, extent.next_sequence)
    report.frames_after_mark = report.end_sequence - report.mark_sequence
    return report


def _role(report: StorageReport, extent: _Extent, *, is_last: bool) -> Role:
    if extent.retired:
        return Role.RETIRED
    if extent.next_sequence > report.mark_sequence or is_last:
        return Role.REPLAYED
    return Role.OLDER_MARK if extent.next_sequence > report.older_mark_sequence else Role.DATA


def _listed(checkpoint: Checkpoint) -> Mapping[int, _Extent]:
    """Return what a checkpoint says of the sealed segments, by base version."""
    return {
        row[0]: _Extent(row[1], row[4], row[5], salt=row[2], retired=bool(row[8]))
        for row in zip(*checkpoint.segments, strict=True)
    }


def _scanned(disk: Disk, path: str, mark_sequence: int) -> _Extent:
    """Return what the headers of a segment's frames say.  Raises: ValueError, NoSuchFile, DiskError."""
    header = _segment_header(disk, path)
    sequence, end, after = header.base_sequence, FIRST_FRAME_POSITION, 0
    for frame in frames(disk, path):
        count = frame.header.entry_count if frame.header.kind == FrameKind.LOST else 1
        sequence = frame.header.sequence + count
        end = frame.position + frame.header.size_bytes
        if sequence > mark_sequence:
            after += frame.header.size_bytes
    return _Extent(header.base_sequence, sequence, end, after, salt=header.salt)


def _segment_header(disk: Disk, path: str) -> SegmentHeader:
    file = disk.open(path, read_only=True)
    try:
        header = decode_segment_start(PatientReader(file).read_at(0, FIRST_FRAME_POSITION))[0]
    finally:
        file.close()
    if header is None:
        raise ValueError(f"{path}: not a segment: no valid header at byte 0 or 512")
    return header


def _index_state(disk: Disk, path: str, base: int, salt: int, *, is_last: bool) -> tuple[str, int]:
    stored = path.removesuffix(SUFFIX) + INDEX_SUFFIX
    if disk.exists(stored):
        data = read_file(disk, stored)
        whole = decode_index(data, base_version=base, seed=seed_of(salt)) is not None
        return ("sealed" if whole else "rebuilt"), len(data)
    part = part_path(path)
    if disk.exists(part):
        return "parts", len(read_file(disk, part))
    return ("memory" if is_last else "rebuilt"), 0
