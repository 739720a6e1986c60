"""The report of `kawal wal describe` on a log: journal, marks and indexes, and why each file is kept."""

from __future__ import annotations

import random

import pytest

from tests.wal.damaged import CHECKPOINTED, change, finished_log, wal_files
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.disk import NoSuchFile
from wal.memory_disk import MemoryDisk
from wal.storage_report import Role, storage_report

MARKED = small_options(segment_bytes=4 << 10, checkpoint_ns=200_000, seal_interval_ms=0)


def marked_log(seed: int) -> MemoryDisk:
    """Return a log with several marks and some frames after the last one, then killed."""
    disk = MemoryDisk()
    log = open_log(disk, MARKED)
    chance = random.Random(seed)
    for number in range(60):
        log.append(chance.randrange(3), batch(body=chance.randbytes(400)))
        commit(log, number)
        if number < 52:
            maintain(log, number)
    disk.restart()
    return disk


def test_without_a_mark_a_start_replays_every_frame() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for number in range(3):
        log.append(1, batch())
        commit(log, number)
    report = storage_report(disk, DIRECTORY)
    assert (report.mark_generation, report.mark_sequence, report.frames_after_mark) == (-1, 0, 3)
    assert report.bytes_after_mark == sum(segment.end_position - 1024 for segment in report.segments)
    assert [segment.role for segment in report.segments] == [Role.REPLAYED]
    assert report.segments[0].index_state == "memory"


def test_after_a_clean_stop_nothing_is_replayed() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch())
    log.append(2, batch())
    log.close(0)
    report = storage_report(disk, DIRECTORY)
    assert (report.frames_after_mark, report.bytes_after_mark) == (0, 0)
    assert (report.is_clean, report.streams) == (True, 2)
    assert report.witnessed_sequence == report.end_sequence == report.mark_sequence


@pytest.mark.parametrize("seed", range(4))
def test_the_report_agrees_with_what_the_next_start_finds(seed: int) -> None:
    disk = marked_log(seed)
    report = storage_report(disk, DIRECTORY)
    assert report.problems == []
    assert report.mark_generation > 0
    assert {segment.role for segment in report.segments} == {Role.DATA, Role.OLDER_MARK, Role.REPLAYED}
    assert [segment.path for segment in report.segments] == wal_files(disk)
    # Every frame lies in one segment, and the reasons follow each other from the oldest on.
    for before, after in zip(report.segments, report.segments[1:], strict=False):
        assert before.next_sequence == after.first_sequence
    order = [Role.DATA, Role.OLDER_MARK, Role.REPLAYED]
    places = [order.index(segment.role) for segment in report.segments]
    assert places == sorted(places)
    for segment in report.of_role(Role.DATA):
        assert segment.next_sequence <= report.older_mark_sequence <= report.mark_sequence
    assert report.frames_after_mark > 0
    log = open_log(disk, MARKED)
    assert log.recovery.frames == report.frames_after_mark


def test_segments_that_no_stream_needs_are_shown_on_their_way_out() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10, checkpoint_ns=1, seal_interval_ms=0))
    for number in range(30):
        log.append(1, batch(body=bytes(400)))
        commit(log, number)
        maintain(log, number)
    log.set_log_start(1, log.high_watermark(1))
    commit(log, 100)
    maintain(log, 10_000)
    count = log.retire_segments()
    assert count > 0
    commit(log, 10_001)
    log.append(1, batch())
    commit(log, 10_002)
    log._maintenance.make_clean_checkpoint().run()
    assert len(storage_report(disk, DIRECTORY).of_role(Role.RETIRED)) == count


def test_an_index_that_is_missing_or_odd_is_told() -> None:
    disk, _ = finished_log(CHECKPOINTED)
    sealed = [state for state in storage_report(disk, DIRECTORY).segments if state.index_state == "sealed"]
    first, second = (state.path.removesuffix(".wal") + ".idx" for state in sealed[:2])
    spoilt = change(disk, first, lambda data: bytes(data[:-1]) + b"?")
    spoilt.remove(second)
    states = [state.index_state for state in storage_report(spoilt, DIRECTORY).segments]
    assert states.count("rebuilt") == 2


def test_an_invalid_checkpoint_is_told_and_the_other_one_counts() -> None:
    disk = marked_log(1)
    before = storage_report(disk, DIRECTORY)
    name = f"checkpoint.{before.mark_generation % 2}"
    after = storage_report(change(disk, f"{DIRECTORY}/{name}", lambda data: bytes(data[:40])), DIRECTORY)
    assert after.mark_generation == before.mark_generation - 1
    assert after.problems == [f"{DIRECTORY}/{name} is not a valid checkpoint"]


def test_a_file_that_is_no_segment_is_told_and_the_others_are_shown() -> None:
    disk, _ = finished_log(small_options(segment_bytes=4 << 10, seal_interval_ms=0))
    count = len(wal_files(disk))
    spoilt = change(disk, wal_files(disk)[-1], lambda data: bytes(len(data)))
    report = storage_report(spoilt, DIRECTORY)
    assert len(report.segments) == count - 1
    assert "not a segment" in report.problems[0]


def test_a_folder_that_is_missing_is_an_error() -> None:
    with pytest.raises(NoSuchFile):
        storage_report(MemoryDisk(), "nowhere")
