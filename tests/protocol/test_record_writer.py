"""Batches are written as Java and kafka-python write them, and both sides read what the other wrote."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.batch_check import check_batch
from protocol.compression import Codec
from protocol.record_reader import Record, iter_records
from protocol.record_writer import (
    RECORDS_PER_STEP,
    VARINTS,
    empty_batch,
    encode_batch,
    encode_in_steps,
    left_behind_batch,
    transaction_marker_batch,
)
from protocol.records import check_crc, read_batch_header

with warnings.catch_warnings():
    # kafka-python 3.0 reads its schemas with a call that only Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
    from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

RECORDS = [
    Record(0, 1_000, b"key", b"value", (("a", b"1"), ("b", None))),
    Record(1, 1_500, None, b"x" * 300),
    Record(2, 900, b"", None),
]


def test_the_header_says_what_the_records_are() -> None:
    header = read_batch_header(encode_batch(RECORDS))
    assert (header.base_offset, header.last_offset_delta, header.record_count) == (0, 2, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_500)
    assert (header.leader_epoch, header.magic, header.attributes) == (-1, 2, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)


def test_every_option_reaches_its_field() -> None:
    data = encode_batch(
        RECORDS,
        codec=Codec.ZSTD,
        leader_epoch=4,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=17,
        append_time_ms=77,
        transactional=True,
    )
    header = read_batch_header(data)
    assert (header.codec, header.is_append_time, header.is_transactional, header.is_control) == (
        4,
        True,
        True,
        False,
    )
    assert (header.leader_epoch, header.max_timestamp, header.base_timestamp) == (4, 77, 1_000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2**40, 3, 17)
    assert check_crc(data)


def test_any_iterable_of_records_will_do() -> None:
    assert encode_batch(iter(RECORDS)) == encode_batch(tuple(RECORDS)) == encode_batch(RECORDS)


def test_a_batch_can_begin_before_its_first_record_and_end_behind_its_last() -> None:
    kept = [RECORDS[0]._replace(offset=104), RECORDS[1]._replace(offset=109)]
    data = encode_batch(kept, base_offset=100, last_offset=120)
    header = read_batch_header(data)
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 120, 2)
    assert list(iter_records(data)) == kept


@pytest.mark.parametrize("options", [{"base_offset": 1}, {"last_offset": 1}])
def test_a_batch_cannot_leave_its_own_records_out(options: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        encode_batch(RECORDS, **options)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_level_is_passed_on_to_the_codec(codec: Codec) -> None:
    assert list(iter_records(encode_batch(RECORDS, codec=codec, level=1))) == RECORDS


def test_an_empty_batch_carries_offsets_and_producer_state_as_after_compaction() -> None:
    data = empty_batch(110, 119, producer_id=5, producer_epoch=1, base_sequence=30, max_timestamp_ms=99)
    header = read_batch_header(data)
    assert (len(data), header.batch_length, header.record_count, check_crc(data)) == (61, 49, 0, True)
    assert (header.base_offset, header.last_offset, header.max_timestamp) == (110, 119, 99)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 30)
    assert (header.base_timestamp, header.is_transactional) == (-1, False)


def test_kafka_python_moves_over_an_empty_batch() -> None:
    records = MemoryRecords(bytes(empty_batch(110, 119)))
    batch = records.next_batch()
    assert (batch.validate_crc(), batch.next_offset, list(batch)) == (True, 120, [])


def test_kafka_python_reads_a_transaction_marker() -> None:
    data = transaction_marker_batch(
        commit=False, offset=7, timestamp_ms=5, producer_id=3, producer_epoch=1, coordinator_epoch=2
    )
    (record,) = batch = DefaultRecordBatch(bytes(data))
    assert (batch.is_control_batch, batch.is_transactional) == (True, True)
    assert (record.abort, record.commit, record.offset) == (True, False, 7)


optional_bytes = st.none() | st.binary(max_size=100)
# kafka-python cannot write null header values.
headers = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=20)), max_size=2).map(tuple)
rows = st.lists(
    st.tuples(st.integers(0, 2**45), optional_bytes, optional_bytes, headers), min_size=1, max_size=20
)


def numbered(rows: list[Any]) -> list[Record]:
    return [Record(offset, *row) for offset, row in enumerate(rows)]


@settings(max_examples=60, deadline=None)
@given(rows=rows, codec=st.sampled_from(Codec))
def test_kafka_python_reads_what_we_write(rows: list[Any], codec: Codec) -> None:
    written = numbered(rows)
    batch = DefaultRecordBatch(bytes(encode_batch(written, codec=codec)))
    assert batch.validate_crc()
    read = [Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]
    assert read == written


@settings(max_examples=60, deadline=None)
@given(rows=rows, codec=st.sampled_from(Codec))
def test_we_read_what_kafka_python_writes(rows: list[Any], codec: Codec) -> None:
    written = numbered(rows)
    builder = MemoryRecordsBuilder(2, codec, 1 << 20)
    for record in written:
        builder.append(record.timestamp_ms, record.key, record.value, list(record.headers))
    builder.close()
    data = builder.buffer()
    assert check_batch(data, size_limit_bytes=1 << 20).record_count == len(written)
    assert list(iter_records(data)) == written


@settings(max_examples=60, deadline=None)
@given(rows=rows)
def test_uncompressed_batches_equal_kafka_pythons_byte_for_byte(rows: list[Any]) -> None:
    written = numbered(rows)
    builder = DefaultRecordBatchBuilder(2, 0, True, 9, 1, 5, 1 << 20)
    for record in written:
        builder.append(record.offset, record.timestamp_ms, record.key, record.value, list(record.headers))
    ours = encode_batch(
        written, leader_epoch=0, producer_id=9, producer_epoch=1, base_sequence=5, transactional=True
    )
    theirs = bytearray(builder.build())
    theirs[12:16] = bytes(4)
    assert ours == theirs


def test_only_short_varints_are_kept() -> None:
    for number in range(-20_000, 20_000, 7):
        assert VARINTS[number]
    assert max(map(len, VARINTS.values())) == 2
    assert len(VARINTS) <= 16_384


def test_a_batch_that_is_encoded_in_steps_is_the_same() -> None:
    records = [
        Record(7 + place * 3, 50 - place % 4, b"k", b"%d" % place, (("h", None),)) for place in range(2_500)
    ]
    steps = encode_in_steps(records, leader_epoch=0)
    pauses, made = 0, None
    while made is None:
        try:
            next(steps)
            pauses += 1
        except StopIteration as done:
            made = done.value
    assert pauses >= len(records) // RECORDS_PER_STEP
    assert made == encode_batch(records, leader_epoch=0)


def test_what_is_left_of_a_batch_is_a_control_batch_with_the_batchs_sequences() -> None:
    sent = encode_batch(
        [Record(offset, 5, b"k", b"v") for offset in range(3)],
        producer_id=7,
        producer_epoch=1,
        base_sequence=20,
        transactional=True,
    )
    header = read_batch_header(left_behind_batch(read_batch_header(sent)))
    assert header.is_control
    assert header.is_transactional
    assert (header.record_count, header.last_offset_delta) == (1, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 20)
