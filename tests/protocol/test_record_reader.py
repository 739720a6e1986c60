"""Records come out as they were put in; anything else in a batch is Malformed."""

from __future__ import annotations

import itertools
import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.compression import Codec, DecompressedTooLarge, compress
from protocol.errors import Malformed
from protocol.record_reader import (
    Record,
    TransactionMarker,
    check_records,
    iter_records,
    open_batch,
    read_transaction_marker,
    read_varint,
    record_keys,
)
from protocol.record_writer import VARINTS, empty_batch, encode_batch, transaction_marker_batch
from protocol.records import HEADER, HEADER_BYTES, check_crc, read_batch_header, renew_crc
from protocol.timestamp_lookup import find_max_timestamp

FLIGHT = Record(7, 1_357_000_000_000, b"UA", b'{"flight":1545}', (("source", b"csv"), ("empty", None)))


def batch_of(body: bytes, *, count: int = 1, attributes: int = 0, last_delta: int | None = None) -> bytearray:
    """Return a batch with `body` as its records, unchanged."""
    data = bytearray(HEADER_BYTES) + body
    delta = count - 1 if last_delta is None else last_delta
    HEADER.pack_into(data, 0, 0, len(data) - 12, -1, 2, 0, attributes, delta, 0, 0, -1, -1, -1, count)
    renew_crc(data)
    return data


def record_of(content: bytes) -> bytes:
    return VARINTS[len(content)] + content


def test_a_record_written_out_by_hand_is_read() -> None:
    body = bytes.fromhex("26 00 06 04 04 6b31 06 763131 04 02 68 02 78 04 6e6e 01")
    (record,) = iter_records(batch_of(body, last_delta=2))
    assert record == Record(2, 3, b"k1", b"v11", (("h", b"x"), ("nn", None)))


def test_null_and_empty_are_told_apart() -> None:
    written = [Record(0, 5, None, b""), Record(1, 5, b"", None), Record(2, 5, None, None, (("", b""),))]
    assert list(iter_records(encode_batch(written))) == written


@pytest.mark.parametrize("length", [-2, -5, -(2**31)])
def test_any_negative_length_means_null_as_in_java(length: int) -> None:
    body = record_of(b"\x00\x00\x00" + VARINTS[length] + VARINTS[length] + b"\x00")
    (record,) = iter_records(batch_of(body))
    assert (record.key, record.value) == (None, None)


def test_a_header_key_that_is_not_utf8_survives_being_written_again() -> None:
    body = record_of(b"\x00\x00\x00\x01\x01\x02\x04\xff\xfe\x02v")
    (record,) = iter_records(batch_of(body))
    assert bytes(encode_batch([record])[HEADER_BYTES:]) == body


def test_records_are_read_from_any_buffer_and_to_the_end_of_their_batch_only() -> None:
    data = encode_batch([FLIGHT], codec=Codec.SNAPPY)
    framed = memoryview(b"??" + data + b"the next batch")[2:]
    assert list(iter_records(framed)) == list(iter_records(bytes(data))) == [FLIGHT]


def test_reading_is_lazy() -> None:
    good = record_of(b"\x00\x00\x00\x01\x01\x00")
    records = iter_records(batch_of(good + b"\x0cgarbage", count=2))
    assert next(records).offset == 0
    with pytest.raises(Malformed, match="record 1"):
        next(records)


def test_a_batch_the_cleaner_emptied_has_no_records_whatever_its_codec() -> None:
    data = empty_batch(5, 9)
    struct.pack_into(">h", data, 21, Codec.ZSTD)
    assert list(iter_records(data)) == []


@pytest.mark.parametrize(
    ("body", "count", "problem"),
    [
        (b"", 1, "cut"),
        (record_of(b"\x00\x00\x00\x01\x01\x00"), 2, "cut"),
        (record_of(b"\x00\x00\x00\x01\x01\x00") * 2, 1, "7 bytes follow"),
        (b"\x0e\x00\x00\x00\x01\x01\x00", 1, "by its length ends at byte 8 of 7"),
        (b"\x0a\x00\x00\x00\x01\x01\x00", 1, "ends at byte 7; by its length, at 6"),
        (b"\x01\x00\x00\x00\x01\x01\x00", 1, "by its length ends at byte 0 of 7"),
        (record_of(b"\x00\x00\x00\x14ab\x01\x00"), 1, "cut"),
        (record_of(b"\x00\x00\x00\x01\xfe\xff\xff\xff\x0f\x00"), 1, "cut"),
        (record_of(b"\x00\x00\x02\x01\x01\x00"), 1, "offset delta 1"),
        (record_of(b"\x00\x00\x01\x01\x01\x00"), 1, "offset delta -1"),
        (record_of(b"\x00\x00\x00\x01\x01\x01"), 1, "header count.* -1"),
        (record_of(b"\x00\x00\x00\x01\x01\x02"), 1, "header count.* 1; 0 bytes"),
        (record_of(b"\x00\x00\x00\x01\x01\xfe\xff\xff\xff\x0f"), 1, "header count"),
        (record_of(b"\x00\x00\x00\x01\x01\x02\x01\x01"), 1, "header key length.* -1"),
        (record_of(b"\x00\x00\x00\x01\x01\x02\x08ab"), 1, "header key length.* 4; 2 bytes"),
        (record_of(b"\x00\x00\x00\x01\x01\x02\x02a\x08b"), 1, "header value length.* 4; 1 bytes"),
        (b"\xff\xff\xff\xff\xff\x01" + bytes(20), 1, "varint.*goes on after 5 bytes"),
        (b"\xff\xff\xff\xff\x1f" + bytes(20), 1, "varint.*more than 32 bits"),
        (record_of(b"\x00" + b"\xff" * 10 + b"\x01\x00\x01\x01\x00"), 1, "varint.*goes on after 10 bytes"),
        (record_of(b"\x00" + b"\xff" * 9 + b"\x03\x00\x01\x01\x00"), 1, "varint.*more than 64 bits"),
    ],
)
def test_a_record_that_lies_about_its_layout_is_malformed(body: bytes, count: int, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        list(iter_records(batch_of(body, count=count)))


def test_a_timestamp_beyond_64_bits_is_malformed() -> None:
    data = batch_of(record_of(b"\x00\x02\x00\x01\x01\x00"))
    struct.pack_into(">q", data, 27, 2**63 - 1)
    for read in (iter_records, lambda batch: [find_max_timestamp(batch)]):
        with pytest.raises(Malformed, match="timestamp 9223372036854775808"):
            list(read(data))


@pytest.mark.parametrize(
    ("position", "layout", "value", "problem"),
    [
        (16, ">b", 1, "magic"),
        (8, ">i", 48, "batch length"),
        (8, ">i", 2**31 - 1, "batch length"),
        (57, ">i", -1, "record count"),
        (23, ">i", -1, "record count"),
        (21, ">h", 5, "codec"),
    ],
)
def test_a_header_that_cannot_be_is_malformed(position: int, layout: str, value: int, problem: str) -> None:
    data = encode_batch([FLIGHT])
    struct.pack_into(layout, data, position, value)
    with pytest.raises(Malformed, match=problem):
        iter_records(data)


def test_two_billion_records_declared_cost_nothing() -> None:
    data = batch_of(record_of(b"\x00\x00\x00\x01\x01\x00"), count=2**31 - 1, last_delta=2**31 - 1)
    with pytest.raises(Malformed, match="record 1"):
        list(iter_records(data))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_expands_beyond_the_limit_is_refused_before_the_first_record(codec: Codec) -> None:
    data = encode_batch([Record(n, 0, None, bytes(1000)) for n in range(100)], codec=codec)
    assert len(list(iter_records(data, limit_bytes=110_000))) == 100
    with pytest.raises(DecompressedTooLarge):
        iter_records(data, limit_bytes=90_000)


numbers = st.one_of(st.integers(-70, 70), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))


@given(number=numbers)
def test_varints_survive_the_round_trip_in_their_shortest_form(number: int) -> None:
    encoded = VARINTS[number]
    assert read_varint(encoded, 0, 64) == (number, len(encoded))
    magnitude = number if number >= 0 else -number - 1
    assert len(encoded) == max(1, -(-(magnitude.bit_length() + 1) // 7))


def test_longer_forms_of_a_varint_are_read_as_java_reads_them() -> None:
    assert read_varint(b"\x82\x80\x80\x80\x00", 0) == (1, 5)


def test_check_records_demands_offsets_without_a_gap() -> None:
    check_records(encode_batch([FLIGHT, FLIGHT._replace(offset=8)]))
    with pytest.raises(Malformed, match="record offset"):
        check_records(encode_batch([FLIGHT, FLIGHT._replace(offset=9)]))


@pytest.mark.parametrize("commit", [True, False])
def test_transaction_markers_are_read_from_their_control_batch(*, commit: bool) -> None:
    data = transaction_marker_batch(
        commit=commit, offset=40, timestamp_ms=5, producer_id=9, producer_epoch=2, coordinator_epoch=13
    )
    header = read_batch_header(data)
    (record,) = iter_records(data)
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    assert (header.producer_id, header.producer_epoch, record.offset) == (9, 2, 40)
    assert read_transaction_marker(record) == TransactionMarker(is_commit=commit, coordinator_epoch=13)


def test_other_control_records_are_no_transaction_markers() -> None:
    assert read_transaction_marker(Record(0, 0, struct.pack(">hh", 0, 2), b"")) is None


@pytest.mark.parametrize(
    ("key", "value"), [(None, None), (b"\x00", b""), (b"\x00\x00\x00\x01", b"\x00\x00\x00")]
)
def test_a_cut_marker_is_malformed(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(Malformed, match="control record"):
        read_transaction_marker(Record(0, 0, key, value))


SOURCES: dict[str, bytearray] = {
    codec.name: encode_batch(
        [FLIGHT._replace(offset=n, timestamp_ms=n * 70, value=b"v" * n * 3) for n in range(40)], codec=codec
    )
    for codec in Codec
}


@pytest.mark.parametrize("codec", SOURCES)
def test_records_cut_anywhere_are_malformed(codec: str) -> None:
    source = SOURCES[codec]
    for size in range(len(source)):
        with pytest.raises(Malformed):
            list(iter_records(source[:size]))
    for size in range(HEADER_BYTES, len(source) - 1):
        data = source[:size]
        struct.pack_into(">i", data, 8, size - 12)
        with pytest.raises(Malformed):
            list(iter_records(data))


def _read_all(data: bytearray) -> list[Any]:
    return [*iter_records(data), find_max_timestamp(data)]


@pytest.mark.parametrize("codec", SOURCES)
def test_damaged_batches_end_in_malformed_or_in_records_whose_crc_does_not_match(codec: str) -> None:
    chance = random.Random(f"records {codec}")
    source = SOURCES[codec]
    for _ in range(4_000):
        damaged = bytearray(source)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(12, len(damaged))] = chance.randrange(256)
        try:
            _read_all(damaged)
        except Malformed:
            continue
        assert damaged[12:17] != source[12:17] or damaged == source or not check_crc(damaged)


def test_damaged_record_bodies_inside_a_valid_compression_end_in_malformed_or_records() -> None:
    chance = random.Random("bodies")
    plain = bytes(SOURCES["NONE"][HEADER_BYTES:])
    for codec in itertools.islice(itertools.cycle([Codec.NONE, Codec.LZ4]), 4_000):
        body = bytearray(plain)
        for _ in range(chance.randint(1, 3)):
            body[chance.randrange(len(body))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        data = batch_of(compress(codec, body), count=40, attributes=codec)
        try:
            records = list(iter_records(data))
        except Malformed:
            continue
        assert len(records) == 40


optional_bytes = st.none() | st.binary(max_size=200)
record_headers = st.lists(st.tuples(st.text(max_size=8), optional_bytes), max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 9), st.integers(-1, 2**45), optional_bytes, optional_bytes, record_headers),
        min_size=1,
        max_size=30,
    ),
    base=st.integers(0, 2**60),
    codec=st.sampled_from(Codec),
)
def test_records_survive_the_round_trip(rows: list[Any], base: int, codec: Codec) -> None:
    offsets = itertools.accumulate((row[0] for row in rows), initial=base)
    written = [Record(offset, *row[1:]) for offset, row in zip(offsets, rows, strict=False)]
    data = encode_batch(written, codec=codec, producer_id=3, producer_epoch=1, base_sequence=0)
    assert check_crc(data)
    assert list(iter_records(data)) == written


@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=9_000), st.integers(0, 2**45)
        ),
        min_size=1,
        max_size=20,
    )
)
def test_the_keys_alone_are_those_of_the_records(rows: list[tuple[bytes | None, bytes | None, int]]) -> None:
    records = [Record(index, time, key, value) for index, (key, value, time) in enumerate(rows)]
    header, body = open_batch(encode_batch(records))
    assert record_keys(header, body) == [key for key, _, _ in rows]


def test_the_keys_of_a_batch_cut_anywhere_are_malformed() -> None:
    header, body = open_batch(
        encode_batch([Record(index, index * 1_000, b"k" * 70, b"v") for index in range(3)])
    )
    for end in range(len(body)):
        with pytest.raises(Malformed):
            record_keys(header, body[:end])
    with pytest.raises(Malformed):
        record_keys(header, body + b"\0")
