"""The log as its callers see it: offsets, visibility over time, and recovery after a restart."""

from __future__ import annotations

import pytest

from tests.wal.logs import batch, commit, content, open_log, read_all, small_options
from wal.errors import OffsetOutOfRange
from wal.jobs import CommitJob
from wal.memory_disk import MemoryDisk


def test_offsets_are_dense_per_stream_and_versions_count_all_records() -> None:
    log = open_log(MemoryDisk())

    first, second, third = log.append(7, batch(3)), log.append(8, batch(2)), log.append(7, batch(1))

    assert (first.base_offset, first.next_offset, first.version) == (0, 3, 0)
    assert (second.base_offset, second.next_offset, second.version) == (0, 2, 3)
    assert (third.base_offset, third.next_offset, third.version) == (3, 4, 5)


def test_offset_and_leader_epoch_are_patched_into_the_batch() -> None:
    log = open_log(MemoryDisk())
    log.append(7, batch(3))
    data = batch(1)

    log.append(7, data)

    assert int.from_bytes(data[:8], "big") == 3
    assert int.from_bytes(data[12:16], "big") == 0


def test_nothing_is_visible_before_synced() -> None:
    log = open_log(MemoryDisk())
    log.append(7, batch(3))
    job = log.begin_sync(0)
    assert job is not None
    job.run()
    assert (log.high_watermark(7), log.next_offset(7)) == (0, 3)
    assert content(log.read(7, 0, 1000)) == b""

    advanced = log.synced(job, 0)

    assert log.high_watermark(7) == 3
    assert [(stream.stream_id, stream.high_watermark) for stream in advanced] == [(7, 3)]


def test_appends_during_a_sync_join_the_next_frame() -> None:
    log = open_log(MemoryDisk())
    first, second = batch(body=b"first"), batch(body=b"second")
    log.append(1, first)
    job = log.begin_sync(0)
    assert job is not None
    log.append(1, second)
    assert log.begin_sync(0) is None
    job.run()
    log.synced(job, 0)
    assert log.high_watermark(1) == 1

    commit(log)

    assert read_all(log, 1) == bytes(first) + bytes(second)


def test_a_stream_reads_back_as_it_was_appended_after_reopening() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    sent: dict[int, bytes] = {1: b"", 2: b"", 3: b""}
    for number in range(200):
        stream_id = number % 3 + 1
        data = batch(number % 5 + 1, body=bytes([number]) * (number * 7 % 900))
        log.append(stream_id, data)
        sent[stream_id] += bytes(data)
        if number % 7 == 0:
            commit(log)
    commit(log)

    again = open_log(disk)

    for stream_id, stored in sent.items():
        assert read_all(log, stream_id) == stored
        assert read_all(again, stream_id) == stored
        assert again.next_offset(stream_id) == log.next_offset(stream_id)
    assert again.next_version == log.next_version


@pytest.mark.parametrize("offset", [-1, 4, 99])
def test_a_read_outside_the_log_names_its_bounds(offset: int) -> None:
    log = open_log(MemoryDisk())
    log.append(7, batch(3))
    commit(log)

    with pytest.raises(OffsetOutOfRange) as raised:
        log.read(7, offset, 1000)

    assert (raised.value.log_start, raised.value.high_watermark) == (0, 3)


def test_an_unknown_stream_is_empty() -> None:
    log = open_log(MemoryDisk())

    assert log.read(5, 0, 100).parts == []
    with pytest.raises(OffsetOutOfRange):
        log.read(5, 1, 100)


def test_a_frame_takes_no_more_than_its_limit_and_order_is_kept() -> None:
    log = open_log(MemoryDisk(), small_options(frame_bytes_max=1_000))
    sent = b""
    for number in range(20):
        data = batch(body=bytes([number]) * 300)
        log.append(1, data)
        sent += bytes(data)

    commit(log)

    assert read_all(log, 1) == sent
    assert log._state.next_sequence > 6


def test_a_frame_takes_no_more_batches_than_its_limit_and_order_is_kept() -> None:
    log = open_log(MemoryDisk(), small_options(frame_entries_max=3))
    for number in range(10):
        log.append(1 + number % 2, batch(body=bytes([number])))
    counts = []
    while (job := log.begin_sync(0)) is not None:
        assert isinstance(job, CommitJob)
        job.run()
        counts.append(job.entry_count)
        log.synced(job, 0)
    assert counts == [3, 3, 3, 1]
    assert [entry.version for entry in log.read_versions(0, 1 << 20)] == list(range(10))


def test_a_batch_larger_than_a_segment_is_stored_whole() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(body=b"small"))
    commit(log)
    large = batch(body=b"x" * 100_000)
    log.append(1, large)
    commit(log)

    assert content(open_log(disk).read(1, 1, 10)) == bytes(large)
