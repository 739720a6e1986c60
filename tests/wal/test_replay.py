"""Replaying the frames of a log gives the state that writing them gave, wherever it begins."""

from __future__ import annotations

import random

import pytest

from tests.wal.logs import batch, commit, new_state, open_log
from wal.format import FIRST_FRAME_POSITION, FrameKind
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.producers import ProducerStamp
from wal.replay import replay_frame
from wal.scan import FoundFrame, Scan
from wal.state import LogState

OPTIONS = LogOptions(min_free_bytes=0, seal_interval_ms=0)


def found_frames(log: VnodeLog) -> list[FoundFrame]:
    (segment,) = log._state.segments.all
    assert segment.shared is not None
    file = segment.shared.file
    return list(Scan(file, seed=segment.seed, position=FIRST_FRAME_POSITION, sequence=0))


def view(state: LogState) -> object:
    """Return all that replay restores; for the largest timestamp any offset in its extent will do."""
    return (
        {
            stream_id: (
                stream.log_start, stream.high_watermark, stream.next_offset, stream.size_bytes,
                stream.max_timestamp, stream.leader_epoch, stream.epochs,
            )
            for stream_id, stream in state.streams.items()
        },
        {stream_id: state.producers.of(stream_id).describe() for stream_id in state.streams},
        state.retired_bases,
    )  # fmt: skip


def busy_log(seed: int) -> VnodeLog:
    """Return a log with batches, producers, moved starts, drops, epochs and seals."""
    chance = random.Random(seed)
    log = open_log(MemoryDisk(), OPTIONS)
    for now_ms in range(0, 30_000, 1_000):
        for _ in range(chance.randrange(4)):
            append(log, chance)
        stream_id = chance.randrange(4)
        match chance.randrange(8):
            case 0:
                log.set_log_start(stream_id, log.high_watermark(stream_id))
            case 1:
                log.set_leader_epoch(stream_id, log.leader_epoch(stream_id) + 1)
            case 2:
                log.append_meta(stream_id, b"note")
            case 3 if now_ms > 20_000:
                log.drop_stream(3)
        commit(log, now_ms)
        commit(log, now_ms + 500)
    return log


def append(log: VnodeLog, chance: random.Random) -> None:
    stream_id, producer_id = chance.randrange(3), chance.randrange(-1, 2)
    if producer_id < 0:
        log.append(stream_id, batch(chance.randrange(1, 4), timestamp=chance.randrange(1_000)))
        return
    described = {producer.producer_id: producer for producer in log.producers(stream_id).describe()}
    sequence = described[producer_id].last_sequence + 1 if producer_id in described else 0
    stamp = ProducerStamp(producer_id, 0, sequence, 2)
    data = batch(2, producer=(producer_id, 0, sequence), timestamp=chance.randrange(1_000))
    log.append(stream_id, data, producer=stamp)


@pytest.mark.parametrize("seed", range(8))
def test_replay_gives_the_state_that_writing_gave(seed: int) -> None:
    log = busy_log(seed)
    replayed = new_state(MemoryDisk(), OPTIONS)

    for frame in found_frames(log):
        replay_frame(replayed, frame)

    assert view(replayed) == view(log._state)


@pytest.mark.parametrize("seed", range(4))
def test_replaying_what_the_state_contains_changes_nothing(seed: int) -> None:
    log = busy_log(seed)
    frames = found_frames(log)
    before = view(log._state)

    for frame in frames[len(frames) // 2 :]:
        replay_frame(log._state, frame)

    assert view(log._state) == before


def test_offsets_are_those_of_the_frame_not_counted_anew() -> None:
    log = open_log(MemoryDisk(), OPTIONS)
    log.append(1, batch(5))
    commit(log)
    log.append(1, batch(3, timestamp=70))
    commit(log)
    replayed = new_state(MemoryDisk(), OPTIONS)

    replay_frame(replayed, found_frames(log)[1])

    stream = replayed.streams[1]
    assert (stream.high_watermark, stream.next_offset, stream.max_timestamp_offset) == (8, 8, 5)


def test_frames_without_entries_change_nothing() -> None:
    log = open_log(MemoryDisk(), OPTIONS)
    log.append(1, batch())
    commit(log)
    commit(log, 5_000)
    plain = [frame for frame in found_frames(log) if frame.header.kind != FrameKind.DATA]
    replayed = new_state(MemoryDisk(), OPTIONS)

    for frame in plain:
        replay_frame(replayed, frame)

    assert [frame.header.kind for frame in plain] == [FrameKind.PAD, FrameKind.SEAL]
    assert replayed.streams == {}


def test_a_frame_that_was_only_skimmed_cannot_be_replayed() -> None:
    log = open_log(MemoryDisk(), OPTIONS)
    log.append(1, batch())
    commit(log)
    (frame,) = found_frames(log)

    with pytest.raises(AssertionError):
        replay_frame(new_state(MemoryDisk(), OPTIONS), frame._replace(payload=None))
