"""The shared state of a log: refusals with their reasons, and names that are never used twice."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import DIRECTORY, new_state, small_options
from wal.disk_errors import DiskFull
from wal.errors import LogClosed, LogDamaged, LogFailed
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.state import LogState


def test_a_sound_log_refuses_nothing() -> None:
    assert new_state(MemoryDisk()).refusal() is None


def test_damage_is_told_before_failure_and_failure_before_the_end() -> None:
    state = new_state(MemoryDisk())
    state.closed = True
    closed = state.refusal()
    state.failure = LogFailed("the third sync failed")
    failed = state.refusal()
    state.damage = LogDamaged("a.wal", 1, 2, "frame 3 is damaged")

    assert isinstance(closed, LogClosed)
    assert str(closed) == f"{DIRECTORY}: the log is closed"
    assert failed is state.failure
    assert state.refusal() is state.damage


def test_a_full_disk_refuses_no_more_than_ordinary_appends() -> None:
    state = new_state(MemoryDisk())
    state.full = True

    assert state.refusal() is None
    error = state.no_room()
    assert isinstance(error, DiskFull)
    assert (error.errno, error.path, error.operation) == (errno.ENOSPC, DIRECTORY, "append to")


def test_a_store_that_lags_refuses_no_more_than_ordinary_appends() -> None:
    state = new_state(MemoryDisk())
    state.behind = True

    assert state.refusal() is None
    assert str(state.no_room()) == f"{DIRECTORY}: the object store lags too far behind; try again later"


def test_a_stream_is_made_once() -> None:
    state = new_state(MemoryDisk())

    stream = state.stream(2**64 - 1)

    assert state.stream(2**64 - 1) is stream
    assert (stream.log_start, stream.high_watermark, stream.next_offset) == (0, 0, 0)
    assert list(state.streams) == [2**64 - 1]


def test_the_newest_segment_is_the_active_one() -> None:
    state = new_state(MemoryDisk())
    before = state.active

    for base in (0, 5, 9):
        state.segments.add(state.new_segment(base, base))

    assert before is None
    assert state.active is state.segments.all[-1]
    assert state.active.base_version == 9
    assert state.active.path == f"{DIRECTORY}/00000000000000000009.wal"


def salt(state: LogState, base_version: int = 3, base_sequence: int = 7) -> int:
    return state.new_segment(base_version, base_sequence).salt


def test_the_salt_of_a_segment_is_that_of_no_other() -> None:
    disk = MemoryDisk()
    state = new_state(disk, now_ms=5)
    others = [
        salt(state, base_version=4),
        salt(state, base_sequence=8),
        salt(new_state(disk, now_ms=6)),
        salt(new_state(disk, small_options(vnode_id=1), now_ms=5)),
        salt(new_state(disk, small_options(identity=b"other store"), now_ms=5)),
        salt(LogState(disk, "vnode-1", small_options(), 5)),
    ]

    assert salt(state) == salt(new_state(disk, now_ms=5))
    assert len({salt(state), *others}) == 7


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_the_caches_are_bounded_as_the_options_say(limit: int) -> None:
    state = new_state(MemoryDisk(), LogOptions(tail_cache_bytes=limit, index_cache_bytes=limit + 1))

    assert (state.tail.limit_bytes, state.index_cache.limit_bytes) == (limit, limit + 1)
