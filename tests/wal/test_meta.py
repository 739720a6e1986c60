"""Meta entries: bytes as documented, repeatable effects, announcements that may be taken back."""

from __future__ import annotations

import pytest

from tests.wal.logs import new_state
from wal.memory_disk import MemoryDisk
from wal.meta import (
    apply_meta,
    drop_meta,
    forget_stream,
    leader_epoch_meta,
    log_start_meta,
    move_log_start,
    opaque_meta,
    retired_meta,
    undo_meta,
)
from wal.producers import ProducerStamp
from wal.state import LogState
from wal.stream import Stream


def state_with(*stream_ids: int) -> LogState:
    """Return a state in which each of these streams has ten offsets and 500 bytes."""
    state = new_state(MemoryDisk())
    for stream_id in stream_ids:
        state.streams[stream_id] = Stream(stream_id, 10, 0, 500)
    return state


def test_payloads_are_as_the_format_says() -> None:
    assert opaque_meta(b"abc").hex() == "00616263"
    assert log_start_meta(7, 500).hex() == "01" + "0700000000000000" + "f401000000000000"
    assert drop_meta().hex() == "02"
    assert leader_epoch_meta(3, 9).hex() == "03" + "03000000" + "0900000000000000"
    assert retired_meta(2**64 - 1).hex() == "04" + "ff" * 8


def test_the_callers_own_bytes_change_nothing() -> None:
    state = state_with(1)

    apply_meta(state, 1, opaque_meta(b"\x02"))
    undo_meta(state, 1, opaque_meta(b"\x02"))

    assert list(state.streams) == [1]


def test_a_log_start_rises_and_releases_its_bytes_once() -> None:
    state = state_with(1)
    state.announced_starts[1] = 4

    for _ in range(2):
        apply_meta(state, 1, log_start_meta(4, 200))

    stream = state.streams[1]
    assert (stream.log_start, stream.size_bytes, stream.high_watermark) == (4, 300, 10)
    assert state.announced_starts == {}


def test_a_log_start_never_goes_back() -> None:
    stream = Stream(1, 10, 5, 300)

    move_log_start(stream, 4, 999)

    assert (stream.log_start, stream.size_bytes) == (5, 300)


def test_a_log_start_above_what_is_known_of_the_stream_moves_its_end() -> None:
    state = state_with()

    apply_meta(state, 3, log_start_meta(40, 70))

    stream = state.streams[3]
    assert (stream.log_start, stream.high_watermark, stream.next_offset, stream.size_bytes) == (40, 40, 40, 0)


def test_a_move_that_is_done_does_not_end_a_later_one_that_was_announced() -> None:
    state = state_with(1)
    state.announced_starts[1] = 8

    apply_meta(state, 1, log_start_meta(4, 100))
    assert state.announced_starts == {1: 8}
    apply_meta(state, 1, log_start_meta(8, 100))

    assert state.announced_starts == {}


def test_a_move_that_was_lost_is_no_longer_announced() -> None:
    state = state_with(1)
    state.announced_starts[1] = 8

    undo_meta(state, 1, log_start_meta(8, 100))

    assert state.announced_starts == {}
    assert state.streams[1].log_start == 0


def test_a_dropped_stream_is_forgotten_with_all_that_belongs_to_it() -> None:
    state = state_with(1, 2)
    stream = state.streams[1]
    state.announced_starts[1] = 8
    stamp = ProducerStamp(7, 0, 0, 1)
    state.producers.appended(1, stamp, base_offset=0, timestamp_ms=0, now_ms=0)
    state.producers.durable(state.producers.token)

    for _ in range(2):
        apply_meta(state, 1, drop_meta())

    assert (stream.dropped, stream.forgotten, list(state.streams)) == (True, True, [2])
    assert (state.announced_starts, state.producers.snapshot().stream_ids) == ({}, [])


def test_a_drop_that_was_lost_leaves_the_stream_usable() -> None:
    state = state_with(1)
    state.streams[1].dropped = True

    undo_meta(state, 1, drop_meta())
    undo_meta(state, 2, drop_meta())

    assert not state.streams[1].dropped
    assert list(state.streams) == [1]


def test_leader_epochs_are_kept_with_their_first_offsets_in_order() -> None:
    state = state_with(1)

    for epoch, offset in ((1, 3), (4, 8), (4, 8), (1, 3)):
        apply_meta(state, 1, leader_epoch_meta(epoch, offset))

    assert state.streams[1].epochs == ((1, 3), (4, 8))
    assert state.streams[1].leader_epoch == 4


@pytest.mark.parametrize(("durable", "current"), [((), 0), (((2, 5),), 2)])
def test_an_epoch_that_was_lost_is_given_out_again(
    durable: tuple[tuple[int, int], ...], current: int
) -> None:
    state = state_with(1)
    stream = state.streams[1]
    stream.epochs, stream.leader_epoch = durable, 3

    undo_meta(state, 1, leader_epoch_meta(3, 10))
    undo_meta(state, 2, leader_epoch_meta(3, 10))

    assert (stream.leader_epoch, stream.epochs) == (current, durable)


def test_a_retired_segment_is_marked_whether_it_is_there_or_not() -> None:
    state = state_with()
    for base in (0, 5):
        state.segments.add(state.new_segment(base, base))

    for base in (5, 99):
        apply_meta(state, 0, retired_meta(base))

    assert [segment.retired for segment in state.segments.all] == [False, True]
    assert state.retired_bases == {5, 99}


def test_a_retirement_that_was_lost_is_announced_again() -> None:
    state = state_with()
    state.retiring_bases = {5, 6}

    undo_meta(state, 0, retired_meta(5))
    undo_meta(state, 0, retired_meta(5))

    assert state.retiring_bases == {6}


def test_forgetting_what_is_not_there_does_nothing() -> None:
    state = state_with(1)

    forget_stream(state, 2)

    assert list(state.streams) == [1]
