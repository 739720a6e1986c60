"""Segments that do not fit into their place: each is refused with the fault and the expected value."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from crc32c import crc32c

from tests.wal.damaged import change, wal_files
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.errors import UnknownFormat
from wal.format import (
    CRC,
    HEADER_COPY_POSITION,
    SEGMENT_BODY,
    SEGMENT_MAGIC,
    SegmentHeader,
    decode_segment_start,
    encode_segment_start,
)
from wal.inspect import verify_segment
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk

OPTIONS = small_options(segment_bytes=4 << 10, seal_interval_ms=10**9)


def filled() -> MemoryDisk:
    """Return a killed log of six segments of two batches each."""
    disk = MemoryDisk()
    log = open_log(disk, OPTIONS)
    for number in range(12):
        log.append(1, batch(body=bytes([number]) * 900))
        commit(log)
    disk.restart()
    return disk


def header_of(disk: MemoryDisk, path: str) -> SegmentHeader:
    header, _ = decode_segment_start(disk.contents(path)[:1_024])
    assert header is not None
    return header


def with_header(disk: MemoryDisk, path: str, **changes: Any) -> MemoryDisk:
    """Return the disk with changes in both copies of a segment's header."""
    start = encode_segment_start(header_of(disk, path)._replace(**changes))
    return change(disk, path, lambda data: start + bytes(data[1_024:]))


def problem(disk: MemoryDisk) -> str:
    log = VnodeLog.open(disk, DIRECTORY, options=OPTIONS, now_ms=9_000)
    assert log.damage is not None
    assert log.state == "DAMAGED"
    return f"{log.damage.file[-8:]}: {log.damage.problem}"


def of_format(data: bytes, version: int) -> bytes:
    """Return a segment with two valid copies of its header that state another format."""
    changed = bytearray(data)
    for position in (0, HEADER_COPY_POSITION):
        body = bytearray(changed[position : position + SEGMENT_BODY.size])
        struct.pack_into("<H", body, len(SEGMENT_MAGIC), version)
        changed[position : position + SEGMENT_BODY.size] = body
        CRC.pack_into(changed, position + SEGMENT_BODY.size, crc32c(bytes(body)))
    return bytes(changed)


def test_a_segment_of_a_later_program_is_refused_and_not_taken_for_a_damaged_one() -> None:
    disk = filled()
    path = wal_files(disk)[-1]
    later = change(disk, path, lambda data: of_format(bytes(data), 9))

    with pytest.raises(
        UnknownFormat, match=r"\.wal: the segment has format 9, but this version of kawal reads 1 and 2"
    ):
        VnodeLog.open(later, DIRECTORY, options=OPTIONS, now_ms=9_000)

    (damage,) = verify_segment(later, path).damages
    assert "has format 9, which this version of kawal does not read" in damage.problem


def test_a_damaged_format_is_damage() -> None:
    disk = filled()
    path = wal_files(disk)[-1]

    def spoil(data: bytearray) -> bytes:
        whole = bytearray(of_format(bytes(data), 9))
        whole[20] ^= 1
        whole[HEADER_COPY_POSITION + 20] ^= 1
        return bytes(whole)

    assert "wrong magic, format or crc" in problem(change(disk, path, spoil))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"vnode_id": 7}, "0004.wal: the file belongs to vnode 7, but this is vnode 0"),
        ({"base_version": 6}, "0004.wal: the file holds the segment of version 6: it was renamed or copied"),
        ({"base_sequence": 7}, "0004.wal: it begins with frame 7, but frame 6 is due: a segment is missing"),
    ],
)
def test_a_header_that_names_another_place_is_told(changes: dict[str, int], told: str) -> None:
    disk = filled()

    assert problem(with_header(disk, wal_files(disk)[2], **changes)) == told


def test_a_segment_that_does_not_continue_the_one_before_is_told() -> None:
    disk = filled()
    path = wal_files(disk)[2]
    due = header_of(disk, path).previous_crc

    told = problem(with_header(disk, path, previous_crc=1))

    assert told == f"0004.wal: it repeats crc 0x00000001 of its predecessor, which has {due:#010x}"


def test_a_header_without_a_valid_copy_is_told() -> None:
    disk = filled()
    path = wal_files(disk)[0]

    told = problem(change(disk, path, lambda data: bytes(1_024) + bytes(data[1_024:])))

    assert told == "0000.wal: both copies of the segment header have a wrong magic, format or crc"


def test_a_gap_behind_a_checkpoint_that_names_no_segment_is_told() -> None:
    disk = MemoryDisk()
    log = open_log(disk, OPTIONS)
    log.append(1, batch())
    commit(log)
    log._maintenance.checkpoint_wanted = True
    maintain(log)
    (path,) = wal_files(disk)

    told = problem(with_header(disk, path, base_sequence=50))

    assert told == "0000.wal: it begins with frame 50, but frame 1 is due before it"
