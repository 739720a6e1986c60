"""Whatever call fails, no file stays open that nothing uses: a server would run out of descriptors."""

from __future__ import annotations

import errno
import gc
from collections.abc import Iterator

import pytest

from tests.wal.logs import batch, commit, maintain, open_log, small_options
from tests.wal.test_log_error_sweep import Script, fault_at
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing


@pytest.fixture(autouse=True)
def earlier_objects() -> Iterator[None]:
    """Exempt them from collections: after many other tests each would take a second."""
    gc.freeze()
    yield
    gc.unfreeze()


def open_paths(disk: MemoryDisk) -> list[str]:
    """Return the paths of all open files."""
    gc.collect()
    return sorted(file.path for file in disk._open_files)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_no_failing_call_leaves_a_file_open(code: int) -> None:
    number = 0
    while True:
        number += 1
        disk = MemoryDisk()
        script = Script(disk)
        hit = fault_at(number, code, 0, disk)
        script.run()
        if not hit:
            break
        script.log.close(script.now_ms)
        del script
        assert open_paths(disk) == [], hit
    assert number > 150


def rolling() -> tuple[MemoryDisk, VnodeLog]:
    """Return a log with a spare whose next frame closes the active segment."""
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10, seal_interval_ms=0))
    while log._state.spare is None:
        log.append(1, batch(body=bytes(100)))
        commit(log, 0)
        maintain(log, 0)
    assert not log._state.segments.all[-1].sealed
    log.append(1, batch(body=bytes(1_000)))
    return disk, log


@pytest.mark.parametrize("kind", ["write", "truncate", "sync"])
def test_a_footer_that_cannot_be_written_leaves_the_spare_closed(kind: str) -> None:
    disk, log = rolling()
    assert open_paths(disk) == ["vnode-0/next.tmp", "vnode-0/spare.tmp"]
    disk.faults.append(failing(kind, errno.EIO))
    commit(log, 10)
    assert log.state == "FAILED"
    assert open_paths(disk) == ["vnode-0/next.tmp"]


def test_a_spare_that_cannot_be_synced_is_closed() -> None:
    """Bug: each try, one a second, left a descriptor open."""
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10))
    log.append(1, batch(body=bytes(3_300)))
    commit(log, 0)
    disk.faults.append(failing("sync", errno.EIO, path="spare", times=5))
    before = open_paths(disk)
    for step in range(5):
        now_ms = 1_000 + 2_000 * step
        while (job := log.begin_maintenance(now_ms)) is not None:
            try:
                job.run()
            except OSError as error:
                log.maintenance_failed(job, error, now_ms)
            else:
                log.maintained(job, now_ms)
    assert open_paths(disk) == before
