"""The durable record of a segment that left the disk."""

from __future__ import annotations

import pytest

from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.remote_record import (
    RemoteRecord,
    decode_record,
    encode_record,
    read_records,
    record_name,
    write_record,
)

RECORD = RemoteRecord(1_000, 0xDEADBEEF, "cluster/default/vnode-0/seg/3-1.wal", 65_536, 0x12345678, 99)


def test_a_record_comes_back_as_it_was() -> None:
    assert decode_record(encode_record(RECORD)) == RECORD


@pytest.mark.parametrize("position", [0, 8, 12, 20, 30, 50, -1])
def test_a_record_with_another_byte_counts_for_nothing(position: int) -> None:
    data = bytearray(encode_record(RECORD))
    data[position] ^= 1
    assert decode_record(bytes(data)) is None


@pytest.mark.parametrize("size", [0, 10, 47, 80])
def test_a_record_that_is_cut_counts_for_nothing(size: int) -> None:
    assert decode_record(encode_record(RECORD)[:size]) is None


def test_a_record_under_the_name_of_another_segment_counts_for_nothing() -> None:
    disk = MemoryDisk()
    disk.make_directory("log")
    write_record(disk, "log", RECORD)
    disk.rename(f"log/{record_name(1_000)}", f"log/{record_name(2_000)}")
    assert read_records(disk, "log", disk.list("log")) == {}


def test_a_written_record_survives_a_power_failure() -> None:
    disk = MemoryDisk()
    disk.make_directory("log")
    disk.sync_directory("")
    write_record(disk, "log", RECORD)
    after = disk.crash(DROP_ALL)
    assert read_records(after, "log", after.list("log")) == {1_000: RECORD}
