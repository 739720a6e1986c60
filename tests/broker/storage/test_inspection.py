"""kawal.check.records=open: a batch is refused for what is wrong with its records, as Apache Kafka does."""

from __future__ import annotations

import struct

import pytest

from broker.config.topic_settings import TopicSettings
from broker.loop.slices import all_here, run_here
from broker.storage.inspection import (
    INSPECTED_BYTES_MAX,
    INSPECTED_RECORDS_MAX,
    KEYS_BYTES_MAX,
    KEYS_RECORDS_MAX,
    PACKED_BYTES_MAX,
    inspect,
    inspection_takes_long,
    takes_long,
)
from protocol.compression import Codec, compress
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import HEADER_BYTES, LENGTH_AT, PREFIX_BYTES, renew_crc
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, read, send
from tests.broker.splits import split_topic

HOUR_MS = 3_600_000

# One record: length, attributes, timestamp delta, offset delta, key "k", value "v", header count.
PLAIN = bytes([16, 0, 0, 0, 2]) + b"k" + bytes([2]) + b"v" + b"\0"


def record(headers: bytes = b"\0", *, delta: int = 0, head: bytes | None = None) -> bytes:
    body = bytes([0, 0, 2 * delta, 2]) + b"k" + bytes([2]) + b"v" + headers
    return (bytes([2 * len(body)]) if head is None else head) + body


def of(
    content: bytes, *, count: int = 1, codec: Codec = Codec.NONE, packed: bytes | None = None
) -> bytearray:
    """Return a batch whose header counts so many records, with this content."""
    made = encode_batch([Record(index, START_MS, b"k", b"v") for index in range(count)])
    data = made[:HEADER_BYTES] + (compress(codec, content) if packed is None else packed)
    struct.pack_into(">i", data, LENGTH_AT, len(data) - PREFIX_BYTES)
    struct.pack_into(">h", data, 21, codec)
    renew_crc(data)
    return data


WRONG = {
    "null header name": record(b"\x02\x01\x02b"),
    "negative header count": record(b"\x01"),
    "header count above its headers": record(b"\x06\x02a\x02b"),
    "key longer than the record": bytes([16, 0, 0, 0, 100]) + b"k" + bytes([2]) + b"v" + b"\0",
    "bytes after the headers": record(b"\0xx"),
    "a length above the batch": record(head=b"\x7e"),
    "a length of 0": b"\0" + PLAIN,
    "a negative length": b"\x05" + PLAIN,
    "bytes after the last record": PLAIN + b"zz",
    "a record more than counted": PLAIN + record(delta=1),
    "a varint without end": b"\xff\xff\xff\xff\xff\xff\x01" + PLAIN,
    "no record": b"",
    "an offset delta of 5": record(delta=5),
}


@pytest.fixture
def client(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t", kawal_check_records="open")
    create(client, "head")
    return client


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_inside_a_batch_is_refused_where_the_topic_asks(
    client: Client, codec: Codec, case: str
) -> None:
    answer = send(client, "t", of(WRONG[case], codec=codec))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert answer.error_message
    if WRONG[case] or codec:
        assert send(client, "head", of(WRONG[case], codec=codec)).error_code == 0


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_right_is_accepted(client: Client, codec: Codec) -> None:
    content = record(b"\x02\x02a\x01") + record(b"\x02\x04\xff\xfe\x02b", delta=1)
    assert send(client, "t", of(content, count=2, codec=codec)).error_code == 0
    assert read(client, "t") == [b"v", b"v"]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("kind", ["cut", "another format", "nothing"])
def test_records_that_do_not_decompress_are_refused(client: Client, codec: Codec, kind: str) -> None:
    packed = compress(codec, PLAIN * 40)
    wrong = {"cut": packed[:-7], "another format": b"not compressed at all", "nothing": b""}[kind]
    answer = send(client, "t", of(b"", codec=codec, packed=wrong))
    assert answer.error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(("first", "second"), [(0, 2), (0, 0), (1, 0)])
def test_offsets_follow_each_other(client: Client, first: int, second: int) -> None:
    answer = send(client, "t", of(record(delta=first) + record(delta=second), count=2))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert "offset delta" in answer.error_message


def test_each_timestamp_is_checked_and_the_greatest_is_corrected(gateway: Gateway, client: Client) -> None:
    records = [Record(index, START_MS + time, b"k", b"v") for index, time in enumerate((0, 2 * HOUR_MS, 5))]
    answer = send(client, "t", encode_batch(records))
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [1]
    records[1] = records[1]._replace(timestamp_ms=START_MS + 700)
    data = encode_batch(records)
    struct.pack_into(">q", data, 35, START_MS + 9)
    renew_crc(data)
    assert send(client, "t", data).error_code == 0
    found = all_here(gateway.partition("t").newest_steps(run_here))
    assert found is not None
    assert found.max_timestamp == START_MS + 700


def test_a_record_before_the_first_one_counts_too(client: Client) -> None:
    create(client, "new", kawal_check_records="open", message_timestamp_before_max_ms=str(HOUR_MS))
    times = (START_MS, START_MS - 2 * HOUR_MS)
    data = encode_batch([Record(index, time, b"k", b"v") for index, time in enumerate(times)])
    answer = send(client, "new", data)
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [1]


def test_records_without_a_timestamp_are_accepted(client: Client) -> None:
    assert send(client, "t", batch(b"a", timestamp_ms=-1)).error_code == 0


def test_a_crc_counts_before_the_records(client: Client) -> None:
    data = of(WRONG["no record"])
    data[-1] ^= 1
    assert send(client, "t", data).error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("count", "size", "is_long"),
    [
        (1, 10, False),
        (INSPECTED_RECORDS_MAX, 1, False),
        (INSPECTED_RECORDS_MAX + 1, 1, True),
        (1, INSPECTED_BYTES_MAX, True),
    ],
)
def test_many_records_or_bytes_take_long(count: int, size: int, is_long: bool) -> None:
    records = [Record(index, START_MS, None, bytes(size)) for index in range(count)]
    assert takes_long(encode_batch(records)) is is_long


@pytest.mark.parametrize("size", [PACKED_BYTES_MAX // 2, PACKED_BYTES_MAX])
@pytest.mark.parametrize("codec", Codec)
def test_of_compressed_batches_smaller_ones_take_long_as_they_may_open_to_much(
    codec: Codec, size: int
) -> None:
    assert takes_long(of(b"", codec=codec, packed=bytes(size))) is (
        codec != Codec.NONE and size == PACKED_BYTES_MAX
    )


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize(("size", "is_long"), [(1_000, False), (INSPECTED_BYTES_MAX + 1, True)])
def test_a_small_batch_takes_long_that_opens_to_much(codec: Codec, size: int, is_long: bool) -> None:
    data = of(bytes(size), codec=codec)
    assert len(data) <= PACKED_BYTES_MAX
    assert takes_long(data) is is_long


@pytest.mark.parametrize("data", [None, b"", bytes(60)])
@pytest.mark.usefixtures("client")
def test_what_is_no_batch_takes_no_time(gateway: Gateway, data: bytes | None) -> None:
    assert not takes_long(data)
    assert not inspection_takes_long(data, gateway.broker.topics.settings(gateway.partition("t").topic))


@pytest.mark.parametrize(
    ("count", "size", "codec", "is_long"),
    [
        (KEYS_RECORDS_MAX, 1, Codec.NONE, False),
        (KEYS_RECORDS_MAX + 1, 1, Codec.NONE, True),
        (1, KEYS_BYTES_MAX - 1_000, Codec.NONE, False),
        (1, KEYS_BYTES_MAX, Codec.NONE, True),
        (INSPECTED_RECORDS_MAX + 1, 1, Codec.LZ4, True),
    ],
)
def test_keys_alone_are_read_at_once_of_larger_batches(
    gateway: Gateway, client: Client, count: int, size: int, codec: Codec, is_long: bool
) -> None:
    split_topic(client, "splits")
    split_topic(client, "checked", kawal_check_records="open")
    records = [Record(index, START_MS, b"k", bytes(size)) for index in range(count)]
    data = encode_batch(records, codec=codec)
    keys_only, checked = (
        gateway.broker.topics.settings(gateway.partition(name).topic) for name in ("splits", "checked")
    )
    assert inspection_takes_long(data, keys_only) is is_long
    assert inspection_takes_long(data, checked)


def test_a_large_batch_with_a_flaw_is_refused_by_what_a_thread_has_found(client: Client) -> None:
    count = INSPECTED_RECORDS_MAX + 1
    answer = send(client, "t", of(PLAIN * count, count=count))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert "record 1 at byte 61: has offset delta 0" in answer.error_message


def settings_of(gateway: Gateway, name: str) -> TopicSettings:
    return gateway.broker.topics.settings(gateway.broker.find_topic(name))


def test_an_inspection_says_for_which_settings_it_was_made(gateway: Gateway, client: Client) -> None:
    settings = settings_of(gateway, "t")
    found = inspect(batch(b"a"), settings)
    assert found.settings is settings
    assert (found.flaw, found.keyless, found.numbered) == ("", (), None)
    assert found.times == (START_MS, START_MS)
    assert "0 bytes" in inspect(b"", settings).flaw
