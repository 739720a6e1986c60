"""Reads give whole batches up to a limit, from memory or as ranges of a file, with few calls."""

from __future__ import annotations

import pytest

from tests.wal.logs import DIRECTORY, batch, calls_of, commit, content, open_log, small_options
from wal.errors import LogDamaged
from wal.index import EXTENT_BYTES
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.reader import INDEXES_OPENED, PIECES_MAX
from wal.segment import FileRange

LARGE = LogOptions(min_free_bytes=0, segment_bytes=4 << 20)
NO_CACHE = LogOptions(min_free_bytes=0, segment_bytes=4 << 20, tail_cache_bytes=0)


def appended(log: VnodeLog, count: int, size: int, stream_id: int = 1) -> list[bytes]:
    """Append batches of about `size` bytes in one frame."""
    sent = []
    for number in range(count):
        data = batch(2, body=bytes([number % 256]) * size)
        log.append(stream_id, data)
        sent.append(bytes(data))
    commit(log)
    return sent


def test_recent_small_runs_are_the_arrived_bytes_themselves() -> None:
    log = open_log(MemoryDisk(), LARGE)
    data = batch(body=b"x" * 5_000)
    log.append(1, data)
    commit(log)

    assert log.read(1, 0, 10_000).parts[0] is data


def test_many_small_batches_come_as_one_buffer() -> None:
    log = open_log(MemoryDisk(), LARGE)
    sent = appended(log, 100, 50)

    parts = log.read(1, 0, 1 << 20).parts

    assert len(parts) == 1
    assert parts[0] == b"".join(sent)


def test_large_runs_come_as_one_file_range() -> None:
    log = open_log(MemoryDisk(), LARGE)
    sent = appended(log, 40, 10_000)

    result = log.read(1, 0, 1 << 20)

    assert [type(part) for part in result.parts] == [FileRange]
    assert isinstance(result.parts[0], FileRange)
    assert not result.parts[0].maybe_cold
    assert content(result) == b"".join(sent)


def test_a_range_outside_the_tail_cache_may_be_cold() -> None:
    log = open_log(MemoryDisk(), NO_CACHE)
    appended(log, 40, 10_000)

    (part,) = log.read(1, 0, 1 << 20).parts

    assert isinstance(part, FileRange)
    assert part.maybe_cold


def test_neighbours_on_disk_are_read_together() -> None:
    disk = MemoryDisk()
    log = open_log(disk, NO_CACHE)
    sent = [appended(log, 1, 3_000)[0] for _ in range(30)]
    reads = calls_of(disk, "read")

    result = log.read(1, 0, 1 << 20)

    assert len(reads) == 1
    assert content(result) == b"".join(sent)


def test_a_sequential_reader_stands_at_extents_and_never_walks() -> None:
    disk = MemoryDisk()
    log = open_log(disk, NO_CACHE)
    sent = b"".join(appended(log, 304, 4_000))
    reads = calls_of(disk, "read")
    offset, parts = 0, []
    while offset < log.high_watermark(1):
        result = log.read(1, offset, 400_000)
        parts += result.parts
        offset = result.next_offset

    handed_out = [len(part) for part in parts if not isinstance(part, FileRange)]
    assert [call.size_bytes for call in reads] == handed_out, "only bytes that are handed out were read"
    assert b"".join(part.read() if isinstance(part, FileRange) else bytes(part) for part in parts) == sent


def test_an_extent_holds_at_most_its_bytes_or_one_batch() -> None:
    log = open_log(MemoryDisk(), LARGE)
    for size in (1_000, EXTENT_BYTES, 100, EXTENT_BYTES + 1, 100, 100):
        log.append(1, batch(body=bytes(size)))
    commit(log)

    assert [extent.next_offset - extent.base_offset for extent in log.extents(1)] == [1, 1, 1, 1, 2]
    again = [extent.size_bytes for extent in log.extents(1)]
    disk_index = log._state.segments.all[0].index
    assert disk_index is not None
    assert list(disk_index.size) == again


@pytest.mark.parametrize("options", [LARGE, NO_CACHE])
@pytest.mark.parametrize("max_bytes", [0, 1, 110, 111, 112, 221, 222, 223, 5_000])
def test_whole_batches_up_to_the_limit_and_at_least_one(options: LogOptions, max_bytes: int) -> None:
    log = open_log(MemoryDisk(), options)
    sent = appended(log, 10, 50)
    assert len(sent[0]) == 111

    for number in range(10):
        fitting = min(10 - number, max(1, max_bytes // 111))
        for offset in (2 * number, 2 * number + 1):
            result = log.read(1, offset, max_bytes)
            assert content(result) == b"".join(sent[number : number + fitting])
            assert result.next_offset == 2 * (number + fitting)
        without = log.read(1, 2 * number, max_bytes, minimum_one=False)
        assert without.size_bytes == (111 * fitting if max_bytes >= 111 else 0)


def test_streams_between_do_not_disturb() -> None:
    log = open_log(MemoryDisk(), NO_CACHE)
    first: list[bytes] = []
    for number in range(50):
        first += appended(log, 1, 2_000, stream_id=1)
        appended(log, 1, 40_000 if number % 10 == 0 else 10, stream_id=2)

    assert content(log.read(1, 0, 1 << 20)) == b"".join(first)


def test_a_read_crosses_segments() -> None:
    log = open_log(MemoryDisk(), small_options())
    sent = [appended(log, 1, 3_000)[0] for _ in range(30)]
    assert len(log._state.segments) > 5

    result = log.read(1, 0, 1 << 20)

    assert content(result) == b"".join(sent)
    assert result.next_offset == 60


def test_a_file_that_was_cut_is_reported_and_not_read_short() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(tail_cache_bytes=0))
    for _ in range(8):
        appended(log, 1, 3_000)
    first = min(name for name in disk.list(DIRECTORY) if name.endswith(".wal"))
    disk.open(f"{DIRECTORY}/{first}").truncate(2_000)

    with pytest.raises(LogDamaged, match="the file ends too early"):
        log.read(1, 0, 1_000)


def test_one_read_gathers_a_bounded_number_of_small_batches_that_lie_apart() -> None:
    log = open_log(MemoryDisk(), LARGE)
    for _ in range(PIECES_MAX + 5):
        for stream_id in (1, 2):
            log.append(stream_id, batch(2, body=b"x" * 10))
        commit(log)

    first = log.read(1, 0, 1 << 20)
    rest = log.read(1, first.next_offset, 1 << 20)

    assert (first.piece_count, first.next_offset) == (PIECES_MAX, 2 * PIECES_MAX)
    assert (rest.piece_count, rest.next_offset) == (5, 2 * PIECES_MAX + 10)


def test_one_read_opens_a_bounded_number_of_indexes_and_the_next_goes_on_there() -> None:
    disk = MemoryDisk()
    options = small_options(segment_bytes=4 << 10)
    log = open_log(disk, options)
    sent = b""
    for number in range(60):
        data = batch(body=bytes([number]) * 300)
        log.append(1, data)
        log.append(2 + number % 3, batch(body=b"another" * 60))
        commit(log)
        sent += bytes(data)
    while (job := log.begin_maintenance(0)) is not None:
        job.run()
        log.maintained(job, 0)
    log.close(0)
    log = open_log(disk, options)
    opened = calls_of(disk, "open")
    read, offset, most = b"", 0, 0
    while offset < 60:
        opened.clear()
        result = log.read(1, offset, 1 << 20)
        most = max(most, sum(call.path.endswith(".idx") for call in opened))
        assert result.next_offset > offset
        read += content(result)
        offset = result.next_offset

    assert read == sent
    assert len(log._state.segments) > 10
    # The search for the first one is binary and opens some of its own.
    assert INDEXES_OPENED <= most <= INDEXES_OPENED + 4

    opened.clear()
    assert log.read(1, 0, 1 << 20).next_offset == 60, "with the indexes in memory it takes all"
