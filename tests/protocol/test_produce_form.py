"""The parts of a Produce request are found without decoding it, or it is left to the decoder."""

from __future__ import annotations

import struct

import pytest

from protocol.headers import encode_request_header
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.produce_form import batch_in, maybe_form, old_batch_in
from protocol.wire import encode

BATCH = bytes(range(61, 61 + 80))


def request(version: int, *, client_id: str | None = "c", name: str = "t", index: int = 0) -> bytes:
    """Return a request without its length."""
    data = TopicProduceData(name=name, partition_data=[PartitionProduceData(index=index, records=BATCH)])
    body = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    header = encode_request_header(api_key=0, api_version=version, correlation_id=7, client_id=client_id)
    return header + b"".join(encode(body, version))  # type: ignore[arg-type]  # no file ranges


@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "x" * 256])
@pytest.mark.parametrize("version", range(3, 14))
def test_the_parts_of_a_request_are_found(version: int, client_id: str | None) -> None:
    data = request(version, client_id=client_id)
    form = maybe_form(memoryview(data))
    assert form is not None
    kind, correlation_id, client, head = form.parts(memoryview(data))
    assert (kind, correlation_id, form.header.client_id) == (data[:4], 7, client_id)
    assert (form.kind, form.client) == (kind, client)
    assert kind + data[4:8] + client + head == data[: form.end]
    found = form.batch_in(memoryview(data), form.end)
    assert found is not None
    assert bytes(found) == BATCH
    assert form.knows_zstd == (version >= 7)


@pytest.mark.parametrize("version", [3, 7, 9, 12, 13])
def test_a_request_that_is_cut_anywhere_has_no_form_or_no_batch(version: int) -> None:
    data = request(version)
    for size in range(len(data)):
        form = maybe_form(memoryview(data)[:size])
        assert form is None or form.batch_in(memoryview(data)[:size], form.end) is None


@pytest.mark.parametrize("version", [7, 9])
@pytest.mark.parametrize("length", [-2, 250, 1_000, 32_767])
def test_a_client_id_of_an_impossible_length_is_left_to_the_decoder(version: int, length: int) -> None:
    data = request(version)
    assert maybe_form(memoryview(data[:8] + struct.pack(">h", length) + data[10:])) is None


def test_a_long_client_id_is_left_to_the_decoder_as_it_would_be_kept_with_the_connection() -> None:
    assert maybe_form(memoryview(request(9, client_id="x" * 257))) is None


def test_tags_in_the_header_are_left_to_the_decoder() -> None:
    data = bytearray(request(9))
    assert data[11] == 0, "no tags"
    data[11] = 1
    assert maybe_form(memoryview(data)) is None


def compact(size: int) -> bytes:
    encoded, size = bytearray(), size + 1
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*encoded, size])


@pytest.mark.parametrize("size", [61, 62, 126, 127, 128, 16_382, 16_383, 16_384, (1 << 21) - 2])
def test_a_batch_is_found_by_a_compact_length(size: int) -> None:
    data = memoryview(b"x" + compact(size) + bytes(size) + b"\0\0\0")
    found = batch_in(data, 1)
    assert found is not None
    assert len(found) == size
    assert batch_in(data[:-1], 1) is None
    assert batch_in(memoryview(bytes(data) + b"\0"), 1) is None


@pytest.mark.parametrize("size", [61, 62, 255, 256, 70_000])
def test_a_batch_is_found_by_a_length_of_four_bytes(size: int) -> None:
    data = memoryview(b"x" + struct.pack(">i", size) + bytes(size))
    found = old_batch_in(data, 1)
    assert found is not None
    assert len(found) == size
    assert old_batch_in(data[:-1], 1) is None
    assert old_batch_in(memoryview(bytes(data) + b"\0"), 1) is None


@pytest.mark.parametrize("size", [-1, 0, 60, -(2**31)])
def test_what_is_too_short_for_a_batch_is_left_to_the_decoder(size: int) -> None:
    data = struct.pack(">i", size) + bytes(max(size, 0))
    assert old_batch_in(memoryview(data), 0) is None


@pytest.mark.parametrize(
    "data", [b"\0" * 80, compact(60) + bytes(63), compact(70) + bytes(70) + b"\0\1\0", b"\xff" * 80]
)
def test_what_is_no_single_batch_is_left_to_the_decoder(data: bytes) -> None:
    assert batch_in(memoryview(data), 0) is None
