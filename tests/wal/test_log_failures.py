"""Failed writes and syncs stop the log until it is verified; a full disk refuses until there is room."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import DIRECTORY, batch, calls_of, commit, maintain, open_log, read_all, small_options
from wal.disk_errors import DiskFull
from wal.errors import LogFailed
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing

ROOM = small_options(segment_bytes=8 << 10, min_free_bytes=20 << 10)


def log_with(disk: MemoryDisk, *bodies: bytes) -> tuple[VnodeLog, bytes]:
    log, sent = open_log(disk), b""
    for body in bodies:
        data = batch(body=body)
        log.append(1, data)
        sent += bytes(data)
        commit(log)
    return log, sent


def test_a_failed_sync_takes_back_the_frame_and_everything_behind_it() -> None:
    disk = MemoryDisk()
    log, sent = log_with(disk, b"acknowledged")
    log.append(1, batch(3, body=b"in the failed frame"))
    disk.faults.append(failing("sync", errno.EIO))
    job = log.begin_sync(0)
    assert job is not None
    log.append(1, batch(body=b"pending"))
    log.append(2, batch(body=b"another stream"))
    with pytest.raises(OSError, match="EIO"):
        job.run()
    log.failed(job, OSError(errno.EIO, "sync"), 0)

    assert log.state == "FAILED"
    assert (log.next_offset(1), log.next_offset(2)) == (1, 0)
    assert read_all(log, 1) == sent
    with pytest.raises(LogFailed, match="verified against the disk"):
        log.append(1, batch())


def test_after_a_failed_sync_the_log_goes_on_from_what_the_disk_holds() -> None:
    disk = MemoryDisk()
    log, sent = log_with(disk, b"acknowledged")
    log.append(1, batch(3, body=b"lost"))
    disk.faults.append(failing("sync", errno.EIO))
    commit(log)
    assert log.state == "FAILED"

    commit(log)

    assert log.state == "OPEN"
    after = batch(body=b"after")
    assert log.append(1, after).base_offset == 1
    commit(log)
    assert read_all(log, 1) == sent + bytes(after)
    assert read_all(open_log(disk.crash()), 1) == sent + bytes(after)


def test_a_failed_sync_is_never_followed_by_another_sync_of_the_same_file() -> None:
    disk = MemoryDisk()
    log, _ = log_with(disk, b"acknowledged")
    log.append(1, batch(body=b"lost"))
    disk.faults.append(failing("sync", errno.EIO))
    commit(log)
    synced = calls_of(disk, "sync")

    commit(log)

    assert [call.path for call in synced] == [f"{DIRECTORY}/next.tmp"]


def test_acknowledged_bytes_that_the_disk_lost_are_reported_at_reopen() -> None:
    disk = MemoryDisk()
    log, _ = log_with(disk, b"first", b"second")
    segment = f"{DIRECTORY}/{'0' * 20}.wal"
    place = disk.contents(segment).index(b"second")
    log.append(1, batch(body=b"third"))
    disk.faults.append(failing("sync", errno.EIO))
    commit(log)
    disk.open(segment).drop_cache()
    disk.damage(segment, place, b"SECOND")

    commit(log)

    assert log.state == "DAMAGED"
    assert log.damage is not None
    assert log.damage.start <= place < log.damage.end


def test_a_failed_reopen_is_tried_again_after_a_pause() -> None:
    disk = MemoryDisk()
    log, sent = log_with(disk, b"acknowledged")
    log.append(1, batch())
    disk.faults.append(failing("sync", errno.EIO, times=2))
    commit(log, 0)
    commit(log, 0)
    assert log.state == "FAILED"
    assert log.begin_sync(10) is None
    assert log.next_deadline() == 1_000

    commit(log, 1_000)

    assert log.state == "OPEN"
    assert read_all(log, 1) == sent


def test_a_log_that_is_stopped_while_a_commit_fails_is_verified_and_goes_on() -> None:
    disk = MemoryDisk()
    log, sent = log_with(disk, b"acknowledged")
    log.append(1, batch())
    job = log.begin_sync(0)
    assert job is not None
    log.stop(OSError("a fault of ours"))
    log.failed(job, OSError("and one of the disk"), 0)

    commit(log, 1_000)

    assert log.state == "OPEN"
    assert read_all(log, 1) == sent


@pytest.mark.parametrize("stored_bytes", [0, 1, 64, 100, 200])
def test_a_short_write_is_cut_off_and_its_offsets_are_given_out_again(stored_bytes: int) -> None:
    disk = MemoryDisk()
    log, sent = log_with(disk, b"acknowledged")
    log.append(1, batch(body=b"short" * 20))
    disk.faults.append(failing("write", errno.EIO, stored_bytes=stored_bytes))
    commit(log)
    commit(log)

    after = batch(body=b"after")
    assert log.append(1, after).base_offset == 1
    commit(log)

    assert read_all(open_log(disk), 1) == sent + bytes(after)


@pytest.mark.parametrize("kind", ["open", "allocate", "write", "sync", "rename", "sync_directory"])
def test_a_failure_at_each_step_of_a_roll_loses_nothing_acknowledged(kind: str) -> None:
    disk = MemoryDisk()
    log, sent = log_with(disk, *(b"x" * 1_000 for _ in range(12)))
    disk.faults.append(failing(kind, errno.EIO, path="next.tmp" if kind != "sync_directory" else ""))
    log.append(1, batch(body=b"y" * 2_000))
    commit(log)
    assert log.state == "FAILED"

    commit(log)

    assert log.state == "OPEN", log.damage
    after = batch(body=b"z" * 2_000)
    log.append(1, after)
    commit(log)
    assert read_all(log, 1) == sent + bytes(after)
    assert read_all(open_log(disk.crash()), 1) == sent + bytes(after)


def fill(log: VnodeLog, sent: bytes = b"") -> bytes:
    """Append until the disk is full; return the acknowledged bytes."""
    for _ in range(200):
        data = batch(body=b"x" * 1_000)
        try:
            log.append(1, data)
        except DiskFull:
            return sent
        before = log.high_watermark(1)
        commit(log)
        if log.high_watermark(1) > before:
            sent += bytes(data)
    raise AssertionError("the disk never filled up")


def test_a_full_disk_refuses_appends_and_keeps_reads_commits_and_deletions() -> None:
    disk = MemoryDisk(capacity_bytes=60 << 10)
    log = open_log(disk, ROOM)
    sent = fill(log)

    assert log.state == "OPEN"
    with pytest.raises(DiskFull, match="ENOSPC"):
        log.append(1, batch())
    assert read_all(log, 1) == sent
    offset = log.append(9, batch(body=b"group progress"), reserved=True)
    log.set_log_start(1, 5)
    commit(log)
    assert log.high_watermark(9) == offset.next_offset
    assert log.log_start(1) == 5


def test_service_resumes_by_itself_when_space_returns() -> None:
    disk = MemoryDisk(capacity_bytes=60 << 10)
    ballast = disk.open("ballast", create=True)
    ballast.allocate(16 << 10)
    log = open_log(disk, ROOM)
    sent = fill(log)
    ballast.close()
    disk.remove("ballast")
    deadline = log.next_deadline()
    assert deadline is not None

    maintain(log, deadline)

    data = batch(body=b"resumed")
    log.append(1, data)
    commit(log)
    assert read_all(log, 1) == sent + bytes(data)


def test_no_room_for_a_new_segment_is_no_failure() -> None:
    disk = MemoryDisk(capacity_bytes=24 << 10)
    log = open_log(disk, small_options(segment_bytes=10 << 10))

    sent = fill(log)

    assert log.state == "OPEN"
    assert read_all(open_log(disk.crash()), 1) == sent


def test_a_log_opened_on_a_full_disk_refuses_at_once() -> None:
    disk = MemoryDisk(capacity_bytes=10 << 10)
    log = open_log(disk, ROOM)

    with pytest.raises(DiskFull):
        log.append(1, batch())


def test_a_log_closed_after_a_roll_that_found_no_room_opens_undamaged() -> None:
    disk = MemoryDisk()
    log, _ = log_with(disk, bytes(6_000), bytes(6_000))
    disk.faults.append(failing("allocate", errno.ENOSPC, path="next.tmp"))
    log.append(1, batch(body=bytes(6_000)))
    commit(log)
    assert (log.state, log.high_watermark(1)) == ("OPEN", 2)
    log.close(0)
    reopened = open_log(disk.kill())
    assert (reopened.state, reopened.high_watermark(1)) == ("OPEN", 2)
