"""The options of a log that is at work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wal.logs import batch, commit, maintain, open_log, small_options
from wal.errors import StoreBehind
from wal.jobs import CommitJob
from wal.memory_disk import MemoryDisk

REMOTE = small_options(durability="remote")


def test_identity_and_the_sizes_of_caches_stay() -> None:
    log = open_log(MemoryDisk(), small_options(identity=b"ours", vnode_id=3, tail_cache_bytes=5_000))
    log.change_options(small_options(identity=b"another", vnode_id=4, tail_cache_bytes=9, segment_ms=7))
    options = log.options
    assert (options.identity, options.vnode_id, options.tail_cache_bytes) == (b"ours", 3, 5_000)
    assert options.segment_ms == 7


def test_another_segment_size_does_not_use_the_room_that_was_kept_for_the_old_one() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(body=b"x" * 7_000))
    commit(log)
    log.append(1, batch(body=b"x" * 6_000))
    commit(log)
    maintain(log)
    assert disk.exists("vnode-0/spare.tmp")
    log.change_options(small_options(segment_bytes=32 << 10))
    log.append(1, batch(body=b"x" * 7_000))
    commit(log)
    assert len(disk.contents(f"vnode-0/{2:020d}.wal")) == 32 << 10


def test_a_log_that_is_held_back_refuses_appends_and_takes_them_again() -> None:
    log = open_log(MemoryDisk(), REMOTE)
    log.hold_back(True)
    with pytest.raises(StoreBehind, match="the object store lags"):
        log.append(7, batch())
    assert log.append(7, batch(), reserved=True).base_offset == 0
    log.hold_back(False)
    assert log.append(7, batch()).base_offset == 1


def test_a_log_that_does_not_wait_for_the_store_any_more_is_not_held_back() -> None:
    log = open_log(MemoryDisk(), REMOTE)
    log.hold_back(True)
    log.change_options(replace(REMOTE, durability="disk"))
    assert log.append(7, batch()).base_offset == 0


def test_frames_carry_the_time_of_day_that_was_set() -> None:
    log = open_log(MemoryDisk())
    log.set_wall_clock(now_ms=5, wall_ms=1_000_005)
    log.append(7, batch())
    job = log.begin_sync(7)
    assert isinstance(job, CommitJob)
    assert job.built is not None
    assert job.built.header.ingest_ms == 1_000_007
