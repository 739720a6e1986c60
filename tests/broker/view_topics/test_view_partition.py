"""The read of a view by one fetch, and moving the reader past records that are left out."""

from __future__ import annotations

import pytest

from broker.view_topics.view_partition import DELTA_MAX, ViewRead
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import check_crc, read_batch_header
from wal.segment import FileRange


def batch_at(*offsets: int) -> bytearray:
    return encode_batch([Record(offset, 1_000, None, b"v") for offset in offsets])


def finished(read: ViewRead) -> tuple[bytes | bytearray | memoryview, int]:
    (part,), size_bytes = read.finished(takes_empty=True)
    assert not isinstance(part, FileRange)
    return part, size_bytes


def test_a_read_takes_one_batch_however_large_and_then_what_fits() -> None:
    read = ViewRead(0, 10)
    assert read.takes(1_000)
    read.add(b"x" * 1_000, 1_000, 5)
    assert read.is_full
    assert not read.takes(1)
    assert not ViewRead(0, 10, minimum_one=False).takes(11)


def test_the_last_batch_is_stretched_over_what_was_left_out_behind_it() -> None:
    read, batch = ViewRead(0, 1_000), batch_at(2, 3)
    before = bytes(batch)
    read.add(batch, len(batch), 4)
    read.position = 50
    part, size_bytes = finished(read)
    assert read_batch_header(part).last_offset == 49
    assert check_crc(part)
    assert size_bytes == len(part)
    assert [record.offset for record in iter_records(part)] == [2, 3]
    assert bytes(batch) == before, "other readers share the batch"


def test_a_batch_that_ends_where_the_read_does_is_not_copied() -> None:
    read, batch = ViewRead(0, 1_000), batch_at(2, 3)
    read.add(batch, len(batch), 4)
    part, _ = finished(read)
    assert part is batch


def test_where_nothing_is_left_an_empty_batch_carries_the_reader_on() -> None:
    read = ViewRead(7, 1_000)
    read.position = 100
    assert read.has_progress
    part, size_bytes = finished(read)
    header = read_batch_header(part)
    assert (header.base_offset, header.last_offset, header.record_count) == (7, 99, 0)
    assert header.producer_id == -1
    assert check_crc(part)
    assert size_bytes == len(part)


def test_clients_that_take_no_empty_batch_get_nothing() -> None:
    read = ViewRead(7, 1_000)
    read.position = 100
    assert read.finished(takes_empty=False) == ([], 0)


def test_a_read_that_came_nowhere_has_nothing_to_tell() -> None:
    read = ViewRead(7, 1_000)
    assert not read.has_progress
    assert read.finished(takes_empty=True) == ([], 0)


@pytest.mark.parametrize("shows", [True, False])
def test_a_distance_that_no_batch_can_span_is_told_as_far_as_it_goes(shows: bool) -> None:
    read = ViewRead(0, 1_000)
    if shows:
        batch = batch_at(0)
        read.add(batch, len(batch), 1)
    read.position = 2**40
    part, _ = finished(read)
    assert read_batch_header(part).last_offset == DELTA_MAX
