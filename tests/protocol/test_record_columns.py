"""The records of a batch as columns: the same records as one by one, and the same errors."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol import record_columns
from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_columns import RecordColumns, columns_of, read_columns
from protocol.record_reader import Record, iter_records
from protocol.record_writer import VARINTS, encode_batch, transaction_marker_batch
from protocol.records import HEADER, HEADER_BYTES, read_batch_header, renew_crc

NOW_MS = 1_700_000_000_000

maybe_bytes = st.none() | st.binary(max_size=5) | st.sampled_from([b"x" * 63, b"x" * 64, b"x" * 9_000])
some_headers = st.just(()) | st.lists(st.tuples(st.text(max_size=3), maybe_bytes), max_size=2).map(tuple)
records = st.lists(
    st.builds(
        Record,
        st.integers(0, 20_000),
        st.integers(NOW_MS - 20_000, NOW_MS + 20_000) | st.sampled_from([0, 2**63 - 1, -(2**63)]),
        maybe_bytes,
        maybe_bytes,
        some_headers,
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda record: record.offset,
).map(sorted)


def encodable(found: list[Record]) -> bool:
    return all(abs(record.timestamp_ms - found[0].timestamp_ms) < 2**63 for record in found)


@given(records.filter(encodable), st.sampled_from([Codec.NONE, Codec.ZSTD]), st.none() | st.just(NOW_MS))
def test_the_columns_hold_what_the_records_are(
    made: list[Record], codec: Codec, append_time_ms: int | None
) -> None:
    batch = encode_batch(made, codec=codec, append_time_ms=append_time_ms)
    expected = list(iter_records(batch))
    columns = read_columns(batch)
    assert list(columns) == expected
    assert list(columns_of(expected)) == expected
    assert [columns[at] for at in range(len(columns))] == expected


@pytest.mark.parametrize("size", [1, 63, 64, 8_191, 8_192, 10_000])
def test_records_of_few_bytes_are_read_by_the_quick_loop(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [Record(at, NOW_MS + at % 5_000, b"k" * (at % 9), b"v" * (at % 200)) for at in range(size)]
    monkeypatch.setattr(record_columns, "records_in", None)  # the way around it
    assert list(read_columns(encode_batch(made))) == made


def framed(body: bytes, count: int, last_delta: int, attributes: int = 0) -> bytes:
    batch = bytearray(HEADER_BYTES) + body
    HEADER.pack_into(batch, 0, 5, len(batch) - 12, -1, 2, 0, attributes, last_delta, 9, 9, -1, -1, -1, count)
    renew_crc(batch)
    return bytes(batch)


def outcome(read: object, batch: bytes) -> list[Record] | str:
    try:
        return list(read(batch))  # type: ignore[operator]
    except Malformed as error:
        return str(error)


SMALL = b"\x0c\x00\x00\x00\x01\x00\x00"
"""A record without key, value and headers: its length is 6."""


@given(
    st.binary(max_size=30) | st.lists(st.sampled_from(range(16)), max_size=30).map(bytes), st.integers(0, 3)
)
@example(SMALL, 1)
@example(SMALL * 2, 2)
@example(SMALL * 2, 1)
@example(SMALL[:-1], 1)
@example(b"\x0c\x00\x00\x00\x03\x00\x00", 1)  # a key of -2 bytes
@example(b"\x0c\x00\x00\x00\x01\x03\x00", 1)  # a value of -2 bytes
@example(b"\x0c\x00\x00\x01\x01\x00\x00", 1)  # an offset before the first
@example(b"\x0b\x00\x00\x00\x01\x00\x00", 1)  # a record of -6 bytes
@example(b"\x0e\x00\x00\x00\x01\x00\x00", 1)  # a record that goes on after the batch
@example(b"\x0c\x00\x00\x00\x01\x00\x02", 1)  # a header that is not there
def test_any_bytes_give_what_reading_one_by_one_gives(body: bytes, count: int) -> None:
    batch = framed(body, count, last_delta=2)
    assert outcome(read_columns, batch) == outcome(iter_records, batch)


@given(st.data())
def test_a_changed_byte_gives_what_reading_one_by_one_gives(data: st.DataObject) -> None:
    made = [Record(at, NOW_MS + 100 * at, b"key", b"v" * (60 + at)) for at in range(3)]
    batch = encode_batch(made)
    at = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
    batch[at] = data.draw(st.integers(0, 255))
    assert outcome(read_columns, bytes(batch)) == outcome(iter_records, bytes(batch))


def test_times_that_no_record_can_have_are_refused() -> None:
    batch = bytearray(framed(b"\x0c\x00\x02\x00\x01\x00\x00", 1, last_delta=0))
    fields = list(HEADER.unpack_from(batch))
    assert fields[7] == 9, "the base timestamp"
    fields[7] = 2**63 - 1
    HEADER.pack_into(batch, 0, *fields)
    with pytest.raises(Malformed, match="timestamp 9223372036854775808"):
        read_columns(batch)


def test_markers_are_records_as_well() -> None:
    marker = transaction_marker_batch(
        commit=True, offset=7, timestamp_ms=NOW_MS, producer_id=1, producer_epoch=0, coordinator_epoch=3
    )
    assert list(read_columns(marker)) == list(iter_records(marker))
    assert read_batch_header(marker).is_control


def test_a_part_has_the_records_of_its_places() -> None:
    made = [Record(at, NOW_MS, None, b"%d" % at, (("h", b"1"),) * (at % 2)) for at in range(5)]
    part = columns_of(made)[1:3]
    assert isinstance(part, RecordColumns)
    assert (list(part), part[-1]) == (made[1:3], made[2])
    assert list(columns_of(made[::2])[1:]) == made[2::2]


@given(records, records)
def test_records_that_follow_are_added(first: list[Record], second: list[Record]) -> None:
    columns = columns_of(first)[:]
    columns.extend(columns_of(second))
    assert list(columns) == first + second
    assert len(columns) == len(first) + len(second)


def test_a_long_varint_of_an_offset_is_read() -> None:
    delta = VARINTS[8_500]
    assert len(delta) == 3
    body = b"\x10\x00\x00" + delta + b"\x01\x00\x00"
    assert read_columns(framed(body, 1, last_delta=8_500))[0].offset == 8_505
