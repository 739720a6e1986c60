"""The benchmark's own reading of Fetch answers agrees with the codec's."""

from __future__ import annotations

import struct

import pytest

from benchmarks.clients.fetch_wire import (
    FETCH,
    FETCH_VERSION,
    HELLO,
    AnswerReader,
    FetchFrame,
    RefusedFetch,
)
from protocol.headers import decode_request_header
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.wire import decode, encode


def answer(topic: str, records: bytes | None, **fields: object) -> bytearray:
    data = PartitionData(partition_index=0, high_watermark=99, records=records, **fields)  # type: ignore[arg-type]
    response = FetchResponse(responses=[FetchableTopicResponse(topic=topic, partitions=[data])])
    encoded = b"".join(encode(response, FETCH_VERSION))  # type: ignore[arg-type]
    body = struct.pack(">i", 1) + b"\0" + encoded
    return bytearray(struct.pack(">i", len(body)) + body)


def batch(base_offset: int, timestamps: list[int], value_bytes: int = 3) -> bytes:
    records = [
        Record(base_offset + at, timestamp, None, b"x" * value_bytes)
        for at, timestamp in enumerate(timestamps)
    ]
    return bytes(encode_batch(records, base_offset=base_offset))


def stretched(base_offset: int, last_offset: int) -> bytes:
    """Return a batch without records, such as moves a client past what is left out."""
    data = bytearray(61)
    struct.pack_into(">qi", data, 0, base_offset, 61 - 12)
    struct.pack_into(">i", data, 23, last_offset - base_offset)
    struct.pack_into(">qq", data, 27, 777, 777)
    return bytes(data)


@pytest.mark.parametrize("topic", ["v", "v999", "x" * 126])
def test_the_request_asks_for_the_offset_given(topic: str) -> None:
    frame = FetchFrame(topic)
    for offset in (0, 1, 2**62):
        data = memoryview(bytes(frame.at(offset)))
        assert struct.unpack_from(">i", data)[0] == len(data) - 4
        header = decode_request_header(data[4:])
        assert (header.api_key, header.api_version) == (FETCH, FETCH_VERSION)
        request, _ = decode(FetchRequest, FETCH_VERSION, data[4:], header.size_bytes)
        assert request.topics[0].topic == topic
        assert request.topics[0].partitions[0].fetch_offset == offset


def test_the_greeting_names_the_software() -> None:
    assert struct.unpack_from(">i", HELLO)[0] == len(HELLO) - 4
    assert b"bench" in HELLO


@pytest.mark.parametrize("topic", ["v", "x" * 126])
@pytest.mark.parametrize("value_bytes", [3, 300, 40_000])
def test_the_next_offset_is_behind_the_last_batch(topic: str, value_bytes: int) -> None:
    records = batch(10, [500, 501], value_bytes) + batch(40, [502], value_bytes)
    read = AnswerReader(topic).read(answer(topic, records), 0)
    assert (read.next_offset, read.oldest_ms) == (41, 500)


def test_aborted_transactions_are_passed_over() -> None:
    for count in (0, 1, 200):
        aborted = [AbortedTransaction(producer_id=at, first_offset=at) for at in range(count)]
        data = answer("v", batch(7, [1]), aborted_transactions=aborted)
        assert AnswerReader("v").read(data, 0).next_offset == 8


def test_a_batch_without_records_moves_on_and_has_no_age() -> None:
    read = AnswerReader("v").read(answer("v", stretched(5, 99)), 0)
    assert (read.next_offset, read.oldest_ms) == (100, -1)
    read = AnswerReader("v").read(answer("v", stretched(5, 99) + batch(100, [6])), 0)
    assert (read.next_offset, read.oldest_ms) == (101, 6)


@pytest.mark.parametrize("records", [None, b""])
def test_an_answer_without_batches_moves_nobody(records: bytes | None) -> None:
    read = AnswerReader("v").read(answer("v", records), 0)
    assert (read.next_offset, read.oldest_ms) == (-1, -1)


def test_an_answer_is_read_where_it_begins() -> None:
    data = bytearray(b"\xff" * 13) + answer("v", batch(3, [4]))
    assert AnswerReader("v").read(data, 13).next_offset == 4


def test_an_error_is_told() -> None:
    with pytest.raises(RefusedFetch, match="error code 3"):
        AnswerReader("v").read(answer("v", None, error_code=3), 0)
