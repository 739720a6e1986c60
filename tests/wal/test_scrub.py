"""Scrubbing reads segments again, at its rate, and reports damage before a reader meets it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.wal.damaged import wal_files
from tests.wal.logs import (
    DIRECTORY,
    batch,
    calls_of,
    commit,
    content,
    maintain,
    open_log,
    put,
    read_all,
    small_options,
)
from wal.errors import LogDamaged
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.repair import repair
from wal.scrub import (
    DAMAGE_SUFFIX,
    FIRST_PASS_AFTER_MS,
    PASS_AFTER_CRASH_MS,
    SCRUB_NAME,
    read_place,
    scrub,
)

OPTIONS = small_options(segment_bytes=8 << 10, scrub_bytes_per_second=10_000, tail_cache_bytes=0)


def filled(disk: MemoryDisk) -> VnodeLog:
    """Return a log of seven segments, opened after a clean stop."""
    log = open_log(disk, OPTIONS)
    for number in range(20):
        log.append(1, batch(body=b"number %02d" % number * 200))
        commit(log)
    maintain(log, 1_000)
    log.close(2_000)
    disk.restart()
    log = open_log(disk, OPTIONS)
    maintain(log, 1_000)
    return log


def test_a_good_segment_is_found_good() -> None:
    disk = MemoryDisk()
    log = filled(disk)

    assert [scrub(disk, segment) for segment in log._state.segments.all if segment.sealed] == [None] * 6


def test_segments_are_read_in_turn_no_faster_than_allowed() -> None:
    log = filled(MemoryDisk())
    done: list[int] = []
    now_ms = FIRST_PASS_AFTER_MS
    while len(done) < 7:
        done += [now_ms] * maintain(log, now_ms).count("ScrubJob")
        now_ms += 50

    steps = [later - earlier for earlier, later in pairwise(done)]
    assert all(step >= 600 for step in steps[:-1]), steps
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
    assert log.state == "DAMAGED"
    assert log.damage is damage
    with pytest.raises(LogDamaged):
        log.append(1, batch(body=b"refused"))
    with pytest.raises(LogDamaged):
        log.set_log_start(1, 10)


def damaged(disk: MemoryDisk) -> VnodeLog:
    """Return a log in which a scrub found damage while a batch was on its way."""
    log = filled(disk)
    log._maintenance.checkpoint_wanted = True
    maintain(log, 5_000)
    path = wal_files(disk)[1]
    disk.damage(path, disk.contents(path).index(b"number 04"), b"NUMBER")
    log.append(1, batch(body=b"on its way"))
    for step in range(20):
        maintain(log, FIRST_PASS_AFTER_MS + step * 1_000)
    assert log.state == "DAMAGED"
    return log


def test_what_was_appended_before_the_damage_was_found_is_written() -> None:
    disk = MemoryDisk()
    log = damaged(disk)
    commit(log, FIRST_PASS_AFTER_MS + 30_000)
    assert log.high_watermark(1) == 21
    log.close(FIRST_PASS_AFTER_MS + 40_000)
    assert open_log(disk, OPTIONS).high_watermark(1) == 21


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_remembers_the_damage_until_it_is_mended(clean: bool) -> None:
    disk = MemoryDisk()
    log = damaged(disk)
    commit(log, FIRST_PASS_AFTER_MS + 30_000)
    if clean:
        log.close(FIRST_PASS_AFTER_MS + 40_000)
    else:
        disk = disk.crash()

    again = open_log(disk, OPTIONS)
    assert again.state == "DAMAGED"
    with pytest.raises(LogDamaged):
        again.append(1, batch(body=b"refused"))
    assert content(again.read(1, 5, 1)).endswith(b"number 05")

    disk.restart()
    report = repair(disk, DIRECTORY, options=OPTIONS, now_ms=0, accept_loss=True)
    assert report.mended
    assert report.lost_frames == 1
    mended = open_log(disk, OPTIONS)
    assert mended.state == "OPEN", mended.damage
    assert not [name for name in disk.list(DIRECTORY) if name.endswith(DAMAGE_SUFFIX)]
    mended.append(1, batch(body=b"goes on"))
    commit(mended)
    assert mended.high_watermark(1) == 22


def test_damage_in_a_segment_that_is_gone_is_forgotten() -> None:
    disk = MemoryDisk()
    damaged(disk)
    disk.restart()
    path = wal_files(disk)[1]
    assert f"{path.removesuffix('.wal')}{DAMAGE_SUFFIX}" in {f"{DIRECTORY}/{n}" for n in disk.list(DIRECTORY)}
    disk.remove(path.removesuffix(".wal") + DAMAGE_SUFFIX)
    log = open_log(disk, OPTIONS)
    log.set_log_start(1, 20)
    commit(log)
    for number in range(8):
        log._maintenance.checkpoint_wanted = True
        maintain(log, number * 2_000)
        log.retire_segments()
        commit(log, number * 2_000)
    assert path not in wal_files(disk)
    assert log.state == "OPEN"


def test_only_damage_that_is_needed_keeps_a_catalogue_from_starting() -> None:
    log = damaged(MemoryDisk())
    segments = log._state.segments.all
    assert log.damage_from(0) is segments[1].damage
    assert log.damage_from(segments[1].next_version) is None


def test_scrubbing_can_be_switched_off() -> None:
    disk = MemoryDisk()
    filled(disk)
    disk.restart()
    log = open_log(disk, small_options(segment_bytes=8 << 10, scrub_bytes_per_second=0))
    maintain(log, 1_000)

    assert log.next_deadline() is None
    assert maintain(log, 10**12) == []
    assert len(read_all(log, 1)) > 20_000


def test_the_active_segment_is_read_too_as_far_as_it_is_written() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    path = wal_files(disk)[-1]
    disk.damage(path, disk.contents(path).index(b"number 19"), b"NUMBER")
    now_ms = FIRST_PASS_AFTER_MS
    while log.state == "OPEN" and now_ms < 2 * FIRST_PASS_AFTER_MS:
        maintain(log, now_ms)
        now_ms += 500
    assert log.damage is not None
    assert log.damage.file == path


def test_a_pass_goes_on_after_a_restart_where_it_was() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    reads = calls_of(disk, "open")
    for number in range(3):
        maintain(log, FIRST_PASS_AFTER_MS + number * 10_000)
    log.close(FIRST_PASS_AFTER_MS + 30_000)
    disk.restart()
    log = open_log(disk, OPTIONS)
    reads.clear()
    maintain(log, FIRST_PASS_AFTER_MS)
    assert [call.path for call in reads if call.path.endswith(".wal")] == [wal_files(disk)[3]]


@pytest.mark.parametrize("data", [b"", b"short", b"KAWALSCR" + bytes(12)])
def test_a_place_that_cannot_be_read_begins_the_pass_anew(data: bytes) -> None:
    disk = MemoryDisk()
    filled(disk)
    put(disk, f"{DIRECTORY}/{SCRUB_NAME}", data)
    assert read_place(disk, DIRECTORY) == -1


def test_a_new_log_is_not_read_again_as_after_a_crash() -> None:
    log = open_log(MemoryDisk(), OPTIONS)
    log.append(1, batch())
    commit(log)

    assert "ScrubJob" not in maintain(log, FIRST_PASS_AFTER_MS - 1)
    assert "ScrubJob" in maintain(log, FIRST_PASS_AFTER_MS)


def test_after_a_crash_the_first_pass_begins_sooner() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    log.append(1, batch())
    commit(log)
    disk.restart()
    log = open_log(disk, OPTIONS)
    commit(log, 2_000)
    maintain(log, 3_000)
    assert log.next_deadline() == PASS_AFTER_CRASH_MS
    assert "ScrubJob" in maintain(log, PASS_AFTER_CRASH_MS)
