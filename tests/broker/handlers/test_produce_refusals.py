"""Produce: refusals and their codes; nothing of a refused batch is stored."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from broker.loop.slices import run_here
from broker.storage.inspection import INSPECTED_RECORDS_MAX
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import renew_crc
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, offset_of, outcomes, producing, read, records_of, send
from tests.broker.kit import fetch as fetch_one

TOPICS = {"t": 1}


HOUR_MS = 3_600_000


def changed(position: int, form: str, value: int, *, new_crc: bool = True) -> bytearray:
    """Return a good batch of two records with one field of its header replaced."""
    data = batch(b"a", b"b")
    struct.pack_into(form, data, position, value)
    if new_crc:
        renew_crc(data)
    return data


REFUSED = [
    ("wrong crc", changed(17, ">I", 1, new_crc=False), ErrorCode.CORRUPT_MESSAGE),
    ("magic 3", changed(16, ">b", 3), ErrorCode.CORRUPT_MESSAGE),
    ("magic 1", changed(16, ">b", 1), ErrorCode.INVALID_RECORD),
    ("magic 0", changed(16, ">b", 0), ErrorCode.INVALID_RECORD),
    ("base offset", changed(0, ">q", 5), ErrorCode.INVALID_RECORD),
    ("record count", changed(57, ">i", 3), ErrorCode.INVALID_RECORD),
    ("last offset delta", changed(23, ">i", 4), ErrorCode.INVALID_RECORD),
    ("no record", changed(57, ">i", 0), ErrorCode.INVALID_RECORD),
    ("control batch", changed(21, ">h", 0x20), ErrorCode.INVALID_RECORD),
    ("two batches", batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD),
    ("null records", None, ErrorCode.INVALID_RECORD),
    ("no bytes", b"", ErrorCode.INVALID_RECORD),
    ("unknown codec", changed(21, ">h", 5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    (
        "transactional without id",
        changed(21, ">h", 0x10),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    ("sequence -1 of a producer", batch(b"a", producer=(5, 0, -1)), ErrorCode.INVALID_RECORD),
    ("too large", batch(bytes(1_048_588)), ErrorCode.MESSAGE_TOO_LARGE),
]


@pytest.mark.parametrize(
    ("data", "code"), [case[1:] for case in REFUSED], ids=[case[0].replace(" ", "-") for case in REFUSED]
)
def test_a_bad_batch_is_refused_and_leaves_no_trace(
    client: Client, data: bytearray | None, code: ErrorCode
) -> None:
    outcome = send(client, "t", data)
    assert (outcome.error_code, outcome.base_offset) == (code, -1)
    assert outcome.error_message
    assert offset_of(client, "t", -1).offset == 0


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acks_other_than_three_values_are_refused_for_each_partition(client: Client, acks: int) -> None:
    create(client, "u", partitions=2)
    answer = client.call(producing(("u", 0, batch(b"a")), ("u", 1, batch(b"a")), acks=acks), 9)
    assert [outcome.error_code for outcome in outcomes(answer)] == [ErrorCode.INVALID_REQUIRED_ACKS] * 2


@pytest.mark.parametrize(("version", "code"), [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, 0)])
def test_zstd_needs_version_7(client: Client, version: int, code: int) -> None:
    data = batch(b"a" * 50, codec=Codec.ZSTD)
    assert send(client, "t", data, version=version).error_code == code


@pytest.mark.parametrize("index", [-1, 1, 2**31 - 1])
def test_partitions_out_of_range_are_unknown(client: Client, index: int) -> None:
    assert send(client, "t", batch(b"a"), index).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_topics_own_size_limit_holds(client: Client) -> None:
    create(client, "small", max_message_bytes="100")
    assert send(client, "small", batch(bytes(20))).error_code == 0
    assert send(client, "small", batch(bytes(80))).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_timestamps_out_of_range_name_the_records(client: Client) -> None:
    create(client, "timed", message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    for timestamp_ms, code in (
        (START_MS - 1_000, 0),
        (START_MS + 1_000, 0),
        (START_MS - 1_001, ErrorCode.INVALID_TIMESTAMP),
        (START_MS + 1_001, ErrorCode.INVALID_TIMESTAMP),
    ):
        outcome = send(client, "timed", batch(b"a", b"b", timestamp_ms=timestamp_ms))
        assert outcome.error_code == code
        named = [error.batch_index for error in outcome.record_errors]
        assert named == ([0, 1] if code else [])
        assert all(str(timestamp_ms) in error.batch_index_error_message for error in outcome.record_errors)


def test_by_default_an_hour_ahead_is_too_far(client: Client) -> None:
    assert send(client, "t", batch(b"a", timestamp_ms=START_MS + HOUR_MS)).error_code == 0
    outcome = send(client, "t", batch(b"a", timestamp_ms=START_MS + HOUR_MS + 1))
    assert outcome.error_code == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("timestamp_ms", [0, -1, 1])
def test_old_and_missing_timestamps_are_accepted_by_default(client: Client, timestamp_ms: int) -> None:
    assert send(client, "t", batch(b"a", timestamp_ms=timestamp_ms)).error_code == 0


def test_a_wrong_max_timestamp_is_corrected(client: Client) -> None:
    data = batch(b"a", b"b")
    struct.pack_into(">q", data, 35, -1)
    renew_crc(data)
    assert send(client, "t", data).error_code == 0
    assert offset_of(client, "t", -3).timestamp == START_MS


def test_the_append_time_bit_of_a_producer_is_cleared_on_a_create_time_topic(client: Client) -> None:
    data = batch(b"a", timestamp_ms=START_MS)
    struct.pack_into(">h", data, 21, 0x08)
    renew_crc(data)
    assert send(client, "t", data).error_code == 0
    (stored,) = records_of(fetch_one(client, "t").records)
    assert stored.timestamp_ms == START_MS


def test_a_compacted_topic_takes_records_with_keys_only(client: Client) -> None:
    create(client, "c", cleanup_policy="compact")
    assert send(client, "c", batch(b"a")).error_code == ErrorCode.INVALID_RECORD
    assert send(client, "c", batch(b"a", key=b"k")).error_code == 0
    assert read(client, "c") == [b"a"]


def test_a_compacted_topic_refuses_records_that_cannot_be_read(client: Client) -> None:
    create(client, "c", cleanup_policy="compact")
    data = batch(b"a", key=b"k", codec=Codec.GZIP)
    data[70:80] = bytes(10)
    renew_crc(data)
    assert send(client, "c", data).error_code in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
    assert offset_of(client, "c", -1).offset == 0


def large_batch(keys: list[bytes | None]) -> bytearray:
    return bytearray(encode_batch([Record(i, START_MS, key, b"%d" % i) for i, key in enumerate(keys)]))


def test_large_batches_for_a_compacted_topic_are_opened_in_a_thread_and_stay_in_order(
    gateway: Gateway, client: Client
) -> None:
    create(client, "c", cleanup_policy="compact")
    tasks: list[Callable[[], None]] = []

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        tasks.append(lambda: run_here(work, done))

    gateway.broker.scheduler.offload = offload
    keys: list[bytes | None] = [b"k%d" % number for number in range(INSPECTED_RECORDS_MAX + 1)]
    first, second = large_batch(keys), batch(b"after", key=b"k")
    for data in (first, second):
        client.send(producing(("c", 0, data)), 9)
    gateway.settle()
    assert (len(tasks), client.answers()) == (1, [])
    while tasks:
        tasks.pop(0)()
        gateway.settle()
    answers = client.answers()
    gateway.settle()
    answers += client.answers()
    offsets = [outcomes(answer)[0].base_offset for answer in answers]
    assert offsets == [0, len(keys)]
    assert read(client, "c", len(keys)) == [b"after"]


def test_each_record_without_a_key_is_named_in_a_large_batch_too(client: Client) -> None:
    create(client, "c", cleanup_policy="compact")
    keys: list[bytes | None] = [b"k"] * (INSPECTED_RECORDS_MAX + 10)
    keys[3] = keys[-1] = None
    answer = send(client, "c", large_batch(keys))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [3, INSPECTED_RECORDS_MAX + 9]
    damaged = large_batch([b"k"] * (INSPECTED_RECORDS_MAX + 10))
    damaged[200] ^= 1
    assert send(client, "c", damaged).error_code == ErrorCode.CORRUPT_MESSAGE
    assert offset_of(client, "c", -1).offset == 0
