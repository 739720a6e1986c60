"""The bytes of a log that a store lacks: from a place in its files to the end of a commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wal.logs import batch, commit, open_log, small_options
from wal.jobs import CommitJob
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.options import Durability
from wal.unstored import NOTHING, FileSlice, LogPlace, end_of

REMOTE = small_options(durability="remote")


def written(log: VnodeLog, body: bytes) -> CommitJob:
    """Have a commit on the disk that does not count yet."""
    log.append(7, batch(body=body))
    job = log.begin_sync(0)
    assert isinstance(job, CommitJob)
    job.run()
    log.written(job, 0)
    return job


def filled(disk: MemoryDisk) -> VnodeLog:
    """Return a log whose first segment has no room for another frame of 8 KB."""
    log = open_log(disk, REMOTE)
    log.synced(written(log, b"x" * 7_000), 0)
    return log


def contents(parts: list[FileSlice]) -> dict[int, bytes]:
    """Return the bytes of slices by segment."""
    return {part.base_version: part.shared.file.read_at(part.position, part.size_bytes) for part in parts}


def file_of(disk: MemoryDisk, base_version: int) -> bytes:
    """Return the bytes of a segment's file."""
    return disk.contents(f"vnode-0/{base_version:020d}.wal")


def test_of_an_empty_log_nothing_is_lacking() -> None:
    log = open_log(MemoryDisk(), REMOTE)
    assert log.place == NOTHING
    assert log.slices(NOTHING) == []


def test_from_the_beginning_a_file_is_lacking_with_its_header_up_to_the_end_of_the_commit() -> None:
    disk = MemoryDisk()
    log = open_log(disk, REMOTE)
    first = written(log, b"one")
    written(log, b"two")
    (part,) = log.slices(NOTHING, first)
    assert (part.position, part.size_bytes) == (0, first.position + first.size_bytes)
    assert contents([part])[0] == file_of(disk, 0)[: part.size_bytes]


def test_from_the_end_of_a_commit_only_what_follows_is_lacking() -> None:
    log = open_log(MemoryDisk(), REMOTE)
    first, second = written(log, b"one"), written(log, b"two")
    (part,) = log.slices(end_of(first), second)
    assert (part.position, part.size_bytes) == (second.position, second.size_bytes)
    assert log.slices(end_of(second), second) == []


def test_what_does_not_count_is_not_before_the_place_of_a_log() -> None:
    log = open_log(MemoryDisk(), REMOTE)
    first = written(log, b"one")
    assert log.place == NOTHING
    log.synced(first, 0)
    assert log.place == end_of(first)
    assert sum(part.size_bytes for part in log.slices(NOTHING)) == log.place.position


def test_a_roll_brings_the_footer_of_the_segment_before_along() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    since = log.place
    roll = written(log, b"y" * 7_900)
    parts = log.slices(since, roll)
    assert [part.base_version for part in parts] == [0, 1]
    assert contents(parts)[0] == file_of(disk, 0)[since.position :]
    assert contents(parts)[1] == file_of(disk, 1)[: end_of(roll).position]


def test_the_footer_comes_along_with_a_later_commit_too() -> None:
    """The roll and the commit after it may share a chunk, of which the newest commit is asked."""
    disk = MemoryDisk()
    log = filled(disk)
    since = log.place
    written(log, b"y" * 7_900)
    later = written(log, b"z")
    parts = log.slices(since, later)
    assert [part.base_version for part in parts] == [0, 1]
    assert contents(parts)[0] == file_of(disk, 0)[since.position :]


def test_what_counts_of_a_log_has_no_footer_that_does_not() -> None:
    log = filled(MemoryDisk())
    since = log.place
    written(log, b"y" * 7_900)
    assert log.slices(since) == []
    assert log.place == since


def test_a_commit_that_would_roll_waits_until_those_before_it_count() -> None:
    log = filled(MemoryDisk())
    first = written(log, b"small")
    log.append(7, batch(body=b"y" * 7_900))
    assert log.begin_sync(0) is None
    log.synced(first, 0)
    assert log.begin_sync(0) is not None


@pytest.mark.parametrize("durability", ["disk", "os"])
def test_after_a_change_of_class_a_commit_waits_until_those_before_it_count(durability: Durability) -> None:
    log = open_log(MemoryDisk(), REMOTE)
    first = written(log, b"one")
    log.change_options(replace(REMOTE, durability=durability))
    log.append(7, batch(body=b"two"))
    assert log.begin_sync(0) is None
    log.synced(first, 0)
    commit(log)
    assert log.high_watermark(7) == 2


def test_of_a_log_that_does_not_sync_the_whole_newest_segment_may_be_lacking() -> None:
    """A cut has what was synced: a place after bytes that were not would leave a hole."""
    log = open_log(MemoryDisk(), small_options(durability="os"))
    log.append(7, batch(body=b"one"))
    commit(log)
    assert log.view().durable_sequence == 0
    assert log.place == LogPlace(0, 0)


def test_failures_take_back_what_was_written_and_does_not_count() -> None:
    log = open_log(MemoryDisk(), REMOTE)
    written(log, b"one")
    log.quarantine(OSError("ours"))
    assert not log.unstored
    assert (log.next_offset(7), log.high_watermark(7)) == (0, 0)
