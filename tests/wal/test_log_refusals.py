"""A log that refuses gives its reason each time, and keeps none of the caller's objects alive."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from tests.wal.logs import batch, commit, open_log
from wal.errors import LogFailed
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing


def failed_log() -> VnodeLog:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch())
    disk.faults.append(failing("sync", errno.EIO))
    commit(log)
    assert log.state == "FAILED"
    return log


@pytest.mark.parametrize(
    "refused",
    [
        lambda log: log.append(1, batch()),
        lambda log: log.append_meta(1, b"x"),
        lambda log: log.drop_stream(1),
    ],
)
def test_refusals_do_not_pile_up_tracebacks(refused: Callable[[VnodeLog], object]) -> None:
    log = failed_log()
    lengths = set()
    for _ in range(50):
        with pytest.raises(LogFailed) as caught:
            refused(log)
        lengths.add(len(caught.traceback))
    assert len(lengths) == 1
