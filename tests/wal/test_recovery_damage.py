"""Damage to acknowledged bytes is reported, with file and bytes, and never cut silently."""

from __future__ import annotations

import random

import pytest

from tests.wal.damaged import (
    CHECKPOINTED,
    OPTIONS,
    change,
    finished_log,
    flip,
    swap_segments,
    torn_log,
    wal_files,
)
from tests.wal.logs import (
    DIRECTORY,
    batch,
    commit,
    content,
    maintain,
    open_log,
    read_all,
    small_options,
)
from wal.errors import LogDamaged
from wal.inspect import frames
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL, KEEP_ALL
from wal.options import LogOptions


def assert_reported_or_harmless(
    disk: MemoryDisk, sent: dict[int, bytes], options: LogOptions = OPTIONS
) -> bool:
    """Check that an opened log has a prefix of the batches sent, and all unless it reports damage."""
    log = VnodeLog.open(disk, DIRECTORY, options=options, now_ms=9_000)
    for stream_id, data in sent.items():
        stored = read_all(log, stream_id)
        assert data.startswith(stored)
        assert log.damage is not None or stored == data, f"stream {stream_id} was cut silently"
    if log.damage is not None:
        assert log.state == "DAMAGED"
        with pytest.raises(LogDamaged, match="bytes"):
            log.append(0, batch())
    return log.damage is not None


def test_every_flipped_bit_is_reported_or_harmless() -> None:
    disk, sent = finished_log()
    chance = random.Random(7)
    reported = 0

    for _ in range(1_500):
        path = chance.choice(wal_files(disk))

        reported += assert_reported_or_harmless(change(disk, path, flip(chance)), sent)

    assert reported > 800


def test_every_zeroed_sector_is_reported_or_harmless() -> None:
    disk, sent = finished_log()

    for path in wal_files(disk):
        for start in range(0, disk.open(path).size(), 512):

            def zero(data: bytearray, start: int = start) -> bytes:
                data[start : start + 512] = bytes(len(data[start : start + 512]))
                return bytes(data)

            assert_reported_or_harmless(change(disk, path, zero), sent)


def test_every_truncation_is_reported_or_harmless() -> None:
    disk, sent = finished_log()
    chance = random.Random(3)

    for path in wal_files(disk):
        size = disk.open(path).size()
        for end in (0, 1, 63, 64, 65, *(chance.randrange(size) for _ in range(60))):

            def cut(data: bytearray, end: int = end) -> bytes:
                return bytes(data[:end])

            assert_reported_or_harmless(change(disk, path, cut), sent)


def test_every_missing_segment_is_reported() -> None:
    disk, sent = finished_log()

    for path in wal_files(disk):
        after = disk.crash(KEEP_ALL)
        after.remove(path)

        assert assert_reported_or_harmless(after, sent), path


def test_a_missing_segment_is_reported_when_a_checkpoint_covers_it() -> None:
    options = small_options(segment_bytes=4 << 10, checkpoint_ns=1, seal_interval_ms=0)
    disk, _ = finished_log(options)
    assert disk.exists(f"{DIRECTORY}/checkpoint.0")

    for path in wal_files(disk):
        after = disk.crash(KEEP_ALL)
        after.remove(path)
        log = VnodeLog.open(after, DIRECTORY, options=options, now_ms=9_000)
        assert log.damage is not None
        assert log.damage.file == path


def test_a_copied_segment_is_reported() -> None:
    disk, sent = finished_log()
    source = disk.open(wal_files(disk)[1])
    data = source.read_at(0, source.size())
    for name in ("00000000000000000001.wal", "00000000000000999999.wal"):
        after = disk.crash(KEEP_ALL)
        after.open(f"{DIRECTORY}/{name}", create=True).write_at(0, [data])

        assert assert_reported_or_harmless(after, sent)


def test_swapped_segments_are_reported() -> None:
    disk, sent = finished_log()
    swap_segments(disk)

    assert assert_reported_or_harmless(disk, sent)


def test_the_report_names_file_and_bytes_and_reads_below_go_on() -> None:
    disk = MemoryDisk()
    log = open_log(disk, OPTIONS)
    for number in range(3):
        log.append(1, batch(body=b"number %d" % number))
        commit(log)
    path = wal_files(disk)[0]
    file = disk.open(path)
    place = file.read_at(0, file.size()).index(b"number 1")
    file.write_at(place, [b"NUMBER"])

    log = open_log(disk, OPTIONS)

    assert log.damage is not None
    assert log.damage.file == path
    assert log.damage.start <= place < log.damage.end
    assert "wrong crc" in str(log.damage)
    assert content(log.read(1, 0, 1_000)).endswith(b"number 0")
    assert log.high_watermark(1) == 1
    assert log.begin_sync(0) is None


def test_damage_in_derived_files_costs_nothing() -> None:
    disk, sent = finished_log(CHECKPOINTED)
    chance = random.Random(5)
    derived = [
        n
        for n in disk.list(DIRECTORY)
        if n.endswith(".idx") or n in ("checkpoint.0", "checkpoint.1", "witness")
    ]
    assert len(derived) > 4

    for name in derived:
        for _ in range(30):
            after = change(disk, f"{DIRECTORY}/{name}", flip(chance))
            assert not assert_reported_or_harmless(after, sent, CHECKPOINTED)
        after = disk.crash(KEEP_ALL)
        after.remove(f"{DIRECTORY}/{name}")
        assert not assert_reported_or_harmless(after, sent, CHECKPOINTED)


def test_a_torn_tail_is_cut_on_a_full_disk_too() -> None:
    disk = torn_log(b"torn" * 50, disk=MemoryDisk(capacity_bytes=4 << 10))
    path = wal_files(disk)[0]
    disk.open(path).sync()
    disk.damage(path, disk.contents(path).index(b"torn"), b"TORN")

    log = open_log(disk, OPTIONS)

    assert (log.state, log.high_watermark(1), log.recovery.torn_file) == ("OPEN", 1, "")
    assert not any(name.startswith("torn-") for name in disk.list(DIRECTORY))
    assert read_all(open_log(disk, OPTIONS), 1).endswith(b"first")


def test_a_torn_tail_is_kept_aside_and_cut() -> None:
    disk = torn_log(b"torn" * 50)
    path = wal_files(disk)[0]
    disk.open(path).write_at(disk.contents(path).index(b"torn"), [b"TORN"])

    log = open_log(disk, OPTIONS)

    assert log.state == "OPEN"
    assert log.high_watermark(1) == 1
    assert log.recovery.truncated_bytes > 200
    assert b"TORNtorn" in disk.contents(log.recovery.torn_file)
    assert b"TORN" not in disk.contents(path)
    log.append(1, batch(body=b"second"))
    commit(log)
    assert read_all(open_log(disk, OPTIONS), 1).endswith(b"second")


def crashed_idle() -> tuple[MemoryDisk, bytes]:
    """Return a log killed just after it acknowledged a frame, and started once more without an append."""
    disk = MemoryDisk()
    log = open_log(disk)
    data = batch(body=b"last" * 30)
    for number in range(3):
        log.append(1, data)
        commit(log, number)
    disk.restart()
    open_log(disk, now_ms=10)
    disk.restart()
    return disk, read_all(open_log(disk.crash(DROP_ALL), now_ms=20), 1)


def test_after_a_crash_and_a_start_without_appends_damage_to_the_last_frame_is_reported() -> None:
    disk, sent = crashed_idle()
    (path,) = wal_files(disk)
    last = [frame for frame in frames(disk, path) if frame.kind == "data"][-1]
    for position in range(last.position, last.position + last.header.size_bytes, 7):

        def spoil(data: bytearray, position: int = position) -> bytes:
            data[position] ^= 1
            return bytes(data)

        assert assert_reported_or_harmless(change(disk, path, spoil), {1: sent}, small_options())

        def cut(data: bytearray, position: int = position) -> bytes:
            return bytes(data[:position])

        assert assert_reported_or_harmless(change(disk, path, cut), {1: sent}, small_options())


def test_frames_found_after_a_crash_get_a_seal_once_and_not_at_every_start() -> None:
    disk, _ = crashed_idle()
    (path,) = wal_files(disk)
    for number in range(3):
        log = open_log(disk, now_ms=5_000 * number)
        commit(log, 5_000 * number + 1_500)
        disk.restart()
    assert [frame.kind for frame in frames(disk, path)].count("seal") == 1


def test_a_full_disk_does_not_keep_a_log_without_a_witness_from_opening() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch())
    commit(log)
    disk.restart()
    disk.capacity_bytes = disk.used_bytes()
    log = open_log(disk)
    assert log.state == "OPEN"
    disk.capacity_bytes = None
    assert "WitnessJob" in maintain(log, 10)
