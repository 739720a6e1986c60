"""Check a sealed segment completely: header, every frame, every batch, up to where it is known to end."""

from __future__ import annotations

from wal.disk import Disk
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.recovery_report import Fault, FaultKind
from wal.scan import Scan, survey_after
from wal.segment import Segment


def scrub(disk: Disk, segment: Segment) -> tuple[Fault, str] | None:
    """Read all of a sealed segment; gives the first fault and what is wrong, None when all is well.

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
