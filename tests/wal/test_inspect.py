"""The reports of `kawal wal inspect` and `verify` on a log: its frames, its damages, its invalid files."""

from __future__ import annotations

import errno
import random

import pytest

from tests.wal.damaged import CHECKPOINTED, OPTIONS, change, damage, finished_log, mend, torn_log, wal_files
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from tests.wal.test_tiering import filled
from wal.format import decode_segment_start, encode_frame, seed_of
from wal.inspect import LogReport, SegmentReport, frames, verify_log, verify_segment
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import KEEP_ALL
from wal.options import LogOptions


def verdict(disk: MemoryDisk) -> LogReport:
    *segments, report = verify_log(disk, DIRECTORY)
    assert isinstance(report, LogReport)
    assert all(isinstance(segment, SegmentReport) for segment in segments)
    return report


def test_frames_are_shown_with_their_entries() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(7, batch(3, timestamp=55))
    log.append(8, batch(2))
    log.append_meta(9, b"note")
    commit(log, 0)
    commit(log, 5_000)

    first, *rest = frames(disk, wal_files(disk)[0])

    assert first.kind == "data"
    assert [(e.stream_id, e.base_offset, e.record_count, e.version_delta) for e in first.entries] == [
        (7, 0, 3, 0),
        (8, 0, 2, 3),
        (9, 0, 1, 5),
    ]
    assert first.entries[0].max_timestamp == 55
    assert [frame.kind for frame in rest] == ["pad", "seal"]
    assert rest[-1].position % 4096 == 0


def test_a_file_that_is_no_segment_is_refused() -> None:
    disk = MemoryDisk()
    disk.open("/x.wal", create=True).write_at(0, [b"hello"])

    with pytest.raises(ValueError, match="not a segment"):
        next(frames(disk, "/x.wal"))


@pytest.mark.parametrize("options", [OPTIONS, CHECKPOINTED])
def test_a_good_log_is_found_good(options: LogOptions) -> None:
    disk, _ = finished_log(options)

    report = verdict(disk)

    assert report.is_good, report.damages
    assert sum(segment.entries for segment in report.segments) > 50
    assert [segment.sealed for segment in report.segments] == [True] * (len(report.segments) - 1) + [False]
    assert all(segment.index == "good" for segment in report.segments[:-1])
    assert "room" in report.segments[-1].tail


def test_a_log_with_retired_segments_is_found_good() -> None:
    disk = MemoryDisk()
    options = small_options(segment_bytes=2 << 10, checkpoint_ns=1, seal_interval_ms=0, witness_ms=0)
    log = open_log(disk, options)
    for number in range(40):
        log.append(1 + number // 4 % 3, batch(body=bytes(700)))
        commit(log, number * 1_000)
        maintain(log, number * 1_000)
        log.set_log_start(1, log.high_watermark(1))
        log.set_log_start(3, log.high_watermark(3))
        log.retire_segments()
        commit(log, number * 1_000)
    assert any(name.endswith(".deleted") for name in disk.list(DIRECTORY))

    report = verdict(disk)

    assert report.is_good, report.damages
    assert VnodeLog.open(disk.crash(), DIRECTORY, options=options, now_ms=0).state == "OPEN"


def test_verify_finds_every_damage_that_recovery_or_a_scrub_would() -> None:
    chance = random.Random(9)
    for options in (OPTIONS, CHECKPOINTED):
        disk, _ = finished_log(options)
        for _ in range(150):
            path = chance.choice(wal_files(disk))
            after = change(disk, path, damage(chance))

            found = not verdict(after).is_good
            lost = mend(after, options).lost_frames > 0

            assert found or not lost, path


def test_a_missing_segment_is_found() -> None:
    for options in (OPTIONS, CHECKPOINTED):
        disk, _ = finished_log(options)
        for path in wal_files(disk):
            after = disk.crash(KEEP_ALL)
            after.remove(path)

            assert not verdict(after).is_good, path


def test_what_is_being_written_is_no_damage() -> None:
    disk = torn_log(b"being written" * 20)
    path = wal_files(disk)[0]
    half = change(disk, path, lambda data: bytes(data[: data.rindex(b"being written")]))

    report = verdict(half)

    assert report.is_good, report.damages
    assert "unfinished" in report.segments[0].tail


def test_a_repaired_log_is_found_good_and_its_losses_are_shown() -> None:
    disk, _ = finished_log()
    path = wal_files(disk)[2]
    disk.damage(path, 1_100, b"????")
    assert not verdict(disk).is_good

    mend(disk)

    report = verdict(disk)
    assert report.is_good, report.damages
    assert sum(segment.lost_frames for segment in report.segments) == 1


def test_odd_derived_files_are_notes_not_damages() -> None:
    disk, _ = finished_log(CHECKPOINTED)
    for name in disk.list(DIRECTORY):
        if not name.endswith(".wal"):
            disk = change(disk, f"{DIRECTORY}/{name}", lambda data: bytes(data[:20] + b"??" + data[22:]))

    report = verdict(disk)

    assert report.is_good, report.damages
    assert report.notes == ["checkpoint.0 is not a valid checkpoint; an older one is used"]
    assert {segment.index for segment in report.segments[:-1]} == {"odd"}


def test_one_damaged_header_copy_is_reported_by_verify() -> None:
    disk, _ = finished_log()
    path = wal_files(disk)[0]
    disk.damage(path, 3, b"?")

    report = verify_segment(disk, path)

    assert "one copy" in report.note
    assert report.damages == []
    assert report.entries > 0


def test_a_footer_that_states_something_else_is_a_damage() -> None:
    disk, _ = finished_log()
    path = wal_files(disk)[0]
    *_, footer = frames(disk, path)
    header, _ = decode_segment_start(disk.contents(path)[:1_024])
    assert header is not None
    seed = seed_of(header.salt)
    start = footer.position
    table = bytearray(disk.contents(path)[start + 64 : start + 128])
    table[0] += 1
    forged, _ = encode_frame(footer.header, bytes(table), seed)
    disk.damage(path, start, forged)

    (damage,) = verify_segment(disk, path).damages

    assert (damage.start, damage.end) == (start, start + 128)
    assert "the footer states (" in damage.problem
    assert str(damage).startswith(f"{path}: bytes {start} to {start + 128}: the footer states")


def test_a_segment_under_another_name_is_a_damage() -> None:
    disk, _ = finished_log()
    path = wal_files(disk)[-1]
    disk.rename(path, f"{DIRECTORY}/{10**9:020d}.wal")

    damages = verdict(disk).damages

    assert "it was renamed or copied" in damages[0].problem


def test_a_witness_without_a_valid_slot_is_a_note() -> None:
    disk, _ = finished_log()
    for position in (8, 4_096 + 8):
        disk.damage(f"{DIRECTORY}/witness", position, b"????????")

    report = verdict(disk)

    assert report.is_good
    assert report.notes == ["witness has no valid slot; the next start writes a new one"]


def test_a_segment_that_retention_takes_meanwhile_is_passed_over() -> None:
    disk, _ = finished_log()
    first = wal_files(disk)[0]
    disk.faults.append(failing("open", errno.ENOENT, path=first))

    *segments, report = verify_log(disk, DIRECTORY)

    assert first not in [segment.path for segment in segments if isinstance(segment, SegmentReport)]
    assert isinstance(report, LogReport)


def test_segments_in_the_object_store_are_not_missing() -> None:
    node, _ = filled()
    left = node.tier()
    *_, report = verify_log(node.disk, "data/default/vnode-0")
    assert isinstance(report, LogReport)
    assert report.damages == []
    assert f"{len(left)} segments are in the object store only, and were not read" in report.notes
