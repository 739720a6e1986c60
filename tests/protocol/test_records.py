"""The batch header is read as declared, covered by its CRC, and patched only where that is allowed."""

from __future__ import annotations

import struct
from typing import Any

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_reader import Record, iter_records
from protocol.record_writer import empty_batch, encode_batch
from protocol.records import (
    APPEND_TIME,
    HEADER_BYTES,
    BatchHeader,
    check_crc,
    iter_batches,
    patch_append_time,
    patch_create_time,
    patch_last_offset,
    patch_offset_and_epoch,
    read_batch_header,
    reference_batch_header,
    renew_crc,
)

RECORDS = [Record(n, 1_000 + n, b"key", b"value %d" % n) for n in range(3)]


def batch(**options: Any) -> bytearray:
    return encode_batch(RECORDS, **options)


@given(data=st.binary(min_size=HEADER_BYTES, max_size=HEADER_BYTES + 9))
def test_the_struct_layout_equals_the_construct_declaration(data: bytes) -> None:
    declared = reference_batch_header().parse(data)
    header = read_batch_header(data)
    assert header._asdict() == {name: declared[name] for name in BatchHeader._fields}
    assert reference_batch_header().build(header._asdict()) == data[:HEADER_BYTES]


def test_the_declaration_has_the_published_size_and_field_positions() -> None:
    assert reference_batch_header().sizeof() == HEADER_BYTES
    header = read_batch_header(bytes(range(61)))
    assert header.base_offset == 0x0001020304050607
    assert (header.batch_length, header.leader_epoch, header.magic) == (0x08090A0B, 0x0C0D0E0F, 0x10)
    assert (header.crc, header.attributes, header.last_offset_delta) == (0x11121314, 0x1516, 0x1718191A)
    assert (header.base_timestamp, header.max_timestamp) == (0x1B1C1D1E1F202122, 0x232425262728292A)
    assert (header.producer_id, header.producer_epoch) == (0x2B2C2D2E2F303132, 0x3334)
    assert (header.base_sequence, header.record_count) == (0x35363738, 0x393A3B3C)


def test_a_header_is_read_at_any_position_of_any_buffer() -> None:
    data = batch()
    expected = read_batch_header(data)
    assert read_batch_header(memoryview(b"??" + data), 2) == read_batch_header(bytes(data)) == expected


@pytest.mark.parametrize("size", [0, 1, 60])
def test_a_cut_header_is_malformed(size: int) -> None:
    with pytest.raises(Malformed, match=f"{size} bytes are left"):
        read_batch_header(batch()[:size])


@pytest.mark.parametrize(
    ("attributes", "codec", "timestamp_type", "transactional", "control"),
    [
        (0x00, 0, 0, False, False),
        (0x04, 4, 0, False, False),
        (0x0B, 3, 1, False, False),
        (0x12, 2, 0, True, False),
        (0x30, 0, 0, True, True),
        (0x7FC0, 0, 0, False, False),
    ],
)
def test_attributes_are_read_bit_by_bit(
    *, attributes: int, codec: int, timestamp_type: int, transactional: bool, control: bool
) -> None:
    data = batch()
    struct.pack_into(">h", data, 21, attributes)
    header = read_batch_header(data)
    assert (header.codec, header.timestamp_type) == (codec, timestamp_type)
    assert (header.is_transactional, header.is_control) == (transactional, control)
    assert header.is_append_time == bool(timestamp_type)


def test_size_and_last_offset_follow_from_the_header() -> None:
    header = read_batch_header(encode_batch(RECORDS, base_offset=0, last_offset=9))
    assert (header.size_bytes, header.last_offset) == (len(batch()), 9)


def test_the_crc_covers_everything_from_the_attributes_on() -> None:
    data = batch(codec=Codec.GZIP)
    assert read_batch_header(data).crc == crc32c.crc32c(bytes(data[21:]))
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x40
        covered = position >= 17
        length = 8 <= position < 12
        assert check_crc(damaged) != (covered or length), position


def test_the_crc_is_that_of_the_batch_without_what_follows() -> None:
    assert check_crc(batch() + b"more")
    assert not check_crc(batch()[:-1])


def test_renewing_the_crc_makes_a_changed_batch_valid() -> None:
    data = batch()
    data[70] ^= 1
    assert not check_crc(data)
    renew_crc(memoryview(data))
    assert check_crc(data)


def test_offset_and_epoch_are_patched_without_touching_the_crc() -> None:
    data = batch()
    before = read_batch_header(data)
    patch_offset_and_epoch(memoryview(data), 2**40, 7)
    assert read_batch_header(data) == before._replace(base_offset=2**40, leader_epoch=7)
    assert check_crc(data)
    assert [record.offset for record in iter_records(data)] == [2**40, 2**40 + 1, 2**40 + 2]


def test_append_time_counts_for_every_record() -> None:
    data = batch(codec=Codec.ZSTD)
    patch_append_time(data, 99_000)
    header = read_batch_header(data)
    assert (header.is_append_time, header.max_timestamp, header.codec) == (True, 99_000, Codec.ZSTD)
    assert check_crc(data)
    assert {record.timestamp_ms for record in iter_records(data)} == {99_000}


@pytest.mark.parametrize("attributes", [0x0008, 0x7F08, 0x7F88])
def test_create_time_clears_the_append_time_bit_and_bits_without_meaning(attributes: int) -> None:
    data = batch()
    struct.pack_into(">h", data, 21, attributes)
    patch_create_time(data, 1_002)
    assert (read_batch_header(data).attributes, check_crc(data)) == (0, True)


def test_create_time_corrects_the_max_timestamp() -> None:
    data = batch(producer_id=5, base_sequence=0)
    patch_create_time(data, 5_000)
    assert (read_batch_header(data).max_timestamp, check_crc(data)) == (5_000, True)


def test_create_time_leaves_a_batch_alone_that_has_it_already() -> None:
    data = batch()
    struct.pack_into(">h", data, 21, 0x7F80)
    before = bytes(data)
    patch_create_time(data, 1_002)
    assert data == before


def test_patches_keep_the_transaction_bits() -> None:
    data = encode_batch(RECORDS, transactional=True, append_time_ms=4)
    patch_create_time(data, 8)
    assert read_batch_header(data).is_transactional
    patch_append_time(data, 9)
    assert read_batch_header(data).attributes == 0x10 | APPEND_TIME


def test_a_batch_is_stretched_over_what_was_left_out_behind_it() -> None:
    data = batch()
    patch_last_offset(data, 50)
    assert (read_batch_header(data).last_offset, check_crc(data)) == (50, True)
    assert len(list(iter_records(data))) == 3
    with pytest.raises(AssertionError):
        patch_last_offset(data, 49)


@pytest.mark.parametrize(
    ("count", "base", "maximum", "plausible"),
    [
        (1, 5, 5, True),
        (1, 5, 6, False),
        (1, -1, -1, True),
        (1, -2, -2, False),
        (2, 5, 5, True),
        (2, 5, 900, True),
        (2, 5, 4, False),
        (2, -2, -1, True),
    ],
)
def test_timestamps_that_contradict_each_other_are_seen(
    *, count: int, base: int, maximum: int, plausible: bool
) -> None:
    header = read_batch_header(batch())
    header = header._replace(record_count=count, base_timestamp=base, max_timestamp=maximum)
    assert header.has_plausible_max_timestamp == plausible


def test_batches_are_found_one_after_the_other_up_to_a_cut_one() -> None:
    first, second, third = batch(), bytes(empty_batch(3, 7)), batch(codec=Codec.LZ4)
    data = first + second + third
    assert list(iter_batches(data)) == [first, second, third]
    assert list(iter_batches(data[:-1])) == [first, second]
    assert list(iter_batches(data[: len(first) + 11])) == [first]
    assert list(iter_batches(b"")) == []


@pytest.mark.parametrize("length", [48, 0, -1, -(2**31)])
def test_a_batch_length_that_holds_no_header_ends_the_search(length: int) -> None:
    data = batch() + batch()
    struct.pack_into(">i", data, len(data) // 2 + 8, length)
    batches = iter_batches(data)
    next(batches)
    with pytest.raises(Malformed, match="batch length"):
        next(batches)
