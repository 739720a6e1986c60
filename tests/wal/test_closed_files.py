"""Closed files of a log: when each was closed, and what is still read from it, restarts included."""

from __future__ import annotations

from tests.wal.logs import batch, commit, maintain, open_log, read_all, retire, small_options
from wal.closed_files import ClosedFile
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL


def write(log: VnodeLog, stream_id: int, now_ms: int, *, timestamp: int = 1_000, size: int = 6_000) -> None:
    log.append(stream_id, batch(body=bytes(size), timestamp=timestamp))
    commit(log, now_ms)


def three_files(disk: MemoryDisk) -> VnodeLog:
    """Return a log of two closed files of streams 1 and 2, made at 0 and 300, and one made at 500."""
    log = open_log(disk)
    for number in range(5):
        write(log, 1 + number % 2, 100 * (number + 1), timestamp=number)
    return log


def test_a_file_is_closed_when_its_successor_is_made() -> None:
    log = three_files(MemoryDisk())
    assert list(log.closed_files()) == [ClosedFile(0, 2, 300, 1, 300), ClosedFile(2, 4, 500, 3, 500)]
    assert [file.base_version for file in log.closed_files(2)] == [2]
    assert [file.base_version for file in log.closed_files(1)] == [2]
    assert list(log.closed_files(4)) == []
    assert list(open_log(MemoryDisk()).closed_files()) == []


def test_the_times_survive_a_crash_and_a_clean_stop() -> None:
    disk = MemoryDisk()
    log = three_files(disk)
    # Only the process that closed a file knows the moment by its own clock.
    before = [file._replace(closed_here_ms=None) for file in log.closed_files()]
    assert list(open_log(disk.crash(DROP_ALL), now_ms=9_000).closed_files()) == before
    maintain(log, 600)
    log.close(600)
    disk.restart()
    assert list(open_log(disk, now_ms=9_000).closed_files()) == before


def test_what_is_read_from_a_file_ends_with_the_log_start_and_the_stream() -> None:
    log = three_files(MemoryDisk())
    assert log.ends_in(0) == [(1, 1), (2, 1)]
    assert log.ends_in(2) == [(1, 2), (2, 2)]
    assert log.ends_in(1) == []
    log.set_log_start(1, 1)
    log.drop_stream(2)
    commit(log, 600)
    assert log.ends_in(0) == []
    assert log.ends_in(2) == [(1, 2)]


def test_a_retired_file_is_no_longer_listed() -> None:
    log = three_files(MemoryDisk())
    for stream_id in (1, 2):
        log.set_log_start(stream_id, 1)
    commit(log, 600)
    maintain(log, 600)
    retire(log, 700)
    assert [file.base_version for file in log.closed_files()] == [2]


def test_an_append_closes_a_file_that_is_old_and_a_restart_does_not_make_it_young() -> None:
    disk = MemoryDisk()
    options = small_options(segment_ms=1_000)
    log = open_log(disk, options)
    write(log, 1, 100, size=10)
    write(log, 1, 1_100, size=10)
    assert log.usage()[0] == 1
    log = open_log(disk.kill(), options, now_ms=1_101)
    log.set_wall_clock(now_ms=1_101, wall_ms=1_101)
    write(log, 1, 1_101, size=10)
    assert list(log.closed_files()) == [ClosedFile(0, 2, 1_101, 1_000, 1_101)]
    assert len(read_all(log, 1)) == 3 * 71


def test_without_an_age_only_the_size_closes_a_file() -> None:
    log = open_log(MemoryDisk())
    write(log, 1, 100, size=10)
    write(log, 1, 10**15, size=10)
    assert log.usage()[0] == 1


def test_a_full_disk_closes_no_file_for_its_age_as_there_is_no_room_for_the_next() -> None:
    log = open_log(MemoryDisk(), small_options(segment_ms=1_000))
    write(log, 1, 100, size=10)
    log._state.full = True
    log.set_log_start(1, 1)
    commit(log, 10_000)
    assert (log.usage()[0], log.log_start(1)) == (1, 1)


def test_a_file_is_as_young_as_its_newest_sign_of_youth() -> None:
    file = ClosedFile(0, 1, 500, 200)
    assert file.age_ms(wall_ms=1_000, now_ms=50) == 500
    assert file._replace(max_timestamp=900).age_ms(wall_ms=1_000, now_ms=50) == 100
    # A record of the future says nothing.
    assert file._replace(max_timestamp=1_001).age_ms(wall_ms=1_000, now_ms=50) == 500
    assert file._replace(closed_here_ms=47).age_ms(wall_ms=1_000, now_ms=50) == 3
    assert file._replace(closed_ms=None).age_ms(wall_ms=1_000, now_ms=50) is None
