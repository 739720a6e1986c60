"""Work beside the commits: the time of each job, its result, and the cost of a failed one."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import (
    DIRECTORY,
    batch,
    commit,
    content,
    maintain,
    open_log,
    read_all,
    retire,
    small_options,
)
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.options import LogOptions
from wal.segment import FileRange
from wal.stream import LOG_STREAM


def fill(log: VnodeLog, frames: int, now_ms: int = 0, stream_id: int = 1) -> bytes:
    sent = b""
    for _ in range(frames):
        data = batch(body=bytes(1_500))
        log.append(stream_id, data)
        sent += bytes(data)
        commit(log, now_ms)
    return sent


def names(disk: MemoryDisk, suffix: str) -> list[str]:
    return [name for name in disk.list(DIRECTORY) if name.endswith(suffix)]


def test_closed_segments_get_their_index() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    sent = fill(log, 40)
    assert names(disk, ".idx") == []

    maintain(log)

    assert [name[:20] for name in names(disk, ".idx")] == [name[:20] for name in names(disk, ".wal")[:-1]]
    assert read_all(log, 1) == sent


def test_indexes_are_given_up_and_loaded_again_within_their_bound() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(index_cache_bytes=1, tail_cache_bytes=0))
    sent = fill(log, 60)
    maintain(log)
    sealed = log._state.segments.all[:-1]
    assert sum(segment.index is not None for segment in sealed) == 0, "each is too heavy to be kept unread"
    log.retire_segments()
    while log.retirement_goes_on:
        log.retire_segments()
    assert sum(segment.index is not None for segment in sealed) == 0, "what needs each is known without it"

    assert read_all(log, 1, 5_000) == sent

    assert sum(segment.index is not None for segment in sealed) == 1


def test_a_lost_index_is_built_again() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    sent = fill(log, 40)
    maintain(log)
    log.close(0)
    for name in names(disk, ".idx"):
        disk.remove(f"{DIRECTORY}/{name}")

    again = open_log(disk)

    assert read_all(again, 1) == sent
    maintain(again, 5_000)
    assert len(names(disk, ".idx")) == len(names(disk, ".wal")) - 1


def test_a_checkpoint_is_due_by_what_was_written_and_shortens_recovery() -> None:
    disk = MemoryDisk()
    options = small_options(checkpoint_ns=600_000)
    log = open_log(disk, options)
    fill(log, 10)
    assert "CheckpointJob" not in maintain(log)
    fill(log, 15)
    assert "CheckpointJob" in maintain(log)
    fill(log, 2)
    disk.restart()

    assert open_log(disk, options).recovery.entries == 2


def test_a_witness_is_written_once_per_interval_and_only_after_syncs() -> None:
    log = open_log(MemoryDisk())
    assert maintain(log, 0) == []
    fill(log, 1)
    assert maintain(log, 0) == ["WitnessJob"]
    assert maintain(log, 5_000) == []
    fill(log, 1, 5_000)
    assert maintain(log, 5_000) == ["WitnessJob"]
    fill(log, 1, 5_500)
    assert log.next_deadline() is not None
    assert maintain(log, 5_500) == []
    assert maintain(log, 6_000) == ["WitnessJob"]


def test_room_for_the_next_segment_is_reserved_before_it_is_needed() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    fill(log, 8)
    assert "SpareJob" in maintain(log)
    assert disk.open(f"{DIRECTORY}/spare.tmp").size() == 16 << 10

    sent = fill(log, 4)

    assert not disk.exists(f"{DIRECTORY}/spare.tmp")
    assert read_all(open_log(disk.crash()), 1).endswith(sent)


def test_a_seal_lies_in_a_block_of_its_own_and_costs_nothing_while_idle() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(scrub_bytes_per_second=0))
    fill(log, 1, now_ms=2_000)
    maintain(log, 2_000)
    assert log.begin_sync(2_099) is None
    assert log.next_deadline() == 2_100

    commit(log, 2_100)

    active = log._state.segments.all[-1]
    assert active.end_position % 4096 == 0
    assert log._state.durable_sequence == 3
    assert log.begin_sync(99_000) is None
    maintain(log, 99_000)
    assert log.next_deadline() is None


RETIRING = small_options(checkpoint_ns=1 << 60, delete_delay_ms=1_000)


def test_segments_that_no_stream_needs_are_renamed_and_later_removed() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    fill(log, 40)
    before = len(names(disk, ".wal"))
    log.set_log_start(1, log.high_watermark(1))
    commit(log)

    deletions = log.deletions
    assert retire(log, 0) == before - 1
    assert log.deletions > deletions
    assert set(log.deleted_since(deletions) or ()) == {LOG_STREAM}

    assert len(names(disk, ".wal")) == 1
    assert len(names(disk, ".wal.deleted")) == before - 1
    assert log.next_deadline() == 1_000
    maintain(log, 1_000)
    assert names(disk, ".deleted") == []


def test_one_stream_that_needs_a_segment_keeps_it() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    fill(log, 15)
    log.append(2, batch())
    fill(log, 15)
    log.set_log_start(1, log.high_watermark(1))
    commit(log)

    retire(log, 0)

    assert len(names(disk, ".wal")) == 2
    assert len(read_all(open_log(disk.crash(), RETIRING), 2)) > 60
    log.drop_stream(2)
    commit(log)
    retire(log, 0)
    assert len(names(disk, ".wal")) == 1


def test_no_segment_goes_before_two_checkpoints_cover_it() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    fill(log, 30)
    log.set_log_start(1, log.high_watermark(1))
    commit(log)

    assert log.retire_segments() == 0
    assert maintain(log).count("CheckpointJob") == 1
    assert log.retire_segments() == 0
    assert maintain(log).count("CheckpointJob") == 1
    assert log.retire_segments() > 0


def test_a_reader_keeps_the_file_of_a_deleted_segment() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=256 << 10, delete_delay_ms=0, tail_cache_bytes=0))
    large = batch(body=bytes(range(256)) * 400)
    log.append(1, large)
    commit(log)
    fill(log, 300)
    result = log.read(1, 0, 1)
    assert isinstance(result.parts[0], FileRange)
    log.set_log_start(1, log.high_watermark(1))
    commit(log)
    assert retire(log, 0) > 0
    maintain(log, 10)
    assert names(disk, ".deleted") == []

    assert content(result) == bytes(large)


def test_deleted_files_left_by_a_killed_process_are_removed() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    fill(log, 40)
    log.set_log_start(1, log.high_watermark(1))
    commit(log)
    retire(log, 0)
    disk.restart()

    again = open_log(disk, RETIRING, now_ms=0)
    assert names(disk, ".deleted") != []
    maintain(again, 1_000)

    assert names(disk, ".deleted") == []


@pytest.mark.parametrize("kind", ["write", "sync", "rename"])
def test_a_failed_job_is_tried_again_after_a_pause(kind: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(checkpoint_ns=1))
    fill(log, 1)
    disk.faults.append(failing(kind, errno.EIO, path="checkpoint"))
    job = None
    while job is None or type(job).__name__ != "CheckpointJob":
        if job is not None:
            job.run()
            log.maintained(job, 0)
        job = log.begin_maintenance(0)
        assert job is not None
    with pytest.raises(OSError, match="EIO"):
        job.run()
    log.maintenance_failed(job, OSError(), 0)
    assert log.state == "OPEN"
    assert log.begin_maintenance(500) is None

    assert "CheckpointJob" in maintain(log, 1_000)


def os_log(disk: MemoryDisk) -> VnodeLog:
    return open_log(disk, LogOptions(durability="os", segment_bytes=16 << 10, min_free_bytes=0, flush_ms=50))


def test_durability_os_is_visible_when_written_and_synced_by_the_timer() -> None:
    disk = MemoryDisk()
    log = os_log(disk)
    sent = fill(log, 1, now_ms=100)
    assert read_all(log, 1) == sent
    assert log.next_deadline() is not None
    assert read_all(os_log(disk.crash()), 1) == b""

    assert "FlushJob" in maintain(log, 150)

    assert read_all(os_log(disk.crash()), 1) == sent


def test_a_failed_flush_stops_the_log_and_a_copy_from_the_cache_saves_what_was_acknowledged() -> None:
    disk = MemoryDisk()
    log = os_log(disk)
    sent = fill(log, 1, now_ms=100)
    log.append(1, batch(body=b"pending"))
    disk.faults.append(failing("sync", errno.EIO))
    job = log.begin_maintenance(150)
    assert type(job).__name__ == "FlushJob"
    assert job is not None
    with pytest.raises(OSError, match="EIO"):
        job.run()
    log.maintenance_failed(job, OSError(errno.EIO, "sync"), 150)
    assert log.state == "FAILED"
    assert log.next_offset(1) == 1

    commit(log, 150)

    assert log.state == "OPEN"
    assert read_all(os_log(disk.crash()), 1) == sent
