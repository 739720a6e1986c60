"""The complete check of a sealed segment: header, every frame and every batch, up to its known end."""

from __future__ import annotations

from wal.disk import Disk
from wal.errors import LogDamaged
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.recovery_report import Fault, FaultKind
from wal.scan import Scan, survey_after
from wal.segment import SUFFIX, Segment
from wal.state import LogState

DAMAGE_SUFFIX = ".damage"
"""An empty file next to a segment that a scrub found damaged: the next start checks that segment again."""

FIRST_PASS_AFTER_MS = 600_000
"""The delay between the start and the first pass: a start has more urgent work."""


class Scrubbing:
    """The schedule of scrubs: all sealed segments in order, slowly, then a pause."""

    def __init__(self, now_ms: int) -> None:
        self.due_ms = now_ms + FIRST_PASS_AFTER_MS
        self._pass_began_ms = self.due_ms
        self._after = -1
        """The base version of the segment that was read last."""

    def wants(self, state: LogState) -> bool:
        """Return whether there is something to read, now or later."""
        return state.options.scrub_bytes_per_second > 0 and any(
            segment.sealed for segment in state.segments.all
        )

    def next_segment(self, state: LogState, now_ms: int) -> Segment | None:
        """Return the segment to read now, if one is due."""
        if now_ms < self.due_ms or not self.wants(state):
            return None
        for segment in state.segments.all:
            if segment.sealed and segment.base_version > self._after:
                if self._after < 0:
                    self._pass_began_ms = now_ms
                self._after = segment.base_version
                self.due_ms = now_ms + segment.end_position * 1_000 // state.options.scrub_bytes_per_second
                return segment
        self._after = -1
        self.due_ms = max(self.due_ms, self._pass_began_ms + state.options.scrub_pass_ms)
        return None


def scrub(disk: Disk, segment: Segment) -> tuple[Fault, str] | None:
    """Read all of a sealed segment; return the first fault and the problem, or None when all is well.

    Raises: NoSuchFile, DiskError.
    """
    file = disk.open(segment.path, read_only=True)
    try:
        header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
        due = segment.base_sequence
        expected = (segment.base_version, segment.base_sequence, segment.salt)
        if header is None or (header.base_version, header.base_sequence, header.salt) != expected:
            fault = Fault(FaultKind.FILE, segment.path, 0, due, due, segment.base_version)
            return fault, "the segment header is not valid, or not that of this segment"
        scan = Scan(file, seed=segment.seed, position=FIRST_FRAME_POSITION, sequence=due)
        for _ in scan:
            if scan.sequence >= segment.next_sequence:
                return None
        survey = survey_after(file, seed=segment.seed, position=scan.position + 1, sequence=scan.sequence)
        follows = survey.sequence > scan.sequence
        fault = Fault(
            FaultKind.FRAMES,
            segment.path,
            scan.position,
            scan.sequence,
            survey.sequence if follows else segment.next_sequence,
            segment.base_version,
            survey.position if follows else None,
        )
        return fault, scan.problem or "frames are missing at its end"
    finally:
        file.close()


def damage_of(disk: Disk, segment: Segment) -> LogDamaged | None:
    """Return the damage that a scrub finds in the segment.  Raises: NoSuchFile, DiskError."""
    found = scrub(disk, segment)
    if found is None:
        return None
    fault, problem = found
    return LogDamaged(segment.path, fault.position, fault.end_position or segment.end_position, problem)


def damage_path(segment: Segment) -> str:
    """Return the path of the file that records the damage across restarts."""
    return segment.path.removesuffix(SUFFIX) + DAMAGE_SUFFIX


def remember_damage(disk: Disk, directory: str, segment: Segment) -> None:
    """Make the next start check the segment before it takes an append.  Raises: DiskError."""
    disk.open(damage_path(segment), create=True).close()
    disk.sync_directory(directory)


def look_again(state: LogState, names: list[str]) -> None:
    """Scrub the segments in which damage was found before; forget those repaired or deleted since.

    `names` are those of the log's directory.  Raises: DiskError.
    """
    marked = {state.path(name) for name in names if name.endswith(DAMAGE_SUFFIX)}
    for segment in state.segments.all:
        if damage_path(segment) in marked and segment.damage is None:
            segment.damage = damage_of(state.disk, segment)
            if segment.damage is not None:
                state.scrub_damages.append(segment.damage)
                marked.discard(damage_path(segment))
    for path in marked:
        state.disk.remove(path)
