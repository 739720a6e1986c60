"""The state of a log as a checkpoint and back, also when it is taken in slices beside other work."""

from __future__ import annotations

import pytest

from tests.wal.logs import DIRECTORY, batch, commit, maintain, new_state, open_log, small_options
from wal.checkpoint import write_checkpoint
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.producers import NEW, Duplicate, ProducerStamp
from wal.snapshot import Capture, restore
from wal.state import LogState


@pytest.fixture
def slices_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wal.snapshot.STREAMS_PER_STEP", 2)


def captured(log: VnodeLog, *, clean: bool = False) -> Capture:
    return Capture(log._state, generation=4, clean=clean)


def restored(log: VnodeLog, capture: Capture, *, now_ms: int = 0) -> LogState:
    while not capture.step():
        pass
    state = new_state(MemoryDisk(), log._state.options, now_ms=now_ms)
    for segment in restore(state, capture.finish()):
        state.segments.add(segment)
    return state


def streams(state: LogState) -> dict[int, tuple[object, ...]]:
    return {
        stream.stream_id: (
            stream.log_start, stream.high_watermark, stream.next_offset, stream.size_bytes,
            stream.max_timestamp, stream.max_timestamp_offset, stream.leader_epoch, stream.epochs,
        )
        for stream in state.streams.values()
    }  # fmt: skip


def busy_log() -> VnodeLog:
    log = open_log(MemoryDisk(), small_options(segment_bytes=4 << 10))
    for number in range(20):
        log.append(number % 5, batch(number % 3 + 1, body=bytes(700), timestamp=number))
        commit(log)
    log.set_log_start(1, 4)
    log.set_leader_epoch(2, 1)
    commit(log)
    log.append(2, batch())
    log.set_leader_epoch(2, 3)
    commit(log)
    return log


def test_a_capture_that_is_not_done_cannot_be_finished(slices_of_two: None) -> None:
    capture = captured(busy_log())
    assert not capture.step()

    with pytest.raises(AssertionError):
        capture.finish()


def test_every_stream_comes_back_as_it_was(slices_of_two: None) -> None:
    log = busy_log()

    state = restored(log, captured(log))

    assert streams(state) == streams(log._state)
    assert state.streams[2].epochs == ((1, 9), (3, 10))


def test_the_next_frame_and_version_come_back() -> None:
    log = busy_log()
    before = log._state

    state = restored(log, captured(log))

    assert state.next_sequence == state.durable_sequence == before.next_sequence
    assert state.written_version == state.next_version == before.written_version
    assert state.expected_crc == before.expected_crc


def test_sealed_segments_come_back_and_the_active_one_is_scanned() -> None:
    log = busy_log()
    *sealed, active = log._state.segments.all
    sealed[1].retired = True

    state = restored(log, captured(log))

    assert not active.sealed
    found = state.segments.all
    assert [(segment.path, segment.base_sequence, segment.seed) for segment in found] == [
        (segment.path, segment.base_sequence, segment.seed) for segment in sealed
    ]
    assert [
        (segment.next_version, segment.next_sequence, segment.end_position, segment.last_crc)
        for segment in found
    ] == [
        (segment.next_version, segment.next_sequence, segment.end_position, segment.last_crc)
        for segment in sealed
    ]
    assert [segment.totals.max_timestamp for segment in found] == [
        segment.totals.max_timestamp for segment in sealed
    ]
    assert all(segment.sealed and segment.index_stored for segment in found)
    assert state.retired_bases == {sealed[1].base_version}


def test_what_is_not_synced_is_in_no_checkpoint() -> None:
    log = busy_log()
    log.append(1, batch(50))
    log.append(77, batch(1))

    state = restored(log, captured(log))

    assert state.streams[1].next_offset == log.high_watermark(1)
    assert (state.streams[77].next_offset, state.streams[77].size_bytes) == (0, 0)


def test_what_is_committed_between_slices_is_skipped_by_replay(slices_of_two: None) -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for number in range(9):
        log.append(number, batch(2))
    commit(log)
    capture = captured(log)
    frames = 0
    while not capture.step():
        frames += 1
        log.append(8, batch(1, body=b"%d" % frames))
        log.append(0, batch(1, body=b"%d" % frames))
        commit(log)
    write_checkpoint(disk, DIRECTORY, capture.finish())

    again = open_log(disk)

    assert (again.recovery.frames, frames) == (4, 4)
    assert streams(again._state) == streams(log._state)


def test_a_stream_that_is_dropped_between_slices_is_left_out(slices_of_two: None) -> None:
    log = busy_log()
    capture = captured(log)
    capture.step()
    log.drop_stream(0)
    log.drop_stream(4)
    commit(log)

    state = restored(log, capture)

    # Stream 4 was captured before; its drop is in a frame that will be replayed.
    assert sorted(state.streams) == [1, 2, 3, 4]


def test_a_clean_checkpoint_says_so() -> None:
    log = busy_log()

    for clean in (False, True):
        capture = captured(log, clean=clean)
        while not capture.step():
            pass
        assert capture.finish().clean is clean


def test_producers_come_back_and_their_idle_time_begins_anew() -> None:
    log = open_log(MemoryDisk(), small_options(producer_expiry_ms=1_000))
    stamp = ProducerStamp(7, 0, 0, 2)
    log.append(1, batch(2, producer=(7, 0, 0), timestamp=55), producer=stamp)
    commit(log)

    state = restored(log, captured(log), now_ms=900_000)

    assert state.producers.of(1).check(stamp) == Duplicate(0, 1, 55)
    state.producers.expire(900_999)
    assert state.producers.of(1).check(stamp) == Duplicate(0, 1, 55)
    state.producers.expire(901_000)
    assert state.producers.of(1).check(ProducerStamp(7, 0, 50, 1)) == NEW


def test_an_empty_log_has_a_checkpoint_too() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log._maintenance.checkpoint_wanted = True

    assert "CheckpointJob" in maintain(log)

    assert "checkpoint.0" in disk.list(DIRECTORY)
    assert streams(open_log(disk)._state) == {}
