"""Frames of an earlier process that the object store may lack."""

from __future__ import annotations

from tests.wal.logs import batch, commit, maintain, open_log, small_options
from wal.commit import Advanced
from wal.hidden import Hidden
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL

REMOTE = small_options(durability="remote", checkpoint_ns=1)


def restarted(disk: MemoryDisk) -> VnodeLog:
    """Return the log as a start leaves it that has to ask the store first."""
    log = open_log(disk.crash(DROP_ALL), REMOTE)
    log.hide_replayed()
    return log


def with_records(log: VnodeLog, count: int, stream_id: int = 1) -> None:
    for _ in range(count):
        log.append(stream_id, batch())
        commit(log)


def test_the_first_offset_of_each_stream_and_all_bytes_are_kept() -> None:
    hidden = Hidden()
    for stream_id, offset in ((1, 5), (2, 0), (1, 7)):
        hidden.add(stream_id, offset, 100)
    assert hidden.starts == {1: 5, 2: 0}
    assert hidden.sizes == {1: 200, 2: 100}


def test_what_a_checkpoint_has_is_shown_and_what_follows_it_is_hidden() -> None:
    disk = MemoryDisk()
    log = open_log(disk, REMOTE)
    with_records(log, 2)
    maintain(log)
    with_records(log, 3)
    after = restarted(disk)
    assert (after.high_watermark(1), after.counted_end(1), after.next_offset(1)) == (2, 5, 5)
    assert (after.shown_version, after.next_version) == (2, 5)


def test_showing_tells_of_the_streams_and_their_bytes() -> None:
    disk = MemoryDisk()
    with_records(open_log(disk, REMOTE), 3)
    after = restarted(disk)
    assert after.high_watermark(1) == 0
    assert after.show_replayed() == [Advanced(1, 3, 3 * len(batch()))]
    assert (after.high_watermark(1), after.shown_version) == (3, 3)
    assert after.show_replayed() == []


def test_no_checkpoint_has_what_is_hidden() -> None:
    disk = MemoryDisk()
    with_records(open_log(disk, REMOTE), 3)
    disk = disk.crash(DROP_ALL)
    log = open_log(disk, REMOTE)
    log.hide_replayed()
    with_records(log, 1)
    assert "CheckpointJob" not in maintain(log)
    log.close(0)
    disk = disk.crash(DROP_ALL)
    again = open_log(disk, REMOTE)
    again.hide_replayed()
    assert (again.high_watermark(1), again.next_offset(1)) == (0, 4)
    again.show_replayed()
    assert "CheckpointJob" in maintain(again)
    again.close(0)
    assert restarted(disk).high_watermark(1) == 4


def test_records_that_were_deleted_meanwhile_do_not_move_the_end_before_the_start() -> None:
    disk = MemoryDisk()
    with_records(open_log(disk, REMOTE), 3)
    log = restarted(disk)
    log.set_log_start(1, 2)
    commit(log)
    assert (log.log_start(1), log.high_watermark(1)) == (2, 2)


def test_of_another_class_nothing_is_hidden() -> None:
    disk = MemoryDisk()
    with_records(open_log(disk), 3)
    log = open_log(disk.crash(DROP_ALL))
    log.hide_replayed()
    assert (log.high_watermark(1), log.shown_version) == (3, 3)
