"""Scrubbing reads sealed segments again, within its rate, and reports damage before a reader meets it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.wal.damaged import wal_files
from tests.wal.logs import batch, commit, content, maintain, open_log, read_all, small_options
from wal.errors import LogDamaged
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.scrub import FIRST_PASS_AFTER_MS, scrub

OPTIONS = small_options(segment_bytes=8 << 10, scrub_bytes_per_second=10_000, tail_cache_bytes=0)


def filled(disk: MemoryDisk) -> VnodeLog:
    log = open_log(disk, OPTIONS)
    for number in range(20):
        log.append(1, batch(body=b"number %02d" % number * 200))
        commit(log)
    maintain(log, 1_000)
    disk.restart()
    log = open_log(disk, OPTIONS)
    maintain(log, 1_000)
    return log


def test_a_good_segment_is_found_good() -> None:
    disk = MemoryDisk()
    log = filled(disk)

    assert [scrub(disk, one) for one in log._state.segments.all if one.sealed] == [None] * 6


def test_segments_are_read_in_turn_no_faster_than_allowed() -> None:
    log = filled(MemoryDisk())
    done: list[int] = []
    now_ms = FIRST_PASS_AFTER_MS
    while len(done) < 6:
        done += [now_ms] * maintain(log, now_ms).count("ScrubJob")
        now_ms += 50

    steps = [later - earlier for earlier, later in pairwise(done)]
    assert all(step >= 600 for step in steps), steps
    assert maintain(log, now_ms + 100_000).count("ScrubJob") == 0
    deadline = log.next_deadline()
    assert deadline == FIRST_PASS_AFTER_MS + OPTIONS.scrub_pass_ms
    assert maintain(log, deadline).count("ScrubJob") == 1


def test_damage_in_an_old_segment_is_reported_and_not_handed_out() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    path = wal_files(disk)[1]
    place = disk.contents(path).index(b"number 04")
    disk.damage(path, place, b"NUMBER")
    for step in range(20):
        maintain(log, FIRST_PASS_AFTER_MS + step * 1_000)

    (damage,) = log.scrub_damages
    assert damage.file == path
    assert damage.start <= place < damage.end
    with pytest.raises(LogDamaged):
        log.read(1, 4, 10)
    before = log.read(1, 3, 1 << 20)
    assert before.next_offset == 4
    assert content(log.read(1, 5, 1)).endswith(b"number 05")
    log.append(1, batch(body=b"goes on"))
    commit(log)
    assert log.high_watermark(1) == 21


def test_scrubbing_can_be_switched_off() -> None:
    disk = MemoryDisk()
    filled(disk)
    disk.restart()
    log = open_log(disk, small_options(segment_bytes=8 << 10, scrub_bytes_per_second=0))
    maintain(log, 1_000)

    assert log.next_deadline() is None
    assert maintain(log, 10**12) == []
    assert len(read_all(log, 1)) > 20_000
