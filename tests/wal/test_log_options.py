"""Options that change while a log is open, and a log that is abandoned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.errors import LogClosed
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.segment import SPARE


def test_a_durability_that_becomes_disk_makes_durable_what_was_written_before() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(durability="os", flush_ms=10**9))
    commit(log)
    for _ in range(3):
        log.append(1, batch(1))
        commit(log)
    log.change_options(replace(log.options, durability="disk"))
    log.append(1, batch(1))
    commit(log)
    assert open_log(disk.crash(DROP_ALL)).next_offset(1) == 4


def test_a_durability_that_becomes_os_syncs_by_the_timer_only() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(flush_ms=10**9))
    log.append(1, batch(1))
    commit(log)
    log.change_options(replace(log.options, durability="os"))
    log.append(1, batch(1))
    commit(log)
    assert log.high_watermark(1) == 2
    assert open_log(disk.crash(DROP_ALL)).next_offset(1) == 1
    assert open_log(disk.kill()).next_offset(1) == 2


def test_identity_and_caches_are_settled_when_the_log_is_opened() -> None:
    log = open_log(MemoryDisk())
    before = log.options
    log.change_options(replace(before, vnode_id=9, identity=b"x", tail_cache_bytes=1, flush_ms=77))
    assert log.options == replace(before, flush_ms=77)


def test_segments_have_the_new_size_from_the_next_one_on() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=16 << 10))
    while "SpareJob" not in maintain(log):
        log.append(1, batch(1, body=bytes(1_000)))
        commit(log)
    assert disk.exists(f"{DIRECTORY}/{SPARE}")
    log.change_options(replace(log.options, segment_bytes=64 << 10))
    count = log.usage()[0]
    while log.usage()[0] == count:
        log.append(1, batch(1, body=bytes(1_000)))
        commit(log)
    assert log._state.active is not None
    assert log._state.active.capacity == 64 << 10
    for _ in range(60):
        log.append(1, batch(1, body=bytes(1_000)))
        commit(log)
        maintain(log)
    assert open_log(disk.crash(DROP_ALL)).next_offset(1) == log.next_offset(1)


def test_a_log_that_was_given_up_takes_and_writes_nothing() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=16 << 10))
    while "SpareJob" not in maintain(log):
        log.append(1, batch(1, body=bytes(1_000)))
        commit(log)
    log.append(1, batch(1))
    before = disk.files()
    log.abandon()
    assert log.state == "CLOSED"
    assert log.begin_sync(10**6) is None
    assert log.begin_maintenance(10**6) is None
    with pytest.raises(LogClosed):
        log.append(1, batch(1))
    assert list(disk.files()) == list(before)


def test_with_durability_os_no_leader_epoch_is_given_out_again_after_a_power_failure() -> None:
    """Bug: that of a split could be lost with its records, and be the next one: consumers skipped others."""
    disk, options = MemoryDisk(), small_options(durability="os", flush_ms=10**9)
    log = open_log(disk, options)
    log.append(1, batch(1))
    commit(log)
    log.set_leader_epoch(1, 1)
    log.append(1, batch(1))
    commit(log)
    assert log.high_watermark(1) == 2

    assert open_log(disk.crash(DROP_ALL), options).leader_epoch(1) > 1
