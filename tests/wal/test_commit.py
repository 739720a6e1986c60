"""Group commit: nothing takes effect before a job is done, and a failed job's announcements are undone."""

from __future__ import annotations

import pytest

from tests.wal.logs import add_batch, batch, new_state, small_options
from wal.commit import (
    FULL_SEGMENT_BYTES,
    Advanced,
    begin_commit,
    begin_seal,
    commit_done,
    roll_back,
    roll_done,
)
from wal.format import (
    FIRST_FRAME_POSITION,
    FOOTER,
    FOOTER_FRAME_BYTES,
    FORMAT,
    HEADER_BYTES,
    SEAL_BLOCK_BYTES,
    FrameKind,
    decode_segment_start,
)
from wal.frame import OpenFrame
from wal.jobs import CommitJob, make_spare
from wal.memory_disk import MemoryDisk
from wal.meta import log_start_meta
from wal.options import LogOptions
from wal.scan import FoundFrame, Scan
from wal.segment import Segment
from wal.state import LogState

ROOM = 16 << 10
"""The size of a segment in these tests."""


def state_with(disk: MemoryDisk | None = None, options: LogOptions | None = None) -> LogState:
    return new_state(disk or MemoryDisk(), options or small_options(segment_bytes=ROOM))


def frame_of(state: LogState, *sizes: int, stream_id: int = 1) -> OpenFrame:
    """Return the open frame, with a batch of two records of each size."""
    frame = OpenFrame(state.next_version)
    for size in sizes:
        add_batch(frame, state.stream(stream_id), batch(2, body=bytes(size), timestamp=size))
    state.next_version = frame.next_version
    return frame


def done(state: LogState, job: CommitJob) -> list[Advanced]:
    job.run()
    return commit_done(state, job)


def committed(state: LogState, *sizes: int, now_ms: int = 0) -> CommitJob:
    job = begin_commit(state, frame_of(state, *sizes), now_ms)
    done(state, job)
    return job


def frames_in(segment: Segment) -> list[FoundFrame]:
    assert segment.shared is not None
    return list(
        Scan(
            segment.shared.file,
            seed=segment.seed,
            position=FIRST_FRAME_POSITION,
            sequence=segment.base_sequence,
        )
    )


def view(state: LogState) -> object:
    """Return everything that a job may change."""
    active = state.active
    return (
        state.written_version, state.next_sequence, state.durable_sequence, state.expected_crc,
        [segment.path for segment in state.segments.all],
        (active.end_position, active.sealed, active.last_crc, active.totals) if active is not None else None,
        [
            (stream.high_watermark, stream.size_bytes, stream.max_timestamp)
            for stream in state.streams.values()
        ],
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [[100], [15_000]])
def test_a_job_that_was_not_run_changes_nothing(sizes: list[int]) -> None:
    state = state_with()
    committed(state, 9_000)
    frame = frame_of(state, *sizes)
    before = view(state)

    begin_commit(state, frame, 0)
    begin_seal(state, 0)

    assert view(state) == before


def test_a_finished_job_lets_readers_read_further() -> None:
    state = state_with()
    frame = frame_of(state, 100, 50)
    add_batch(frame, state.stream(2), batch(5, body=bytes(10)))
    job = begin_commit(state, frame, 0)

    assert done(state, job) == [Advanced(1, 4, 272), Advanced(2, 5, 71)]

    first, second = state.streams[1], state.streams[2]
    assert (first.high_watermark, first.size_bytes, first.max_timestamp) == (4, 272, 100)
    assert (second.high_watermark, second.size_bytes) == (5, 71)
    assert (state.written_version, state.next_sequence, state.durable_sequence) == (9, 1, 1)


def test_meta_entries_take_effect_when_their_frame_is_done() -> None:
    state = state_with()
    committed(state, 100)
    frame = frame_of(state, 100)
    frame.add_meta(1, log_start_meta(2, 161))
    state.next_version = frame.next_version
    job = begin_commit(state, frame, 0)
    job.run()
    before = state.streams[1].log_start

    commit_done(state, job)

    stream = state.streams[1]
    assert (before, stream.log_start, stream.size_bytes) == (0, 2, 161)


def test_the_first_frame_makes_a_segment_that_repeats_what_came_before() -> None:
    state = state_with()
    state.next_version = state.written_version = 40
    state.next_sequence = state.durable_sequence = 7
    state.expected_crc = 0xABCD

    committed(state, 100, now_ms=5)

    (segment,) = state.segments.all
    assert segment.shared is not None
    header, both = decode_segment_start(segment.shared.file.read_at(0, FIRST_FRAME_POSITION))
    assert both
    assert header == (0, 40, 7, segment.salt, 0xABCD, 5, FORMAT)
    assert [frame.header.sequence for frame in frames_in(segment)] == [7]


def test_frames_carry_the_wall_clock() -> None:
    state = state_with()
    state.wall_offset_ms = 1_000_000

    committed(state, 10, now_ms=5)

    assert [frame.header.ingest_ms for frame in frames_in(state.segments.all[0])] == [1_000_005]


def test_a_frame_that_does_not_fit_rolls_and_proves_the_old_segment_synced() -> None:
    state = state_with()
    committed(state, 9_000)
    job = committed(state, 7_000)

    old, new = state.segments.all
    assert (old.sealed, new.sealed) == (True, False)
    assert [frame.header.kind for frame in frames_in(old)] == [FrameKind.DATA, FrameKind.FOOTER]
    (frame,) = frames_in(new)
    assert (frame.header.sequence, frame.header.durable_sequence) == (2, 2)
    assert job.seal is not None
    assert new.shared is not None
    header, _ = decode_segment_start(new.shared.file.read_at(0, FIRST_FRAME_POSITION))
    assert header is not None
    assert header.previous_crc == old.last_crc == job.seal.footer_crc
    assert old.shared is not None
    assert old.shared.file.size() == old.end_position


def test_a_footer_states_what_the_segment_holds() -> None:
    state = state_with()
    committed(state, 4_000, 4_500)
    committed(state, 9_000)

    *data, footer = frames_in(state.segments.all[0])

    totals = FOOTER.unpack(bytes(footer.table))
    assert totals[:6] == (1, 2, 4, 4_000 + 4_500 + 122, 4_500, 4)
    assert len(data) == 1


def test_a_segment_that_is_nearly_full_gets_its_footer_with_the_frame() -> None:
    state = state_with()
    size = ROOM - FIRST_FRAME_POSITION - 2 * FOOTER_FRAME_BYTES - HEADER_BYTES - 48 - 61

    job = committed(state, size)

    (segment,) = state.segments.all
    assert job.closes
    assert segment.sealed
    assert job.seal is None
    assert [frame.header.kind for frame in frames_in(segment)] == [FrameKind.DATA, FrameKind.FOOTER]
    assert segment.shared is not None
    assert segment.shared.file.size() == segment.end_position == job.position + job.size_bytes
    assert committed(state, 10).seal is None


def test_a_segment_that_holds_no_version_takes_any_frame() -> None:
    state = state_with()
    committed(state, 9_000)
    state.segments.all[0].next_version = 0

    job = begin_commit(state, frame_of(state, 15_000), 0)

    assert job.segment is state.segments.all[0]
    assert job.create is None


def test_a_frame_larger_than_a_segment_gets_one_of_its_size() -> None:
    state = state_with()

    job = committed(state, 100_000)

    assert job.create is not None
    assert job.create.capacity == FIRST_FRAME_POSITION + HEADER_BYTES + 48 + 100_061 + FOOTER_FRAME_BYTES
    assert job.closes


def test_on_a_full_disk_a_new_segment_takes_little_of_the_reserve() -> None:
    state = state_with(options=LogOptions())
    state.full = True

    job = begin_commit(state, frame_of(state, 10), 0)

    assert job.create is not None
    assert job.create.capacity == FULL_SEGMENT_BYTES


def test_a_spare_of_the_right_size_is_taken_once() -> None:
    disk = MemoryDisk()
    state = state_with(disk)
    state.spare = make_spare(disk, state.path("spare.tmp"), ROOM)

    job = begin_commit(state, frame_of(state, 10), 0)

    assert job.create is not None
    assert job.create.temporary_path == state.path("spare.tmp")
    taken = state.spare is None, state.spare_in_use
    done(state, job)
    assert (taken, state.spare_in_use) == ((True, True), False)


def test_a_spare_of_another_size_is_left() -> None:
    disk = MemoryDisk()
    state = state_with(disk)
    state.spare = make_spare(disk, state.path("spare.tmp"), ROOM)

    job = begin_commit(state, frame_of(state, 20_000), 0)

    assert job.create is not None
    assert job.create.temporary_path == state.path("next.tmp")
    assert state.spare is not None


@pytest.mark.parametrize("to_boundary", [0, 1, 63, 64, 65, 4_000])
def test_a_seal_lies_alone_in_its_block(to_boundary: int) -> None:
    state = state_with()
    size = 2 * SEAL_BLOCK_BYTES - FIRST_FRAME_POSITION - HEADER_BYTES - 48 - 61 - to_boundary
    committed(state, size)
    assert -state.segments.all[0].end_position % SEAL_BLOCK_BYTES == to_boundary

    job = begin_seal(state, 9)
    assert done(state, job) == []

    *_, seal = frames = frames_in(state.segments.all[0])
    kinds = [FrameKind.DATA, *[FrameKind.PAD] * (to_boundary > 0), FrameKind.SEAL]
    assert [frame.header.kind for frame in frames] == kinds
    assert seal.position % SEAL_BLOCK_BYTES == 0
    assert seal.header.size_bytes == SEAL_BLOCK_BYTES
    assert job.segment.end_position == seal.next_position
    assert state.durable_sequence == state.next_sequence == len(kinds)


def test_a_seal_vouches_for_what_was_synced_before_and_not_for_itself() -> None:
    state = state_with()
    committed(state, 10)
    committed(state, 10)

    done(state, begin_seal(state, 0))

    assert [frame.header.durable_sequence for frame in frames_in(state.segments.all[0])] == [0, 1, 2, 2]


def test_durability_os_syncs_no_ordinary_frame_but_seals_and_footers() -> None:
    state = state_with(options=small_options(segment_bytes=ROOM, durability="os"))

    job = committed(state, 100)

    assert not job.needs_sync
    assert (state.next_sequence, state.durable_sequence) == (1, 0)
    assert begin_seal(state, 0).needs_sync
    assert begin_commit(state, frame_of(state, 14_700), 0).needs_sync


def test_a_new_segment_after_unsynced_frames_is_preceded_by_their_sync() -> None:
    state = state_with(options=small_options(segment_bytes=ROOM, durability="os"))
    committed(state, 9_000)
    committed(state, 9_000)

    (frame,) = frames_in(state.segments.all[1])
    assert frame.header.durable_sequence == 2
    assert state.durable_sequence == 2


def test_everything_pending_is_taken_back() -> None:
    state = state_with()
    committed(state, 10)
    failed = frame_of(state, 10, 10)
    state.pending.append(frame_of(state, 10, stream_id=2))
    state.pending[0].add_meta(9, b"\0")

    roll_back(state, [failed])

    assert {stream.stream_id: stream.next_offset for stream in state.streams.values()} == {1: 2, 2: 0}
    assert (list(state.pending), state.next_version, state.written_version) == ([], 2, 2)


def test_a_roll_that_worked_counts_though_the_frame_was_not_written() -> None:
    state = state_with()
    committed(state, 9_000)
    frame = frame_of(state, 7_000)
    job = begin_commit(state, frame, 0)
    job.run()

    roll_done(state, job)
    roll_back(state, [frame])

    old, new = state.segments.all
    assert old.sealed
    assert (new.end_position, new.next_version) == (FIRST_FRAME_POSITION, 2)
    assert (state.next_sequence, state.durable_sequence, state.expected_crc) == (2, 2, old.last_crc)
    assert state.next_version == 2


def test_no_two_segments_bear_the_same_name() -> None:
    """A segment sealed before it held a version has the name that the next one would otherwise get."""
    state = state_with()
    committed(state, 10)
    active = state.segments.all[0]
    active.sealed = True
    active.base_version = state.next_version = state.written_version = 2

    roll_back(state, [])

    assert state.next_version == state.written_version == 3


def spread_frame(state: LogState, streams: int) -> OpenFrame:
    """Return the open frame, with a small batch of each of so many streams."""
    frame = OpenFrame(state.next_version)
    for stream_id in range(1, streams + 1):
        add_batch(frame, state.stream(stream_id), batch())
    state.next_version = frame.next_version
    return frame


def test_the_frame_by_which_a_segment_has_enough_extents_closes_it() -> None:
    state = state_with(options=small_options(segment_bytes=1 << 20, segment_extents_max=10))

    assert [begin_and_end(state, 4).closes for _ in range(4)] == [False, False, True, False]
    first, second = state.segments.all
    assert (first.sealed, second.sealed) == (True, False)
    assert [len(known.index.base) for known in (first, second) if known.index is not None] == [12, 4]
    assert first.end_position < 4 << 10, "the bytes would have had room"


def test_one_frame_may_have_more_extents_than_a_segment_is_closed_with() -> None:
    state = state_with(options=small_options(segment_bytes=1 << 20, segment_extents_max=10))

    assert [begin_and_end(state, 25).closes for _ in range(2)] == [True, True]


def begin_and_end(state: LogState, streams: int) -> CommitJob:
    job = begin_commit(state, spread_frame(state, streams), 0)
    done(state, job)
    return job


def test_on_a_full_disk_a_segment_takes_more_extents_as_there_is_no_room_for_another() -> None:
    state = state_with(options=small_options(segment_bytes=1 << 20, segment_extents_max=10))
    begin_and_end(state, 4)
    state.full = True

    assert not begin_and_end(state, 8).closes
    state.full = False
    assert begin_and_end(state, 1).closes
