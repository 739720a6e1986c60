"""The streams of a log that is not opened: those of the checkpoint, with what came after it."""

from __future__ import annotations

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.memory_disk import MemoryDisk
from wal.stored_streams import stored_streams


def test_streams_are_found_after_a_clean_stop_and_after_none() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for stream_id in (1, 2, 3):
        log.append(stream_id, batch())
    commit(log)
    assert stored_streams(disk, DIRECTORY) == {1, 2, 3}
    log.close(0)
    assert stored_streams(disk, DIRECTORY) == {1, 2, 3}


def test_streams_dropped_or_made_after_the_checkpoint_are_known() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(checkpoint_ns=1))
    for stream_id in (1, 2):
        log.append(stream_id, batch())
    commit(log)
    maintain(log)
    log.drop_stream(2)
    log.append(3, batch())
    commit(log)
    assert stored_streams(disk, DIRECTORY) == {1, 3} == set(log.streams())


def test_a_new_log_has_none() -> None:
    disk = MemoryDisk()
    open_log(disk)
    assert stored_streams(disk, DIRECTORY) == set()
