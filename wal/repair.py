"""Repair of one vnode's log, which gives up damaged bytes: an operator's decision, made offline.

No good bytes are given up. Where frames can no longer be read, a LOST frame takes their place: it counts
them, so that sequences continue, and the frames after it stay. Streams then have a gap in their offsets, like
compacted topics, or end earlier than before; in that case offsets are assigned again, and a new leader epoch
in every stream tells consumers so (KIP-320). Replaced bytes are kept under other names.

    frames inside a segment      copied aside, overwritten by a LOST frame up to the next valid one
    a file that is not ours      renamed to *.damaged; the frames that it should hold count as missing
    a segment that is missing    replaced by one that holds a LOST frame
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wal.disk import Disk, File
from wal.format import (
    FIRST_FRAME_POSITION,
    HEADER_BYTES,
    FrameHeader,
    FrameKind,
    decode_segment_start,
    encode_frame,
    encode_segment_start,
    seed_of,
)
from wal.jobs import make_spare
from wal.log import VnodeLog
from wal.options import LogOptions
from wal.recovery import Recovery
from wal.recovery_report import Fault, FaultKind
from wal.scan import survey_after
from wal.segment import (
    ANOTHER_HISTORY,
    DAMAGED_SUFFIX,
    INDEX_SUFFIX,
    REPAIRED,
    SUFFIX,
    TEMPORARY,
    Segment,
    header_of,
    part_path,
    segment_name,
)
from wal.state import LogState
from wal.torn import keep_copy, written_bytes
from wal.unreadable import PatientReader

FAULTS_MAX = 10_000
"""The most damages repaired in one run; a log with more is not worth repairing frame by frame."""


@dataclass(slots=True)
class RepairReport:
    """The findings of a repair, and its actions when it was allowed to act."""

    damages: list[str] = field(default_factory=list)
    """Each damage in one sentence."""
    lost_frames: int = 0
    kept: list[str] = field(default_factory=list)
    """The files that hold replaced bytes."""
    mended: bool = False
    """Whether the log can be opened and written again."""


def repair(
    disk: Disk, directory: str, *, options: LogOptions, now_ms: int, accept_loss: bool
) -> RepairReport:
    """Repair a vnode's log; without `accept_loss` only report the first damage. The log must not be open.

    Raises: DiskError.
    """
    report = RepairReport()
    for _ in range(FAULTS_MAX):
        recovery = Recovery(disk, directory, options, now_ms, thorough=True)
        state = recovery.run()
        if recovery.report.damage is None:
            report.mended = True
            break
        report.damages.append(str(recovery.report.damage))
        if not accept_loss:
            break
        if len(report.damages) == 1:
            _mark(disk, directory)
        _mend(recovery, state, report, now_ms)
    if report.mended and accept_loss and disk.exists(f"{directory}/{ANOTHER_HISTORY}"):
        _finish_streams(disk, directory, options, now_ms)
    return report


def _mark(disk: Disk, directory: str) -> None:
    """Have the next start finish the streams, should a crash come before this run does."""
    file = disk.open(f"{directory}/{ANOTHER_HISTORY}", create=True)
    try:
        file.write_at(0, [REPAIRED])
        file.sync()
    finally:
        file.close()
    disk.sync_directory(directory)


def _mend(recovery: Recovery, state: LogState, report: RepairReport, now_ms: int) -> None:
    fault = recovery.fault
    assert fault is not None
    if fault.kind == FaultKind.FRAMES:
        _overwrite_frames(state, fault, report, now_ms)
        return
    match fault.kind:
        case FaultKind.FILE:
            _set_aside(state, fault.path, report)
        case FaultKind.GAP:
            _replace(state, _gap_segment(state, fault), fault, recovery.previous_crc, report, now_ms)
        case FaultKind.END:
            version = recovery.witness.version if recovery.witness is not None else 0
            state.written_version = max(state.written_version, version)
            segment = state.new_segment(fault.base_version, fault.due)
            _replace(state, segment, fault, recovery.previous_crc, report, now_ms)
        case FaultKind.SEGMENT:
            assert recovery.missing is not None
            _replace(state, recovery.missing, fault, recovery.previous_crc, report, now_ms)
    report.lost_frames += fault.next_sequence - fault.due


def _overwrite_frames(state: LogState, fault: Fault, report: RepairReport, now_ms: int) -> None:
    """Put a LOST frame over the bad bytes, up to a valid frame or the end of what was written."""
    file = state.disk.open(fault.path)
    try:
        header, _ = decode_segment_start(PatientReader(file).read_at(0, FIRST_FRAME_POSITION))
        assert header is not None
        seed = seed_of(header.salt)
        fault = _with_room(file, fault, seed)
        end = fault.end_position
        bad = written_bytes(file, fault.position) if end is None else b""
        if end is None:
            end = fault.position + max(HEADER_BYTES, len(bad))
        else:
            bad = PatientReader(file).read_at(fault.position, end - fault.position)
        aside = state.path(f"damaged-{fault.base_version:020d}-{fault.position}.bin")
        keep_copy(state.disk, aside, bad)
        report.kept.append(aside)
        for path in (fault.path.removesuffix(SUFFIX) + INDEX_SUFFIX, part_path(fault.path)):
            if state.disk.exists(path):
                state.disk.remove(path)  # derived, and wrong from now on, also after a crash: it is rebuilt
        state.disk.sync_directory(state.directory)
        frame = _lost_frame(state, fault, seed, now_ms, size_bytes=end - fault.position)
        file.write_at(fault.position, [frame])
        file.sync()
        report.lost_frames += fault.next_sequence - fault.due
    finally:
        file.close()


def _with_room(file: File, fault: Fault, seed: int) -> Fault:
    """Return the fault up to a valid frame that leaves room for a LOST one.

    A nearer one does not lie where it was written, as a frame needs at least that room.
    """
    while fault.end_position is not None and fault.end_position - fault.position < HEADER_BYTES:
        after = survey_after(file, seed=seed, position=fault.end_position + 1, sequence=fault.next_sequence)
        found = after.sequence > fault.next_sequence
        fault = fault._replace(
            next_sequence=after.sequence if found else fault.next_sequence + 1,
            end_position=after.position if found else None,
        )
    return fault


def _lost_frame(
    state: LogState, fault: Fault, seed: int, now_ms: int, *, size_bytes: int = HEADER_BYTES
) -> bytes:
    header = FrameHeader(
        kind=FrameKind.LOST,
        sequence=fault.due,
        durable_sequence=fault.due,
        base_version=state.written_version,
        entry_count=fault.next_sequence - fault.due,
        record_count=0,
        table_bytes=0,
        payload_bytes=0,
        ingest_ms=now_ms,
        table_crc=0,
    )
    return encode_frame(header, b"", seed, padding_bytes=size_bytes - HEADER_BYTES)[0]


def _set_aside(state: LogState, path: str, report: RepairReport) -> None:
    state.disk.rename(path, path + DAMAGED_SUFFIX)
    state.disk.sync_directory(state.directory)
    report.kept.append(path + DAMAGED_SUFFIX)


def _gap_segment(state: LogState, fault: Fault) -> Segment:
    """Return a segment for the gap; its name must lie between those of its neighbours."""
    before = state.segments.all[-1] if state.segments.all else None
    wanted = max(before.next_version, before.base_version + 1) if before is not None else 0
    return state.new_segment(min(wanted, fault.base_version - 1), fault.due)


def _replace(
    state: LogState,
    segment: Segment,
    fault: Fault,
    previous_crc: int,
    report: RepairReport,
    now_ms: int,
) -> None:
    """Make the missing segment, with only a LOST frame in it; an index that it left behind is set aside."""
    if state.disk.exists(segment.index_path):
        _set_aside(state, segment.index_path, report)
    header = header_of(segment, vnode_id=state.options.vnode_id, previous_crc=previous_crc, created_ms=now_ms)
    frame = _lost_frame(state, fault, segment.seed, now_ms)
    temporary = state.path(TEMPORARY)
    file = make_spare(state.disk, temporary, state.options.segment_bytes)
    try:
        file.write_at(0, [encode_segment_start(header), frame])
        file.sync()
    finally:
        file.close()
    state.disk.rename(temporary, state.path(segment_name(segment.base_version)))
    state.disk.sync_directory(state.directory)


def _finish_streams(disk: Disk, directory: str, options: LogOptions, now_ms: int) -> None:
    """Begin a leader epoch in every stream, and fill the gap where a stream lost its newest batches.

    The epoch is above those that were lost, with which ids of messages (wal/ledgers.py) were given out.
    A high watermark above the last batch would stall consumers, so an empty batch takes the lost offsets.
    A start of the log does both, as it is marked.
    """
    VnodeLog.open(disk, directory, options=options, now_ms=now_ms).close(now_ms)
