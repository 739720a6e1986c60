"""Room kept for a full disk: with no byte free, deletions are still recorded and free their space."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, read_all, small_options
from wal.disk_errors import DiskFull
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.options import LogOptions
from wal.reserve import Reserve

OPTIONS = small_options(reserve_bytes=48 << 10, delete_delay_ms=0, scrub_bytes_per_second=0)


def full_log(options: LogOptions = OPTIONS) -> tuple[MemoryDisk, VnodeLog]:
    """Return a log of several segments whose newest has no room left, on a disk without a free byte."""
    disk = MemoryDisk()
    log = open_log(disk, options)
    for number in range(60):
        log.append(1, batch(body=bytes(1_000)))
        log.append(2, batch(body=b"kept"))
        commit(log, number)
        maintain(log, number)
    while True:
        segment = log._state.segments.all[-1]
        if segment.sealed:
            break
        log.append(2, batch(body=b"filler" * 50))
        commit(log, 60)
    maintain(log, 5_000)
    if log._state.spare is not None:
        log._state.spare.close()
        disk.remove(f"{DIRECTORY}/spare.tmp")
        log._state.spare = None
    disk.capacity_bytes = disk.used_bytes()
    return disk, log


def free_all(log: VnodeLog) -> int:
    """Delete stream 1 as the broker does; return how many segments went."""
    log.drop_stream(1)
    before = len(log._state.segments.all)
    for number in range(8):
        now_ms = 10_000 + number * 2_000
        commit(log, now_ms)
        while (job := log.begin_maintenance(now_ms)) is not None:
            try:
                job.run()
            except DiskFull as error:
                log.maintenance_failed(job, error, now_ms)
            else:
                log.maintained(job, now_ms)
        log.retire_segments()
    return before - len(log._state.segments.all)


def test_with_no_byte_free_a_deletion_is_recorded_and_frees_its_segments() -> None:
    disk, log = full_log()
    kept = log.high_watermark(2)
    log.set_log_start(2, kept - 1)
    used = disk.used_bytes()
    assert free_all(log) >= 3
    assert disk.used_bytes() < used
    assert 1 not in log.streams()
    log = open_log(disk.crash(), OPTIONS, now_ms=90_000)
    assert 1 not in log.streams()
    assert log.high_watermark(2) == kept


def test_without_a_reserve_nothing_could_be_freed() -> None:
    _, log = full_log(small_options(delete_delay_ms=0, scrub_bytes_per_second=0))
    assert free_all(log) == 0


def test_the_reserve_is_made_again_once_there_is_room() -> None:
    disk, log = full_log()
    reserve = log._state.reserve
    assert reserve is not None
    assert reserve.held
    free_all(log)
    disk.capacity_bytes = None
    log._state.full = False
    maintain(log, 60_000)
    assert reserve.held
    assert disk.open(f"{DIRECTORY}/reserve").size() == 48 << 10


def test_a_reserve_that_finds_no_room_leaves_nothing_behind() -> None:
    disk = MemoryDisk(capacity_bytes=1_000)
    reserve = Reserve(disk, "")
    with pytest.raises(DiskFull):
        reserve.make(2_000)
    assert (reserve.held, reserve.release(), disk.files()) == (False, False, [])


def test_a_reserve_that_someone_removed_is_no_error() -> None:
    disk = MemoryDisk()
    reserve = Reserve(disk, "")
    reserve.make(100)
    disk.remove("/reserve")
    assert not reserve.release()
    assert not Reserve(disk, "").held


@pytest.mark.parametrize("path", [".idx", "checkpoint", "witness"])
def test_a_job_that_fails_for_ever_does_not_keep_deleted_files(path: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(delete_delay_ms=100, scrub_bytes_per_second=0))
    log.append(1, batch())
    commit(log)
    log._maintenance.delete_later([f"{DIRECTORY}/old.deleted"], 0)
    disk.open(f"{DIRECTORY}/old.deleted", create=True).close()
    disk.faults.append(failing("open", errno.EIO, path=path, times=10**6))
    log._maintenance.checkpoint_wanted = True
    for number in range(40):
        log.append(1, batch(body=bytes(1_000)))
        commit(log, number * 100)
        while (job := log.begin_maintenance(number * 100)) is not None:
            try:
                job.run()
            except OSError as error:
                log.maintenance_failed(job, error, number * 100)
            else:
                log.maintained(job, number * 100)
    assert not disk.exists(f"{DIRECTORY}/old.deleted")


@pytest.mark.parametrize(("path", "job_name"), [("checkpoint", "CheckpointJob"), ("witness", "WitnessJob")])
def test_a_failed_write_leaves_the_newest_good_generation_for_the_next(path: str, job_name: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(scrub_bytes_per_second=0))
    names: list[str] = []
    for number in range(5):
        log.append(1, batch())
        commit(log, number * 5_000)
        log._maintenance.checkpoint_wanted = True
        disk.faults.clear()
        if number == 2:
            disk.faults.append(failing("sync", errno.EIO, path=path, times=1))
        job = log.begin_maintenance(number * 5_000)
        while job is not None:
            names.append(type(job).__name__)
            try:
                job.run()
            except OSError as error:
                log.maintenance_failed(job, error, number * 5_000)
            else:
                log.maintained(job, number * 5_000)
            job = log.begin_maintenance(number * 5_000)
    assert job_name in names
    maintenance = log._maintenance
    assert (maintenance.generation, maintenance.witness_generation) == (
        (4, 5) if path == "checkpoint" else (5, 4)
    )
    assert read_all(open_log(disk.crash(), small_options(), now_ms=90_000), 1) == read_all(log, 1)


def test_a_failed_seal_closes_the_room_reserved_for_the_next_segment() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options())
    while log._state.spare is None:
        log.append(1, batch(body=bytes(1_000)))
        commit(log)
        maintain(log)
    spare = log._state.spare
    disk.faults.append(failing("truncate", errno.EIO))
    for _ in range(20):
        if log.state == "FAILED":
            break
        log.append(1, batch(body=bytes(5_000)))
        commit(log)
    assert log.state == "FAILED"
    with pytest.raises(OSError, match="EBADF"):
        spare.sync()
