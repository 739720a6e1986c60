"""Headers are added to records without changing anything else in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_headers import (
    BYTES_PER_STEP,
    RECORDS_PER_STEP,
    encoded_header,
    with_headers,
    with_headers_steps,
)
from protocol.record_reader import Record, iter_records
from protocol.record_writer import empty_batch, encode_batch
from protocol.records import check_crc, read_batch_header, renew_crc

TEXT = st.text(max_size=20)
BYTES = st.one_of(st.none(), st.binary(max_size=200))
RECORDS = st.lists(
    st.tuples(
        st.integers(1, 300),
        st.integers(0, 2**41),
        BYTES,
        BYTES,
        st.lists(st.tuples(TEXT, BYTES), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=20,
)


def more_of(offset: int) -> bytes:
    return encoded_header("from", b"t") + encoded_header("offset", b"%d" % offset)


@given(RECORDS, st.sampled_from(list(Codec)), st.integers(0, 2**40), st.booleans())
def test_records_are_the_same_with_headers_behind_their_own(
    rows: list[tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    codec: Codec,
    base_offset: int,
    append_time: bool,
) -> None:
    offset, records = 7, []
    for step, *rest in rows:
        offset += step
        records.append(Record(offset, *rest))  # type: ignore[arg-type]
    source = encode_batch(
        records,
        codec=codec,
        base_offset=7,
        last_offset=offset + 5,
        producer_id=3,
        producer_epoch=1,
        base_sequence=4,
        transactional=True,
        append_time_ms=99 if append_time else None,
    )
    made = with_headers(source, more_of, 2, base_offset=base_offset)
    shift = base_offset - 7
    assert [
        record._replace(offset=record.offset - shift, headers=record.headers[:-2])
        for record in iter_records(made)
    ] == list(iter_records(source))
    assert [record.headers[-2:] for record in iter_records(made)] == [
        (("from", b"t"), ("offset", b"%d" % record.offset)) for record in records
    ]
    before, after = read_batch_header(source), read_batch_header(made)
    assert check_crc(made)
    assert after.last_offset_delta == before.last_offset_delta
    assert (after.base_timestamp, after.max_timestamp) == (before.base_timestamp, before.max_timestamp)
    assert after.is_append_time == append_time
    assert (after.producer_id, after.producer_epoch, after.base_sequence) == (-1, -1, -1)
    assert not after.is_transactional


@pytest.mark.parametrize(("count", "size_bytes"), [(5_000, 10), (60, 100_000)])
def test_many_records_and_large_ones_are_joined_in_steps(count: int, size_bytes: int) -> None:
    records = [Record(at, at, b"k", b"x" * size_bytes) for at in range(count)]
    more = encoded_header("a", b"b")
    batch = encode_batch(records)
    steps = with_headers_steps(batch, lambda _: more, 1, base_offset=0)
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made = end.value
            break
        pauses += 1
    assert pauses >= len(batch) // (2 * BYTES_PER_STEP)
    assert pauses >= count // RECORDS_PER_STEP
    assert made == with_headers(batch, lambda _: more, 1, base_offset=0)
    assert [(found.key, found.value) for found in iter_records(made)] == [(b"k", b"x" * size_bytes)] * count


def test_a_batch_without_records_stays_one() -> None:
    made = with_headers(empty_batch(3, 9), more_of, 2, base_offset=20)
    header = read_batch_header(made)
    assert (header.base_offset, header.last_offset, header.record_count) == (20, 26, 0)


@given(st.integers(61, 75), st.integers(0, 255))
def test_damaged_records_are_malformed_or_read_as_the_reader_reads_them(at: int, byte: int) -> None:
    batch = encode_batch([Record(0, 5, b"key", b"value", (("a", b"b"),))])
    batch[min(at, len(batch) - 1)] = byte
    renew_crc(batch)
    try:
        records = list(iter_records(batch))
    except Malformed:
        records = None
    try:
        made = list(iter_records(with_headers(batch, more_of, 2, base_offset=0)))
    except Malformed:
        assert records is None
    else:
        if records is not None:
            assert [record._replace(headers=record.headers[:-2]) for record in made] == records


def test_a_record_whose_headers_lie_behind_its_end_is_malformed() -> None:
    batch = encode_batch([Record(0, 5, b"k", b"v" * 10)])
    # The value claims more bytes than the record has.
    batch[61 + 6] = 60
    renew_crc(batch)
    with pytest.raises(Malformed):
        with_headers(batch, more_of, 2, base_offset=0)
