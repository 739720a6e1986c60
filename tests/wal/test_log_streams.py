"""Streams through restarts: log starts, drops, leader epochs, producers, expiry."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import batch, commit, content, maintain, open_log, read_all, small_options
from wal.errors import LogClosed, OffsetOutOfRange, StreamDropped
from wal.format import EntryKind
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.producers import Duplicate, New, OutOfOrderSequence, ProducerStamp

WITH_CHECKPOINTS = small_options(checkpoint_ns=1)


def stamped(log: VnodeLog, sequence: int, *, epoch: int = 0, records: int = 2) -> ProducerStamp:
    """Check and append a batch of producer 9."""
    stamp = ProducerStamp(9, epoch, sequence, records)
    assert isinstance(log.producers(1).check(stamp), New)
    log.append(1, batch(records, producer=(9, epoch, sequence), timestamp=77), producer=stamp)
    return stamp


def log_of_five(disk: MemoryDisk) -> tuple[VnodeLog, int]:
    """Return a log with five equal batches of two records in stream 1, and the bytes of the stream."""
    log = open_log(disk)
    for _ in range(5):
        log.append(1, batch(2, body=b"x" * 100))
        commit(log)
    return log, log.stream_size_bytes(1)


def test_a_moved_log_start_is_visible_once_synced_and_survives() -> None:
    disk = MemoryDisk()
    log, size = log_of_five(disk)

    log.set_log_start(1, 4)
    assert log.log_start(1) == 0
    commit(log)

    assert log.log_start(1) == 4
    assert log.stream_size_bytes(1) == size * 3 // 5
    with pytest.raises(OffsetOutOfRange):
        log.read(1, 3, 100)
    again = open_log(disk.crash())
    assert (again.log_start(1), again.stream_size_bytes(1)) == (4, size * 3 // 5)


def test_a_log_start_neither_goes_back_nor_above_the_high_watermark() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch(5))
    commit(log)
    log.set_log_start(1, 4)
    commit(log)

    log.set_log_start(1, 2)
    commit(log)
    assert log.log_start(1) == 4
    with pytest.raises(OffsetOutOfRange):
        log.set_log_start(1, 6)


def test_bytes_are_released_once_however_many_moves_are_on_their_way() -> None:
    log, size = log_of_five(MemoryDisk())

    versions = [log.set_log_start(1, offset) for offset in (4, 2, 4, 6)]
    assert versions == sorted(versions)
    assert log.next_version == versions[0]
    commit(log)

    assert (log.log_start(1), log.stream_size_bytes(1)) == (6, size * 2 // 5)
    assert log.next_version == versions[-1] + 1
    assert log.set_log_start(1, 6) < log.next_version
    log.set_log_start(1, 8)
    commit(log)
    assert (log.log_start(1), log.stream_size_bytes(1)) == (8, size // 5)


def test_a_move_that_was_lost_is_made_again_in_full() -> None:
    disk = MemoryDisk()
    log, size = log_of_five(disk)
    disk.faults.append(failing("sync", errno.EIO))
    log.set_log_start(1, 4)
    job = log.begin_sync(0)
    assert job is not None
    with pytest.raises(OSError, match="sync") as caught:
        job.run()
    log.failed(job, caught.value, 0)
    commit(log)
    log.set_log_start(1, 4)
    commit(log)
    assert (log.log_start(1), log.stream_size_bytes(1)) == (4, size * 3 // 5)


@pytest.mark.parametrize("stopped", ["cleanly", "killed"])
def test_an_emptied_stream_keeps_its_next_offset(stopped: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(5))
    commit(log)
    log.set_log_start(1, 5)
    commit(log)
    if stopped == "cleanly":
        log.close(0)
    disk.restart()

    again = open_log(disk)

    assert (again.log_start(1), again.next_offset(1), read_all(again, 1)) == (5, 5, b"")
    assert again.append(1, batch()).base_offset == 5


def test_a_dropped_stream_takes_no_append_and_is_forgotten_once_synced() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch())
    log.append(2, batch())
    commit(log)

    log.drop_stream(1)
    with pytest.raises(StreamDropped, match="stream 1"):
        log.append(1, batch())
    assert log.high_watermark(1) == 1
    commit(log)

    assert list(log.streams()) == [2]
    assert list(open_log(disk.crash()).streams()) == [2]
    with pytest.raises(OffsetOutOfRange):
        log.read(1, 1, 10)


def test_dropping_what_is_not_there_does_nothing() -> None:
    log = open_log(MemoryDisk())

    log.drop_stream(5)

    assert log.begin_sync(0) is None


@pytest.mark.parametrize("stopped", ["cleanly", "killed"])
def test_leader_epochs_are_in_batches_and_survive(stopped: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(3))
    log.set_leader_epoch(1, 4)
    data = batch(1)
    log.append(1, data)
    commit(log)
    assert int.from_bytes(data[12:16], "big") == 4
    if stopped == "cleanly":
        log.close(0)
    disk.restart()

    again = open_log(disk)

    assert again.leader_epochs(1) == [(0, 0), (4, 3)]
    assert again.leader_epoch(1) == 4
    assert read_all(again, 1).endswith(bytes(data))


@pytest.mark.parametrize("stopped", ["cleanly", "killed", "checkpointed"])
def test_a_producer_is_known_after_a_restart(stopped: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk, WITH_CHECKPOINTS)
    stamps = [stamped(log, sequence) for sequence in (0, 2, 4)]
    commit(log)
    if stopped == "checkpointed":
        assert "CheckpointJob" in maintain(log, 10_000)
    if stopped == "cleanly":
        log.close(0)
    disk.restart()

    again = open_log(disk, now_ms=5)

    producers = again.producers(1)
    assert [producers.check(stamp) for stamp in stamps] == [
        Duplicate(0, 1, 77),
        Duplicate(2, 3, 77),
        Duplicate(4, 5, 77),
    ]
    with pytest.raises(OutOfOrderSequence):
        producers.check(ProducerStamp(9, 0, 8, 1))
    stamped(again, 6)


def test_a_producer_of_a_failed_frame_may_send_it_again() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    stamped(log, 0)
    commit(log)
    stamped(log, 2)
    job = log.begin_sync(0)
    assert job is not None
    stamped(log, 4)

    log.failed(job, OSError(5, "sync"), 0)
    commit(log)

    assert log.state == "OPEN"
    with pytest.raises(OutOfOrderSequence):
        log.producers(1).check(ProducerStamp(9, 0, 4, 2))
    stamped(log, 2)
    commit(log)
    assert log.high_watermark(1) == 4


def test_a_checkpoint_holds_no_producer_state_that_is_not_durable() -> None:
    disk = MemoryDisk()
    log = open_log(disk, WITH_CHECKPOINTS)
    stamped(log, 0)
    commit(log)
    stamped(log, 2)

    assert "CheckpointJob" in maintain(log, 10_000)

    again = open_log(disk.crash())
    assert isinstance(again.producers(1).check(ProducerStamp(9, 0, 2, 2)), New)


def test_idle_producers_expire_on_the_clock_that_is_given() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(producer_expiry_ms=1_000), now_ms=50)
    stamped(log, 0)
    commit(log, 50)

    log.tick(500)
    assert log.producers(1).describe() != []
    for now_ms in range(11_000, 100_000, 10_000):
        log.tick(now_ms)

    assert log.producers(1).describe() == []


def test_a_restart_with_another_clock_does_not_expire_producers() -> None:
    disk = MemoryDisk()
    log = open_log(disk, now_ms=1_000)
    stamp = stamped(log, 0)
    commit(log, 1_000)
    log.close(1_000)

    again = open_log(disk, now_ms=10**12)
    for step in range(3):
        again.tick(10**12 + step * 10_000)

    assert isinstance(again.producers(1).check(stamp), Duplicate)


def test_control_batches_are_entries_of_their_own_kind() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(1))
    marker_body = bytes.fromhex("20000000080000000100001a0000000000070000")
    log.append(1, batch(1, body=marker_body, producer=(9, 3, -1), attributes=0x30), kind=EntryKind.CONTROL)
    commit(log)

    entries = log.read_versions(0, 1 << 20)

    assert [entry.kind for entry in entries] == [EntryKind.DATA, EntryKind.CONTROL]
    assert log.next_offset(1) == 2


def test_a_closed_log_takes_nothing_and_reads_on() -> None:
    log = open_log(MemoryDisk())
    data = batch()
    log.append(1, data)

    advanced = log.close(0)

    assert [(stream.stream_id, stream.high_watermark) for stream in advanced] == [(1, 1)]
    assert content(log.read(1, 0, 10)) == bytes(data)
    with pytest.raises(LogClosed):
        log.append(1, batch())
    assert log.state == "CLOSED"


def test_a_clean_stop_needs_no_scan() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for _ in range(30):
        log.append(1, batch(body=bytes(1_000)))
        commit(log)
    log.close(0)

    again = open_log(disk)

    assert again.recovery.clean
    assert (again.recovery.frames, again.recovery.scanned_bytes) == (0, 0)
    assert again.next_offset(1) == 30


def test_versions_follow_arrival_though_payload_is_grouped_by_stream() -> None:
    log = open_log(MemoryDisk())
    arrived = []
    for number in range(12):
        stream_id = (3, 1, 2, 1)[number % 4]
        data = batch(number % 3 + 1, body=bytes([number]))
        arrived.append((log.append(stream_id, data).version, stream_id, bytes(data)))
    version = log.append_meta(5, b"note")
    commit(log)

    entries = log.read_versions(0, 1 << 20)

    assert [(e.version, e.stream_id, bytes(e.data)) for e in entries[:-1]] == arrived
    assert (entries[-1].version, entries[-1].stream_id) == (version, 5)
    assert bytes(entries[-1].opaque or b"") == b"note"
    assert log.next_version == version + 1
    later = log.read_versions(arrived[5][0], 1 << 20)
    assert [e.version for e in later] == [v for v, _, _ in arrived[5:]] + [version]
