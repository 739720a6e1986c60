"""Times and offsets read from a stream are those of the records, however large the batch is."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import OUTPUT_BYTES_MAX, Codec
from protocol.errors import Malformed
from protocol.record_reader import Record, iter_records
from protocol.record_times import record_times
from protocol.record_writer import encode_batch
from protocol.records import renew_crc
from protocol.timestamp_lookup import RECORDS_PER_STEP, find_max_timestamp, find_timestamp, timestamp_steps

RECORDS = st.lists(
    st.tuples(st.integers(0, 2**45), st.binary(max_size=300), st.booleans()), min_size=1, max_size=40
)


def times_of(batch: bytearray, count: int = RECORDS_PER_STEP) -> list[tuple[int, int]]:
    return [pair for times in record_times(batch, count) for pair in zip(*times, strict=True)]


@given(
    made=RECORDS,
    codec=st.sampled_from(list(Codec)),
    base=st.integers(0, 2**40),
    part_bytes=st.integers(1, 90),
)
def test_they_are_those_of_the_records(
    made: list[tuple[int, bytes, bool]], codec: Codec, base: int, part_bytes: int
) -> None:
    records = [
        Record(base + number, time_ms, None, None if is_null else value)
        for number, (time_ms, value, is_null) in enumerate(made)
    ]
    batch = encode_batch(records, codec=codec, base_offset=base)
    expected = [(record.offset, record.timestamp_ms) for record in iter_records(batch)]
    assert times_of(batch) == expected
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("protocol.decompressed_parts.PART_BYTES", part_bytes)
        assert times_of(batch) == expected


def test_the_append_time_counts_for_every_record() -> None:
    batch = encode_batch([Record(n, n, None, b"x") for n in range(3)], append_time_ms=77)
    assert times_of(batch) == [(0, 77), (1, 77), (2, 77)]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_no_reader_would_open_at_once_is_walked(codec: Codec) -> None:
    """It expands to more than 16 MiB, and more than a thousand times: Kafka serves it."""
    records = [Record(number, number, None, bytes(1 << 20)) for number in range(20)]
    batch = encode_batch(records, codec=codec)
    assert OUTPUT_BYTES_MAX < 20 << 20
    assert find_timestamp(batch, 17) == (17, 17)
    assert find_max_timestamp(batch) == (19, 19)


def test_a_long_lookup_is_made_of_steps() -> None:
    count = 3 * RECORDS_PER_STEP + 1
    batch = encode_batch([Record(n, n, None, None) for n in range(count)], codec=Codec.ZSTD)
    assert len(list(timestamp_steps(batch, count - 1))) >= 3
    assert max(len(times.offsets) for times in record_times(batch, RECORDS_PER_STEP)) == RECORDS_PER_STEP
    assert len(list(timestamp_steps(batch, 0))) == 0
    assert len(list(timestamp_steps(batch, count))) == 0


def test_a_lookup_that_the_first_record_answers_reads_few() -> None:
    batch = encode_batch([Record(n, n, None, None) for n in range(1_000)])
    assert len(next(record_times(batch, RECORDS_PER_STEP)).offsets) < 100


def test_records_before_a_damaged_one_are_found() -> None:
    batch = encode_batch([Record(n, n, None, None) for n in range(200)])
    last_bytes = 9  # length, attributes, 2 of the timestamp, 2 of the offset, no key, no value, no headers
    damaged = changed(batch, len(batch) - last_bytes, ">B", 0x01)
    assert find_timestamp(damaged, 198) == (198, 198)
    with pytest.raises(Malformed, match=r"record 199 .* by its length"):
        find_timestamp(damaged, 199)


def changed(batch: bytearray, position: int, layout: str, value: int) -> bytearray:
    struct.pack_into(layout, batch, position, value)
    renew_crc(batch)
    return batch


def whole() -> bytearray:
    return encode_batch([Record(n, 5 + n, b"k", b"v") for n in range(3)])


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (changed(whole(), 57, ">i", 4), "cut"),
        (changed(whole(), 57, ">i", 2), "bytes follow the last of 2"),
        (changed(whole(), 61, ">B", 0x7E), "cut"),
        (changed(whole(), 61, ">B", 0x01), "record 0"),
        (changed(whole(), 23, ">i", 1), "offset delta 2"),
        (changed(whole(), 57, ">i", -1), "record count"),
        (changed(whole(), 16, ">b", 1), "magic"),
        (changed(whole(), 27, ">q", 2**63 - 1), "timestamp"),
        (whole()[:-1], "batch length"),
    ],
)
def test_damaged_records_are_malformed(batch: bytearray, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        times_of(batch)


def test_a_batch_without_records_has_no_times() -> None:
    assert times_of(changed(whole(), 57, ">i", 0)) == []
