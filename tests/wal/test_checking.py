"""Stored batches are compared with their CRCs before their bytes are handed out, once after a start."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable

import pytest

from tests.wal.compactions import compact, every_fifth, filled, seen
from tests.wal.damaged import change, wal_files
from tests.wal.logs import batch, calls_of, commit, content, maintain, open_log, read_all, small_options
from wal import checking
from wal.errors import LogDamaged
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.options import LogOptions
from wal.segment import FileRange

OPTIONS = small_options(segment_bytes=4 << 10, tail_cache_bytes=0, frame_bytes_max=2 << 10)
LARGE = LogOptions(min_free_bytes=0, segment_bytes=4 << 20, tail_cache_bytes=0)


def stopped(options: LogOptions = OPTIONS, *, size: int = 200) -> tuple[MemoryDisk, dict[int, bytes]]:
    """Return a cleanly stopped log of several segments and what is in its streams."""
    disk = MemoryDisk()
    log = open_log(disk, options)
    sent: dict[int, bytes] = {}
    for number in range(30):
        for stream_id in (1, 2):
            data = batch(2, body=bytes((number,)) * size)
            log.append(stream_id, data)
            sent[stream_id] = sent.get(stream_id, b"") + bytes(data)
        commit(log, number)
        maintain(log, number)
    log.close(1_000)
    disk.restart()
    return disk, sent


def what_is_read(log: VnodeLog, stream_id: int) -> bytes:
    """Return what can be read of a stream up to the first refusal."""
    offset, data = log.log_start(stream_id), b""
    while offset < log.high_watermark(stream_id):
        try:
            result = log.read(stream_id, offset, 1 << 20)
            data += content(result)
        except LogDamaged:
            break
        offset = result.next_offset
    return data


def spoiled(disk: MemoryDisk, path: str, position: int) -> MemoryDisk:
    def edit(data: bytearray) -> bytes:
        data[position] ^= 0x10
        return bytes(data)

    return change(disk, path, edit)


def test_no_changed_byte_of_a_stopped_log_is_ever_handed_out() -> None:
    disk, sent = stopped()
    noticed = 0
    for path in wal_files(disk):
        for position in range(1_024, len(disk.contents(path).rstrip(b"\0")), 23):
            log = open_log(spoiled(disk, path, position), OPTIONS, now_ms=2_000)
            for stream_id, data in sent.items():
                found = what_is_read(log, stream_id)
                assert data.startswith(found), f"{path}: byte {position} was handed out changed"
                noticed += found != data
    assert noticed > 400


@pytest.mark.parametrize("kind", ["zeroed", "swapped", "cut", "emptied"])
def test_a_segment_below_the_checkpoint_that_is_not_itself_is_found_at_the_start(kind: str) -> None:
    disk, sent = stopped()
    first, second = wal_files(disk)[1:3]
    if kind == "zeroed":
        disk.damage(first, 0, bytes(2_000))
    elif kind == "swapped":
        one, other = disk.contents(first), disk.contents(second)
        disk = change(change(disk, first, lambda _: other), second, lambda _: one)
    elif kind == "cut":
        disk = change(disk, first, lambda data: bytes(data[:-1]))
    else:
        disk = change(disk, first, lambda _: b"")
    log = open_log(disk, OPTIONS, now_ms=2_000)
    assert log.state == "DAMAGED"
    assert log.damage is not None
    assert log.damage.file == first
    with pytest.raises(LogDamaged):
        log.append(1, batch())
    for stream_id, data in sent.items():
        assert data.startswith(what_is_read(log, stream_id))
        assert content(log.read(stream_id, log.high_watermark(stream_id) - 1, 1)) in data


def test_damage_met_by_a_reader_refuses_appends_and_is_scrubbed_at_once_and_found_by_the_next_start() -> None:
    disk, _ = stopped()
    path = wal_files(disk)[2]
    disk = spoiled(disk, path, 1_300)
    log = open_log(disk, OPTIONS, now_ms=2_000)
    assert log.state == "OPEN"
    what_is_read(log, 1)
    what_is_read(log, 2)
    assert log.state == "DAMAGED"
    assert log.next_deadline() is not None
    assert "ScrubJob" in maintain(log, 2_000)
    with pytest.raises(LogDamaged, match=path):
        log.append(1, batch())
    disk.restart()
    assert open_log(disk, OPTIONS, now_ms=3_000).state == "DAMAGED"


def test_bytes_are_compared_once_and_those_of_this_process_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    plain: Callable[..., bool] = checking._is_plain

    def counted(extent: checking.ExtentRef, data: memoryview) -> bool:
        compared.append(extent.row)
        return plain(extent, data)

    monkeypatch.setattr(checking, "_is_plain", counted)
    disk, sent = stopped()
    log = open_log(disk, OPTIONS, now_ms=2_000)
    assert read_all(log, 1) == sent[1]
    first = len(compared)
    assert first == 30
    assert read_all(log, 1) == sent[1]
    log.append(9, batch(body=b"new"))
    commit(log, 3_000)
    read_all(log, 9)
    assert len(compared) == first


def test_copies_of_compaction_are_compared_with_the_table_of_their_frame() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 30, every_fifth)
    expected = seen(log, 7)
    log.close(1_000)
    disk.restart()
    log = open_log(disk, small_options(tail_cache_bytes=0), now_ms=2_000)
    assert seen(log, 7) == expected
    whole = b"".join(expected.values())
    for path in wal_files(disk):
        for position in range(1_024, len(disk.contents(path).rstrip(b"\0")), 5):
            after = spoiled(disk, path, position)
            log = open_log(after, small_options(tail_cache_bytes=0), now_ms=2_000)
            assert whole.startswith(what_is_read(log, 7)), position


def test_large_extents_are_compared_when_they_are_loaded_in_a_thread() -> None:
    disk, sent = stopped(LARGE, size=70_000)
    log = open_log(disk, LARGE, now_ms=2_000)
    (part,) = log.read(1, 0, 1 << 17).parts
    assert isinstance(part, FileRange)
    assert (part.must_load, part.maybe_cold) == (True, True)
    part.load()
    (again,) = log.read(1, 0, 1 << 17).parts
    assert isinstance(again, FileRange)
    assert not again.must_load
    assert sent[1].startswith(again.read())


def test_a_load_that_finds_damage_makes_the_next_read_refuse() -> None:
    disk, _ = stopped(LARGE, size=70_000)
    disk.damage(wal_files(disk)[0], 2_000, b"rot")
    log = open_log(disk, LARGE, now_ms=2_000)
    (part,) = log.read(1, 0, 1 << 17).parts
    assert isinstance(part, FileRange)
    with pytest.raises(LogDamaged, match="stream 1 from offset 0"):
        part.load()
    with pytest.raises(LogDamaged, match="stream 1 from offset 0"):
        log.read(1, 0, 1 << 17)
    assert log.state == "DAMAGED"


def unreadable(disk: MemoryDisk, path: str, times: int) -> None:
    disk.faults.append(failing("read", errno.EIO, path=path, times=times))


@pytest.mark.parametrize("size", [200, 70_000])
def test_an_extent_that_cannot_be_read_is_damage_and_the_others_are_read(size: int) -> None:
    options = OPTIONS if size == 200 else LARGE
    disk, sent = stopped(options, size=size)
    log = open_log(disk, options, now_ms=2_000)
    unreadable(disk, wal_files(disk)[0], 10_000)
    for _ in range(2):
        assert what_is_read(log, 1) == b""
    with pytest.raises(LogDamaged):
        log.read(1, 0, 1 << 17)
    assert log.state == "DAMAGED"
    disk.faults.clear()
    result = log.read(1, 58, 1 << 17)
    assert sent[1].endswith(content(result))


def test_one_read_that_fails_is_no_damage() -> None:
    disk, sent = stopped(LARGE, size=70_000)
    log = open_log(disk, LARGE, now_ms=2_000)
    unreadable(disk, wal_files(disk)[0], 1)
    assert what_is_read(log, 1) == sent[1]
    assert log.state == "OPEN"


def test_a_read_compares_a_bounded_number_of_bytes_on_the_event_loop() -> None:
    disk = MemoryDisk()
    options = LogOptions(min_free_bytes=0, segment_bytes=4 << 20, tail_cache_bytes=0)
    log = open_log(disk, options)
    chance = random.Random(1)
    for _ in range(60):
        log.append(1, batch(body=chance.randbytes(30_000)))
        log.append(2, batch(body=chance.randbytes(30_000)))
        commit(log)
    log.close(1_000)
    disk.restart()
    log = open_log(disk, options, now_ms=2_000)
    reads = calls_of(disk, "read")
    first = log.read(1, 0, 1 << 21)
    compared = sum(call.size_bytes for call in reads if call.path.endswith(".wal"))
    assert 256 << 10 < first.size_bytes < 320 << 10
    assert compared < 1 << 20
    assert len(read_all(log, 1)) == 60 * 30_061
