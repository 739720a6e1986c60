"""A log opens without segments retired in its middle, whichever of their neighbours stay."""

from __future__ import annotations

import pytest

from tests.wal.logs import batch, commit, maintain, open_log, read_all, retire
from wal.memory_disk import MemoryDisk


@pytest.mark.parametrize("kept", [{0}, {0, 1}, {0, 2}, {1}, {0, 1, 2}, set()])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_log_opens_whichever_segments_were_retired(kept: set[int], is_killed: bool) -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for number in range(3):  # three segments, each with a stream of its own
        for _ in range(2):
            log.append(number, batch(body=bytes(6_000)))
            commit(log)
        maintain(log)
    log.append(9, batch(body=bytes(6_000)))
    commit(log)
    for number in {0, 1, 2} - kept:
        log.set_log_start(number, 2)
    commit(log)
    retire(log, now_ms=1_000)
    retire(log, now_ms=100_000)
    if not is_killed:
        log.close(200_000)
    log = open_log(disk.kill(), now_ms=300_000)
    assert log.state == "OPEN", log.damage
    for number in range(3):
        assert len(read_all(log, number)) == (2 * 6_061 if number in kept else 0)
    assert len(read_all(log, 9)) == 6_061
