"""A batch without some of its records."""

from __future__ import annotations

import struct
from collections.abc import Container

import pytest

from broker.storage import rewriting
from broker.storage.rewriting import opened_with
from protocol.compression import OUTPUT_BYTES_MAX, Codec
from protocol.errors import Malformed
from protocol.record_reader import Headers, iter_records
from protocol.records import (
    HEADER_BYTES,
    LENGTH_AT,
    PREFIX_BYTES,
    check_crc,
    patch_append_time,
    read_batch_header,
)
from tests.broker.numbered import numbered


def rewritten(batch: bytearray, dropped: Container[int], added: Headers = ()) -> bytearray | None:
    opened = opened_with(batch, added)
    return None if opened is None else rewriting.rewritten(opened, dropped)


def test_records_that_do_not_ascend_are_not_written_anew() -> None:
    record = bytes([16, 0, 0, 0, 2]) + b"k" + bytes([2]) + b"v\0"
    batch = numbered(1, 2)[:HEADER_BYTES] + record + record
    struct.pack_into(">i", batch, LENGTH_AT, len(batch) - PREFIX_BYTES)
    with pytest.raises(Malformed, match="ascend"):
        opened_with(batch)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("transactional", [False, True])
def test_the_rest_keeps_offsets_codec_headers_and_producer(codec: Codec, transactional: bool) -> None:
    batch = numbered(1, 2, 3, 4, codec=codec, producer=(9, 1, 5), transactional=transactional)
    before = read_batch_header(batch)
    rest = rewritten(batch, {0, 2})
    assert rest is not None
    header = read_batch_header(rest)
    assert check_crc(rest)
    assert list(iter_records(rest)) == [
        record for index, record in enumerate(iter_records(batch)) if index in (1, 3)
    ]
    for field in ("base_offset", "last_offset_delta", "producer_id", "producer_epoch", "base_sequence"):
        assert getattr(header, field) == getattr(before, field)
    assert (header.attributes, header.record_count) == (before.attributes, 2)


def test_without_all_of_them_a_batch_still_takes_its_offsets_and_sequence_numbers() -> None:
    rest = rewritten(numbered(1, 2, 3, producer=(9, 1, 5), transactional=True), {0, 1, 2})
    assert rest is not None
    header = read_batch_header(rest)
    assert check_crc(rest)
    assert (header.record_count, header.last_offset_delta, header.base_sequence) == (0, 2, 5)
    assert (header.producer_id, header.producer_epoch, header.is_transactional) == (9, 1, True)


def test_the_time_of_append_stays() -> None:
    batch = numbered(1, 2)
    patch_append_time(batch, 4711)
    header = read_batch_header(rewritten(batch, {0}) or b"")
    assert (header.is_append_time, header.max_timestamp) == (True, 4711)


def test_headers_are_added_to_the_records_that_are_left() -> None:
    batch = numbered(1, 2, 3, codec=Codec.GZIP, producer=(9, 1, 5))
    rest = rewritten(batch, {1}, (("kawal-seqno", b"new"), ("a", None)))
    assert rest is not None
    assert check_crc(rest)
    assert [(record.offset, record.headers[1:]) for record in iter_records(rest)] == [
        (offset, (("kawal-seqno", b"new"), ("a", None))) for offset in (0, 2)
    ]
    assert read_batch_header(rest)[9:12] == read_batch_header(batch)[9:12] == (9, 1, 5)


def test_a_batch_that_headers_expand_beyond_what_readers_accept_is_not_made() -> None:
    batch = numbered(*range(20), codec=Codec.ZSTD)
    assert rewritten(batch, (), (("a", bytes(OUTPUT_BYTES_MAX // 20)),)) is None
    assert rewritten(batch, ()) is not None
