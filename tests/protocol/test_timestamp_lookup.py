"""Lookups by timestamp find the records that a walk over all of them would find."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_reader import Record
from protocol.record_writer import empty_batch, encode_batch
from protocol.timestamp_lookup import (
    TimestampedOffset,
    find_max_timestamp,
    find_timestamp,
)


def batch(*timestamps: int, base: int = 10, codec: int = 0, append_time_ms: int | None = None) -> bytearray:
    records = [Record(base + n, timestamp, b"k" * 70, b"v" * 200) for n, timestamp in enumerate(timestamps)]
    return encode_batch(records, codec=codec, append_time_ms=append_time_ms)


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (0, TimestampedOffset(5_000, 10)),
        (5_000, TimestampedOffset(5_000, 10)),
        (5_001, TimestampedOffset(9_000, 11)),
        (9_000, TimestampedOffset(9_000, 11)),
        (9_001, None),
    ],
)
def test_the_first_record_at_or_after_a_time_is_found(
    timestamp: int, found: TimestampedOffset | None
) -> None:
    assert find_timestamp(batch(5_000, 9_000, 9_000, 2_000), timestamp) == found


def test_records_before_the_log_start_are_passed_over() -> None:
    data = batch(5_000, 9_000, 9_000, 2_000)
    assert find_timestamp(data, 1_000, from_offset=12) == TimestampedOffset(9_000, 12)
    assert find_timestamp(data, 3_000, from_offset=13) is None
    assert find_max_timestamp(data, from_offset=13) == TimestampedOffset(2_000, 13)


def test_of_records_with_the_greatest_timestamp_the_first_is_found_as_by_kafka() -> None:
    assert find_max_timestamp(batch(5_000, 9_000, 9_000, 2_000)) == TimestampedOffset(9_000, 11)


def test_in_append_time_every_record_has_the_time_of_the_batch() -> None:
    data = batch(5_000, 9_000, append_time_ms=70_000)
    assert find_timestamp(data, 60_000) == TimestampedOffset(70_000, 10)
    assert find_max_timestamp(data) == TimestampedOffset(70_000, 10)


def test_an_empty_batch_has_no_record_to_find() -> None:
    data = empty_batch(3, 9, max_timestamp_ms=500)
    assert (find_timestamp(data, 1), find_max_timestamp(data)) == (None, None)


@settings(max_examples=80, deadline=None)
@given(
    timestamps=st.lists(st.integers(-1, 2**44) | st.integers(0, 20_000), min_size=1, max_size=80),
    codec=st.sampled_from(Codec),
    wanted=st.integers(0, 2**44) | st.integers(0, 20_000),
    start=st.integers(0, 95),
)
def test_lookups_equal_a_walk_over_all_records(
    timestamps: list[int], codec: Codec, wanted: int, start: int
) -> None:
    data = batch(*timestamps, codec=codec)
    visible = [TimestampedOffset(time, 10 + n) for n, time in enumerate(timestamps) if 10 + n >= start]
    later = [found for found in visible if found.timestamp_ms >= wanted]
    assert find_timestamp(data, wanted, from_offset=start) == (later[0] if later else None)
    assert find_max_timestamp(data, from_offset=start) == max(
        visible, key=lambda found: (found.timestamp_ms, -found.offset), default=None
    )


@pytest.mark.parametrize("codec", list(Codec))
def test_a_damaged_batch_is_malformed(codec: Codec) -> None:
    data = batch(1, 2, 3, codec=codec)
    with pytest.raises(Malformed):
        find_max_timestamp(data[:-1])
    data[61] ^= 0x7F
    with pytest.raises(Malformed):
        find_timestamp(data, 2)
