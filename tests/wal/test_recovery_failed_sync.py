"""A sync fails and the process ends before it can react: the next process must not trust its reads."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import batch, calls_of, commit, open_log, read_all
from wal.disk import DiskError
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.memory_image import DROP_ALL


def test_what_follows_a_lost_frame_survives_the_next_power_cut() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(body=b"safe"))
    commit(log)
    log.append(1, batch(body=b"lost by its sync, still in the page cache"))
    disk.faults.append(failing("sync", errno.EIO))
    job = log.begin_sync(0)
    assert job is not None
    with pytest.raises(DiskError):
        job.run()
    disk = disk.kill()
    log = open_log(disk)
    log.append(1, batch(body=b"acknowledged by the next process"))
    commit(log)
    end = log.high_watermark(1)
    log = open_log(disk.crash(DROP_ALL))
    assert (log.state, log.high_watermark(1)) == ("OPEN", end)
    assert b"acknowledged by the next process" in read_all(log, 1)


def test_frames_that_are_proven_are_not_written_again() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for _ in range(5):
        log.append(1, batch(body=bytes(500)))
        commit(log)
    disk = disk.kill()
    writes = calls_of(disk, "write")
    open_log(disk)
    (write,) = (call for call in writes if call.path.endswith(".wal"))
    assert 500 < write.size_bytes < 1_000
