"""The complete check of a segment: header, every frame and every batch, up to its known end."""

from __future__ import annotations

import struct

from crc32c import crc32c

from wal.disk import Disk
from wal.errors import LogDamaged
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.recovery_report import Fault, FaultKind
from wal.scan import Scan, survey_after
from wal.segment import SUFFIX, Segment
from wal.state import LogState
from wal.unreadable import PatientReader
from wal.whole_files import read_file

DAMAGE_SUFFIX = ".damage"
"""An empty file next to a segment that a scrub found damaged: the next start checks that segment again."""

FIRST_PASS_AFTER_MS = 600_000
"""The delay between the start and the first pass: a start has more urgent work."""

PASS_AFTER_CRASH_MS = 10_000
"""The same after a crash or a power failure, of which damage is more likely."""

SCRUB_NAME = "scrub"
"""The file that remembers how far the pass has come."""

_PLACE = struct.Struct("<8sq")
_PLACE_MAGIC = b"KAWALSCR"
_CRC = struct.Struct("<I")


class Scrubbing:
    """The schedule of scrubs: all segments in order, the active one too, slowly, then a pause.

    A pass that a stop or a crash has interrupted goes on where it was.
    """

    def __init__(self, now_ms: int, *, after: int, clean: bool) -> None:
        """`after` is what `read_place` returned; `clean` whether the log was stopped cleanly."""
        self.due_ms = now_ms + (FIRST_PASS_AFTER_MS if clean else PASS_AFTER_CRASH_MS)
        self._pass_began_ms = self.due_ms
        self._after = after
        """The base version of the segment that was read last."""

    def wants(self, state: LogState) -> bool:
        """Return whether there is something to read, now or later."""
        return state.options.scrub_bytes_per_second > 0 and bool(state.segments.all)

    def next_segment(self, state: LogState, now_ms: int) -> Segment | None:
        """Return the segment to read now, if one is due."""
        if now_ms < self.due_ms or not self.wants(state):
            return None
        for segment in state.segments.all:
            if segment.base_version > self._after and segment.remote is None:
                if self._after < 0:
                    self._pass_began_ms = now_ms
                self._after = segment.base_version
                self.due_ms = now_ms + segment.end_position * 1_000 // state.options.scrub_bytes_per_second
                return segment
        self._after = -1
        self.due_ms = max(self.due_ms, self._pass_began_ms + state.options.scrub_pass_ms)
        return None


def write_place(disk: Disk, directory: str, base_version: int) -> None:
    """Remember that the pass has read the segment; not synced, as losing it costs only a longer pass.

    Raises: DiskError.
    """
    body = _PLACE.pack(_PLACE_MAGIC, base_version)
    file = disk.open(f"{directory}/{SCRUB_NAME}", create=True)
    try:
        file.write_at(0, [body + _CRC.pack(crc32c(body))])
    finally:
        file.close()


def read_place(disk: Disk, directory: str) -> int:
    """Return the base version of the segment that the pass read last; -1 when nothing tells.

    Raises: DiskError.
    """
    path = f"{directory}/{SCRUB_NAME}"
    if not disk.exists(path):
        return -1
    data = read_file(disk, path)
    if len(data) != _PLACE.size + _CRC.size or crc32c(data[: _PLACE.size]) != _CRC.unpack(data[-4:])[0]:
        return -1
    magic, base_version = _PLACE.unpack_from(data)
    return int(base_version) if magic == _PLACE_MAGIC else -1


def place_problem(disk: Disk, segment: Segment) -> str:
    """Return what is wrong with a sealed segment's header or size; "" when nothing is.

    Raises: DiskError when the file cannot be opened.
    """
    file = disk.open(segment.path, read_only=True)
    try:
        size, start = file.size(), PatientReader(file).read_at(0, FIRST_FRAME_POSITION)
    finally:
        file.close()
    if not _is_its_header(segment, start):
        return "the segment header is not valid, or not that of this segment"
    # A repair may have put fewer bytes in the place of lost frames.
    if size < segment.end_position and scrub(disk, segment) is not None:
        return f"the file has {size} bytes, but {segment.end_position} were written"
    return ""


def _is_its_header(segment: Segment, start: bytes) -> bool:
    header, _ = decode_segment_start(start)
    expected = (segment.base_version, segment.base_sequence, segment.salt)
    return header is not None and (header.base_version, header.base_sequence, header.salt) == expected


def scrub(disk: Disk, segment: Segment) -> tuple[Fault, str] | None:
    """Read a segment up to its known end; return the first fault and the problem, None when all is well.

    Raises: NoSuchFile, DiskError.
    """
    file = disk.open(segment.path, read_only=True)
    try:
        due, end = segment.base_sequence, segment.next_sequence  # the active one grows meanwhile
        if not _is_its_header(segment, PatientReader(file).read_at(0, FIRST_FRAME_POSITION)):
            fault = Fault(FaultKind.FILE, segment.path, 0, due, due, segment.base_version)
            return fault, "the segment header is not valid, or not that of this segment"
        scan = Scan(file, seed=segment.seed, position=FIRST_FRAME_POSITION, sequence=due)
        for _ in scan:
            if scan.sequence >= end:
                return None
        if due >= end:
            return None
        survey = survey_after(file, seed=segment.seed, position=scan.position + 1, sequence=scan.sequence)
        follows = survey.sequence > scan.sequence
        fault = Fault(
            FaultKind.FRAMES,
            segment.path,
            scan.position,
            scan.sequence,
            survey.sequence if follows else end,
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
        if damage_path(segment) in marked and segment.damage is None and segment.remote is None:
            segment.damage = damage_of(state.disk, segment)
            if segment.damage is not None:
                state.scrub_damages.append(segment.damage)
                marked.discard(damage_path(segment))
    for path in marked:
        state.disk.remove(path)
