"""Group commit: the open frame becomes a job, and the outcome of the job becomes state.

`begin_commit` and `begin_seal` only prepare; nothing they decide takes effect before `commit_done`. After a
failure `roll_back` takes back everything that no finished job covers, as if it had never been appended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wal.disk import Buffer, File
from wal.format import (
    COPIES_BIT,
    ENTRY_BYTES,
    FIRST_FRAME_POSITION,
    FOOTER,
    FOOTER_FRAME_BYTES,
    FORMAT,
    HEADER_BYTES,
    SEAL_BLOCK_BYTES,
    FrameKind,
    encode_frame,
    encode_segment_start,
    plain_header,
)
from wal.frame import BuiltFrame, OpenFrame
from wal.index import ActiveIndex
from wal.jobs import CommitJob, CreatePlan, SealPlan
from wal.meta import apply_meta, undo_meta
from wal.scan import NO_TIMESTAMP
from wal.segment import SPARE, TEMPORARY, Segment, Totals, header_of
from wal.state import LogState

CLOSE_EARLY_FRACTION = 16
"""A segment with less than this fraction of its room left gets its footer with the frame, to save a sync."""


FULL_SEGMENT_BYTES = 1 << 20
"""The size of segments while the disk is full: a use of the reserve must not need a whole segment of it."""


class Advanced(NamedTuple):
    """A stream that readers may read further: its new high watermark and how many bytes came with it."""

    stream_id: int
    high_watermark: int
    added_bytes: int


@dataclass(slots=True)
class Tail:
    """The place of the next frame while a job is put together."""

    position: int
    sequence: int
    last_crc: int
    totals: Totals


def begin_commit(state: LogState, frame: OpenFrame, now_ms: int) -> CommitJob:
    """Return a job that writes `frame`, in a new segment when the active one has no room for it."""
    now_ms += state.wall_offset_ms
    segment, seal, create, tail = _target(state, frame, now_ms)
    built = frame.build(
        sequence=tail.sequence, durable_sequence=_durable(state, seal), now_ms=now_ms, seed=segment.seed
    )
    position = tail.position
    max_timestamp = max(
        (e.max_timestamp for r in frame.runs.values() for e in r.extents), default=NO_TIMESTAMP
    )
    tail.totals = tail.totals.with_frame(built.head, built.header, max_timestamp)
    tail.position += built.header.size_bytes
    tail.sequence += 1
    tail.last_crc = built.crc
    buffers = built.buffers
    room_left = segment.capacity - tail.position - FOOTER_FRAME_BYTES
    closes = room_left < segment.capacity // CLOSE_EARLY_FRACTION or _has_enough_extents(
        state, segment, frame
    )
    if closes:
        buffers.append(_footer(segment, tail, _durable(state, seal), frame.next_version, now_ms))
    return _job(state, segment, tail, position=position, buffers=buffers, built=built, closes=closes,
                seal=seal, create=create)  # fmt: skip


def begin_seal(state: LogState, now_ms: int) -> CommitJob:
    """Return a job that writes a seal, which proves, as the next frame would, how far the log was synced."""
    segment = state.active
    assert segment is not None
    now_ms += state.wall_offset_ms
    tail = Tail(segment.end_position, state.next_sequence, segment.last_crc, segment.totals)
    position = tail.position
    buffers: list[Buffer] = []
    gap = -position % SEAL_BLOCK_BYTES
    # Neither frame vouches for what this job syncs: the pad, and bytes that durability `os` has
    # not synced yet.
    durable = state.durable_sequence
    if gap:
        gap += SEAL_BLOCK_BYTES if gap < HEADER_BYTES else 0
        buffers.append(_plain(segment, tail, FrameKind.PAD, gap, durable, now_ms))
    buffers.append(_plain(segment, tail, FrameKind.SEAL, SEAL_BLOCK_BYTES, durable, now_ms))
    return _job(state, segment, tail, position=position, buffers=buffers, built=None, closes=False,
                seal=None, create=None)  # fmt: skip


def waits_for_store(state: LogState, frame: OpenFrame, now_ms: int) -> bool:
    """Whether a frame must wait for those before it to be stored, unlike one in the same segment."""
    last = state.unstored[-1]
    end = last.position + last.size_bytes + frame.size_bytes + FOOTER_FRAME_BYTES
    is_old = _is_old(last.segment, state.options.segment_ms, now_ms + state.wall_offset_ms)
    return last.closes or end > last.segment.capacity or is_old or state.options.durability != "remote"


def _target(
    state: LogState, frame: OpenFrame, now_ms: int
) -> tuple[Segment, SealPlan | None, CreatePlan | None, Tail]:
    if state.unstored:
        last = state.unstored[-1]
        tail = Tail(last.position + last.size_bytes, last.next_sequence, last.last_crc, last.totals)
        return last.segment, None, None, tail
    active = state.active
    if active is not None and not active.sealed and _takes(state, active, frame.size_bytes, now_ms):
        tail = Tail(active.end_position, state.next_sequence, active.last_crc, active.totals)
        return active, None, None, tail
    seal = None
    tail = Tail(FIRST_FRAME_POSITION, state.next_sequence, state.expected_crc, Totals())
    if active is not None and not active.sealed:
        seal = _seal_plan(state, active, now_ms)
        tail.sequence += 1
        tail.last_crc = seal.footer_crc
    segment = state.new_segment(frame.base_version, tail.sequence)
    wanted = state.options.segment_bytes
    if state.full:
        wanted = min(wanted, FULL_SEGMENT_BYTES)
    segment.capacity = max(wanted, FIRST_FRAME_POSITION + frame.size_bytes + FOOTER_FRAME_BYTES)
    segment.index = ActiveIndex()
    segment.created_ms, segment.made_ms = now_ms, state.now_ms
    header = header_of(
        segment, vnode_id=state.options.vnode_id, previous_crc=tail.last_crc, created_ms=now_ms
    )
    spare = _take_spare(state, segment.capacity)
    create = CreatePlan(
        disk=state.disk,
        directory=state.directory,
        temporary_path=state.path(TEMPORARY if spare is None else SPARE),
        path=segment.path,
        capacity=segment.capacity,
        header=encode_segment_start(header),
        spare=spare,
        reserve=state.reserve,
    )
    return segment, seal, create, tail


def _takes(state: LogState, active: Segment, size_bytes: int, now_ms: int) -> bool:
    # A segment that holds no version yet takes any frame: its successor would have the same name.
    fits = active.end_position + size_bytes + FOOTER_FRAME_BYTES <= active.capacity
    # On a full disk there is no room for a successor, but there may be some left in this one.
    is_young = state.full or not _is_old(active, state.options.segment_ms, now_ms)
    return (fits and is_young and active.format == FORMAT) or active.next_version == active.base_version


def _has_enough_extents(state: LogState, segment: Segment, frame: OpenFrame) -> bool:
    """Return whether nothing more belongs into a segment after this frame, however small that would be."""
    extents_max = state.options.segment_extents_max
    if len(segment.active_index.base) + frame.entry_count < extents_max and not state.unstored:
        return False  # each entry is one at the most
    extents = len(segment.active_index.base) + sum(len(run.extents) for run in frame.runs.values())
    extents += sum(job.entry_count for job in state.unstored)
    # On a full disk there is no room for a successor.
    return extents >= extents_max and not state.full


def _is_old(active: Segment, segment_ms: int, now_ms: int) -> bool:
    return segment_ms >= 0 and active.created_ms is not None and now_ms - active.created_ms > segment_ms


def _take_spare(state: LogState, capacity: int) -> File | None:
    spare = state.spare
    if spare is None or capacity != state.options.segment_bytes:
        return None
    state.spare = None
    state.spare_in_use = True
    return spare


def _seal_plan(state: LogState, active: Segment, now_ms: int) -> SealPlan:
    assert active.shared is not None
    tail = Tail(active.end_position, state.next_sequence, active.last_crc, active.totals)
    footer = _footer(active, tail, state.durable_sequence, active.next_version, now_ms)
    return SealPlan(
        segment=active,
        file=active.shared,
        position=active.end_position,
        footer=footer,
        footer_crc=tail.last_crc,
    )


def _footer(segment: Segment, tail: Tail, durable_sequence: int, next_version: int, now_ms: int) -> bytes:
    totals = tail.totals
    table = FOOTER.pack(*totals[:5], next_version, totals.chain_crc)
    header = plain_header(
        FrameKind.FOOTER, sequence=tail.sequence, durable_sequence=durable_sequence, version=next_version,
        now_ms=now_ms,
    )  # fmt: skip
    data, tail.last_crc = encode_frame(header, table, segment.seed)
    tail.sequence += 1
    tail.position += len(data)
    return data


def _plain(
    segment: Segment, tail: Tail, kind: FrameKind, size_bytes: int, durable_sequence: int, now_ms: int
) -> bytes:
    header = plain_header(
        kind,
        sequence=tail.sequence,
        durable_sequence=durable_sequence,
        version=segment.next_version,
        now_ms=now_ms,
    )
    data, tail.last_crc = encode_frame(header, b"", segment.seed, padding_bytes=size_bytes - HEADER_BYTES)
    full = header._replace(payload_bytes=size_bytes - HEADER_BYTES)
    tail.totals = tail.totals.with_frame(data[:HEADER_BYTES], full)
    tail.position += size_bytes
    tail.sequence += 1
    return data


def _durable(state: LogState, seal: SealPlan | None) -> int:
    """Return the first sequence not synced when the frame is written: a roll first syncs the old segment."""
    return state.durable_sequence if seal is None else state.next_sequence + 1


def _job(
    state: LogState, segment: Segment, tail: Tail, *, position: int, buffers: list[Buffer],
    built: BuiltFrame | None, closes: bool, seal: SealPlan | None, create: CreatePlan | None,
) -> CommitJob:  # fmt: skip
    return CommitJob(
        disk=state.disk,
        segment=segment,
        file=state.unstored[-1].file if state.unstored else segment.shared,
        position=position,
        buffers=buffers,
        size_bytes=tail.position - position,
        built=built,
        next_sequence=tail.sequence,
        last_crc=tail.last_crc,
        totals=tail.totals,
        closes=closes,
        needs_sync=(state.options.durability != "os" or built is None or closes or built.frame.must_sync),
        seal=seal,
        create=create,
    )


def commit_done(state: LogState, job: CommitJob) -> list[Advanced]:
    """Apply what a finished job wrote; return the streams that readers may read further."""
    roll_done(state, job)
    segment = job.segment
    segment.end_position = job.position + job.size_bytes
    segment.next_sequence = state.next_sequence = job.next_sequence
    segment.last_crc = state.expected_crc = job.last_crc
    segment.totals = job.totals
    segment.sealed = job.closes
    state.unindexed |= job.closes
    if job.needs_sync:
        state.durable_sequence = job.next_sequence
    if job.built is None:
        return []
    return _frame_done(state, segment, job.position, job.built)


def roll_done(state: LogState, job: CommitJob) -> None:
    """Apply what a job did to roll, which may have worked although the rest of the job failed."""
    if job.create is not None:
        state.spare_in_use = False
    seal = job.seal
    if seal is not None and seal.done and not seal.segment.sealed:
        old = seal.segment
        old.sealed = state.unindexed = True
        old.end_position = seal.position + len(seal.footer)
        old.last_crc = state.expected_crc = seal.footer_crc
        old.next_sequence += 1
        state.next_sequence = state.durable_sequence = old.next_sequence
    if job.create is not None and job.create.done and job.segment.shared is None:
        job.segment.shared = job.file
        state.segments.add(job.segment)


def _frame_done(state: LogState, segment: Segment, position: int, built: BuiltFrame) -> list[Advanced]:
    frame = built.frame
    index = segment.active_index
    index.add_frame(position, frame.base_version)
    segment.next_version = state.written_version = frame.next_version
    position += HEADER_BYTES + frame.entry_count * ENTRY_BYTES
    advanced = []
    kept: dict[int, list[Buffer]] = {}
    cached_bytes = 0
    for stream_id, run in frame.runs.items():
        stream = run.stream
        for extent in run.extents:
            start = position + extent.start
            index.add(
                stream_id, base=extent.base, count=extent.next_offset - extent.base, position=start,
                size=extent.size, max_timestamp=extent.max_timestamp, version=extent.version,
            )  # fmt: skip
            kept[start] = extent.buffers
            if extent.max_timestamp > stream.max_timestamp:
                stream.max_timestamp, stream.max_timestamp_offset = extent.max_timestamp, extent.base
        position += run.size_bytes
        stream.high_watermark = run.next_offset
        stream.size_bytes += run.size_bytes
        if stream.ledgers is not None:
            stream.ledgers.written(len(run.entries), run.size_bytes)
        if stream_id < COPIES_BIT:
            advanced.append(Advanced(stream_id, stream.high_watermark, run.size_bytes))
            cached_bytes += run.size_bytes
        else:
            # Copies are not read at the end of the log: they must not displace what readers there want.
            for extent in run.extents:
                del kept[position - run.size_bytes + extent.start]
    state.tail.add(segment, kept, cached_bytes)
    state.producers.durable(frame.producers_token)
    state.named.durable(frame.named_token)
    state.newest_frames.add(
        frame.base_version, frame.next_version, frame.runs, (meta.stream_id for meta in frame.metas)
    )
    for meta in frame.metas:
        apply_meta(state, meta.stream_id, meta.payload)
    return advanced


def roll_back(state: LogState, frames: list[OpenFrame]) -> None:
    """Take back what was appended in `frames` and in all frames still pending."""
    unstored = [job.built.frame for job in state.unstored if job.built is not None]
    for frame in [*frames, *unstored, *state.pending]:
        for run in frame.runs.values():
            stream = run.stream
            stream.next_offset = stream.high_watermark
            if stream.ledgers is not None:
                stream.ledgers.revert()
        for meta in frame.metas:
            undo_meta(state, meta.stream_id, meta.payload)
    state.producers.revert()
    state.named.revert()
    state.unstored.clear()
    state.pending.clear()
    active = state.active
    state.next_version = state.written_version
    if active is not None and active.sealed and active.base_version == state.next_version:
        # The next segment is named after its first version; without this it would have the same name.
        state.next_version = state.written_version = active.base_version + 1
