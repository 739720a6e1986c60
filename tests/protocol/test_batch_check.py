"""A producer's batch is accepted or refused as by Kafka 4.3.1, with the same code."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from protocol.batch_check import (
    BatchRefused,
    BatchTooLarge,
    CorruptBatch,
    InvalidBatch,
    TimestampOutOfRange,
    UnsupportedCodec,
    check_batch,
    check_timestamps,
)
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import empty_batch, encode_batch, transaction_marker_batch
from protocol.records import BatchHeader, read_batch_header, renew_crc

LIMIT = 1_048_588


def good(count: int = 1, **options: Any) -> bytearray:
    return encode_batch([Record(n, 1_000 + n, b"k", b"value") for n in range(count)], **options)


def changed(batch: bytearray, position: int, layout: str, value: int, *, crc: bool = True) -> bytearray:
    """Overwrite one field; renew the CRC unless the test is about that."""
    struct.pack_into(layout, batch, position, value)
    if crc:
        renew_crc(batch)
    return batch


def check(data: bytes | bytearray) -> BatchHeader:
    return check_batch(data, size_limit_bytes=LIMIT)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_is_accepted_with_any_codec(codec: Codec) -> None:
    data = good(30, codec=codec)
    assert check(data) == check_batch(memoryview(data), size_limit_bytes=LIMIT) == read_batch_header(data)


@pytest.mark.parametrize(
    "batch",
    [
        good(3, producer_id=0, producer_epoch=0, base_sequence=2**31 - 1),
        good(producer_id=-5),
        good(base_sequence=5),
        good(leader_epoch=77),
        good(append_time_ms=5),
        encode_batch([Record(0, 5, None, None)], transactional=True),
        changed(good(), 21, ">h", 0x7FC0),
        changed(good(3), 35, ">q", -7),
        encode_batch([Record(0, -2, None, None)]),
    ],
)
def test_what_kafka_accepts_is_accepted(batch: bytearray) -> None:
    assert check(batch).record_count >= 1


@pytest.mark.parametrize(
    "rest",
    [
        bytes(3),
        bytes(11),
        b"\xff" * 11,
        b"stray bytes ",
        bytes(good()[:12]),
        bytes(good()[:17]),
        bytes(good()[:60]),
        bytes(good()[:-1]),
    ],
)
def test_a_cut_batch_or_stray_bytes_behind_a_good_one_are_ignored(rest: bytes) -> None:
    assert check(good() + rest).size_bytes == len(good())


REFUSED: dict[str, tuple[Callable[[], bytes | bytearray], type[BatchRefused]]] = {
    "nothing": (lambda: b"", InvalidBatch),
    "cut inside the length": (lambda: good()[:11], InvalidBatch),
    "cut after the length": (lambda: good()[:16], InvalidBatch),
    "cut inside the header": (lambda: good()[:60], InvalidBatch),
    "cut inside the records": (lambda: good()[:-1], InvalidBatch),
    "length one too many": (lambda: changed(good(), 8, ">i", len(good()) - 11, crc=False), InvalidBatch),
    "length one too few": (lambda: changed(good(), 8, ">i", len(good()) - 13, crc=False), CorruptBatch),
    "length 49": (lambda: changed(good(), 8, ">i", 49, crc=False), CorruptBatch),
    "length 48": (lambda: changed(good(), 8, ">i", 48, crc=False), CorruptBatch),
    "length 14": (lambda: changed(good(), 8, ">i", 14, crc=False), CorruptBatch),
    "length 13": (lambda: changed(good(), 8, ">i", 13, crc=False), CorruptBatch),
    "length -1": (lambda: changed(good(), 8, ">i", -1, crc=False), CorruptBatch),
    "magic -1": (lambda: changed(good(), 16, ">b", -1), CorruptBatch),
    "magic 0": (lambda: changed(good(), 16, ">b", 0), InvalidBatch),
    "magic 1": (lambda: changed(good(), 16, ">b", 1), InvalidBatch),
    "magic 3": (lambda: changed(good(), 16, ">b", 3), CorruptBatch),
    "magic 3, cut": (lambda: changed(good(), 16, ">b", 3)[:50], CorruptBatch),
    "a v0 message of 26 bytes": (lambda: bytes(8) + struct.pack(">i", 14) + bytes(14), InvalidBatch),
    "two batches": (lambda: good() + good(), InvalidBatch),
    "a v0 message after it": (lambda: good() + bytes(8) + struct.pack(">i", 14) + bytes(14), InvalidBatch),
    "zeros after it": (lambda: good() + bytes(12), CorruptBatch),
    "ones after it": (lambda: good() + b"\xff" * 12, CorruptBatch),
    "magic 3 after it": (lambda: good() + changed(good(), 16, ">b", 3)[:50], CorruptBatch),
    "base offset 5": (lambda: changed(good(), 0, ">q", 5), InvalidBatch),
    "base offset 5 before the CRC": (lambda: good()[:17] + bytes(4) + good()[21:], CorruptBatch),
    "base offset -1": (lambda: changed(good(), 0, ">q", -1), InvalidBatch),
    "wrong CRC": (lambda: changed(good(), 17, ">I", 1, crc=False), CorruptBatch),
    "two records said, one by offsets": (lambda: changed(good(), 57, ">i", 2), InvalidBatch),
    "one record said, two by offsets": (lambda: changed(good(), 23, ">i", 1), InvalidBatch),
    "more records than bytes": (lambda: changed(changed(good(), 57, ">i", 9), 23, ">i", 8), InvalidBatch),
    "record count -1": (lambda: changed(changed(good(), 57, ">i", -1), 23, ">i", -2), InvalidBatch),
    "empty": (lambda: empty_batch(0, 0), InvalidBatch),
    "empty by offsets too": (lambda: changed(empty_batch(0, 0), 23, ">i", -1), InvalidBatch),
    "control bit": (lambda: changed(good(), 21, ">h", 0x20), InvalidBatch),
    "transaction marker": (
        lambda: transaction_marker_batch(
            commit=True, offset=0, timestamp_ms=1, producer_id=1, producer_epoch=0, coordinator_epoch=0
        ),
        InvalidBatch,
    ),
    "producer without sequence": (lambda: good(producer_id=5, producer_epoch=0), InvalidBatch),
    "codec 5": (lambda: changed(good(), 21, ">h", 5), UnsupportedCodec),
    "codec 7": (lambda: changed(good(), 21, ">h", 7), UnsupportedCodec),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_kafka_refuses_is_refused(case: str) -> None:
    make, expected = REFUSED[case]
    with pytest.raises(BatchRefused) as refused:
        check(make())
    assert type(refused.value) is expected


def test_each_refusal_carries_its_error_code() -> None:
    codes = {kind: kind.error_code for kind in BatchRefused.__subclasses__()}
    assert codes == {
        CorruptBatch: ErrorCode.CORRUPT_MESSAGE,
        BatchTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
        TimestampOutOfRange: ErrorCode.INVALID_TIMESTAMP,
        UnsupportedCodec: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        InvalidBatch: ErrorCode.INVALID_RECORD,
    }


def test_the_size_limit_is_that_of_the_whole_batch_and_comes_before_the_crc() -> None:
    data = changed(good(), 17, ">I", 1, crc=False)
    with pytest.raises(BatchTooLarge):
        check_batch(data, size_limit_bytes=len(data) - 1)
    with pytest.raises(CorruptBatch):
        check_batch(data, size_limit_bytes=len(data))


def test_bytes_behind_the_batch_do_not_count_against_the_size_limit() -> None:
    assert check_batch(good() + good()[:-1], size_limit_bytes=len(good())).record_count == 1


def test_the_base_offset_comes_before_size_and_crc() -> None:
    data = changed(changed(good(), 0, ">q", 1), 17, ">I", 1, crc=False)
    with pytest.raises(InvalidBatch, match="base offset is 1"):
        check_batch(data, size_limit_bytes=1)


def test_zstd_is_refused_where_the_request_is_too_old_for_it() -> None:
    data = good(codec=Codec.ZSTD)
    with pytest.raises(UnsupportedCodec, match="version 7"):
        check_batch(data, size_limit_bytes=LIMIT, zstd_allowed=False)
    assert check_batch(good(codec=Codec.LZ4), size_limit_bytes=LIMIT, zstd_allowed=False).codec == Codec.LZ4


def test_damaged_and_cut_batches_raise_one_family_of_errors() -> None:
    chance = random.Random(3)
    source = bytes(good(5, codec=Codec.SNAPPY) + good()[:40])
    for size in range(len(source) - 40):
        with pytest.raises(BatchRefused):
            check(source[:size])
    accepted = 0
    for _ in range(20_000):
        damaged = bytearray(source)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            check(damaged)
        except BatchRefused:
            continue
        accepted += 1
        assert damaged[17 : len(source) - 40] == source[17 : len(source) - 40]
    assert accepted


def header_with(base: int, maximum: int) -> BatchHeader:
    return read_batch_header(good())._replace(base_timestamp=base, max_timestamp=maximum)


@pytest.mark.parametrize(
    ("base", "maximum", "accepted"),
    [
        (9_000, 10_500, True),
        (9_000, 10_501, False),
        (8_999, 10_000, False),
        (-1, -1, True),
        (-1, 10_501, False),
        (-2, -1, False),
    ],
)
def test_timestamps_further_from_the_clock_than_allowed_are_refused(
    *, base: int, maximum: int, accepted: bool
) -> None:
    header = header_with(base, maximum)
    if accepted:
        check_timestamps(header, now_ms=10_000, before_max_ms=1_000, after_max_ms=500)
        return
    with pytest.raises(TimestampOutOfRange, match="1000 ms before or 500 ms after"):
        check_timestamps(header, now_ms=10_000, before_max_ms=1_000, after_max_ms=500)


@pytest.mark.parametrize(
    ("timestamp", "accepted"), [(0, True), (-2, True), (-(2**63), False), (2**63 - 1, False)]
)
def test_kafkas_default_bounds_accept_any_past_and_one_hour_of_future(
    *, timestamp: int, accepted: bool
) -> None:
    header = header_with(timestamp, timestamp)
    bounds = {"now_ms": 1_700_000_000_000, "before_max_ms": 2**63 - 1, "after_max_ms": 3_600_000}
    if accepted:
        check_timestamps(header, **bounds)
        return
    with pytest.raises(TimestampOutOfRange):
        check_timestamps(header, **bounds)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_codec_cannot_hold_more_records_than_it_can_expand_to(codec: Codec) -> None:
    """81 bytes of gzip that claim 2^31 - 1 records are refused; what a codec can really reach is accepted."""
    count = 2**31 - 1
    claims = changed(changed(good(1, codec=codec), 57, ">i", count), 23, ">i", count - 1)
    with pytest.raises(InvalidBatch, match="2147483647 records declared"):
        check(claims)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_records_that_compress_as_well_as_their_codec_can_are_accepted(codec: Codec) -> None:
    tiny = [Record(offset, 0, None, None) for offset in range(100_000)]
    data = encode_batch(tiny, codec=codec)
    assert check(data).record_count == 100_000
