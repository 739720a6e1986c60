"""Frames and headers byte by byte: order, splitting, hostile lengths, unknown APIs and versions."""

from __future__ import annotations

import os
import struct

import pytest

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.confluent import produce as deliver
from compat_tests.conftest import MakeTopic
from compat_tests.requests import fetch_request, fetched_batches, produce, produce_request
from compat_tests.wire import RawClient, raw_client
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest

API_VERSIONS, METADATA, PRODUCE = 18, 3, 0
SOFTWARE = {"client_software_name": "raw", "client_software_version": "1.0"}


def header(api_key: int, version: int, correlation_id: int = 7, client_id: bytes | None = b"raw") -> bytes:
    """Return a request header v1."""
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return struct.pack(">hhi", api_key, version, correlation_id) + name


def ranges(raw: RawClient) -> dict[int, tuple[int, int]]:
    """Return the version table by API key."""
    answer = raw.call(ApiVersionsRequest(**SOFTWARE), 3)
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def still_serves(broker: Broker) -> bool:
    """Return whether the broker answers on a new connection."""
    with raw_client(broker) as raw:
        return bool(raw.call(MetadataRequest(topics=[]), 9).brokers)


def test_answers_leave_in_the_order_of_their_requests(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for i in range(20):
        raw.send(produce_request(topic, Batch()), 9) if i % 4 == 0 else raw.send(
            MetadataRequest(topics=None), 9
        )
        if i % 5 == 0:
            raw.send(fetch_request(topic, 10_000, max_wait_ms=50), 11)
        raw.send(ApiVersionsRequest(**SOFTWARE), i % 5)
    for _ in range(44):
        raw.receive()


def test_a_waiting_fetch_holds_back_the_answers_behind_it(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    raw.send(fetch_request(topic, 0, max_wait_ms=300), 11)
    raw.send(ApiVersionsRequest(), 0)
    assert raw.receive().responses[0].partitions[0].error_code == 0
    assert raw.receive().api_keys


def test_requests_arriving_byte_by_byte_and_many_at_once_are_the_same(raw: RawClient) -> None:
    frame = header(API_VERSIONS, 0)
    framed = struct.pack(">i", len(frame)) + frame
    for position in range(len(framed)):
        raw.socket.sendall(framed[position : position + 1])
    whole = raw.receive_frame()
    raw.socket.sendall(framed * 200)
    assert {raw.receive_frame() for _ in range(200)} == {whole}


@pytest.mark.parametrize("client_id", [None, b"", b"n" * 300, "ümlaut".encode()])
def test_any_client_id_is_taken(raw: RawClient, client_id: bytes | None) -> None:
    raw.send_frame(header(API_VERSIONS, 0, client_id=client_id))
    assert raw.receive_frame()[:4] == struct.pack(">i", 7)


@pytest.mark.parametrize("version", range(5))
def test_api_versions_answers_every_version_with_the_same_table(raw: RawClient, version: int) -> None:
    answer = raw.call(ApiVersionsRequest(**SOFTWARE if version >= 3 else {}), version)
    assert answer.error_code == 0
    table = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert len(table) == len(answer.api_keys)
    assert all(low <= high for low, high in table.values())
    assert table[PRODUCE][0] == 0
    assert {0, 1, 2, 3, 10, 18, 19, 20, 22, 23, 32, 37, 60} <= set(table)


@pytest.mark.parametrize("version", [-1, 5, 99, 32_767])
def test_an_api_versions_from_the_future_is_told_the_table_in_v0(raw: RawClient, version: int) -> None:
    raw.send_frame(header(API_VERSIONS, version) + b"\x00" + b"\x05name\x041.0\x00")
    frame = raw.receive_frame()
    correlation_id, error_code, count = struct.unpack_from(">ihi", frame)
    assert (correlation_id, error_code) == (7, 35)
    rows = [struct.unpack_from(">hhh", frame, 10 + 6 * i) for i in range(count)]
    assert len(frame) == 10 + 6 * count
    assert [high for key, _, high in rows if key == API_VERSIONS] == [4]
    assert raw.call(ApiVersionsRequest(**SOFTWARE), 4).error_code == 0


@pytest.mark.parametrize("name", ["", "under_score", "-dash", "dash-", "a b"])
def test_a_software_name_against_the_rules_is_an_invalid_request(raw: RawClient, name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    assert raw.call(request, 3).error_code == 42
    assert raw.call(ApiVersionsRequest(), 0).error_code == 0


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (METADATA, 99),
        (METADATA, -1),
        (PRODUCE, 0),
        (PRODUCE, 2),
        (1, 3),
        (2, 0),
        (19, 1),
        (20, 0),
        (999, 0),
        (-1, 0),
    ],
)
def test_an_unknown_api_or_version_ends_the_connection(
    broker: Broker, raw: RawClient, api_key: int, version: int
) -> None:
    raw.send_frame(header(api_key, version) + b"\x00" * 20)
    assert raw.is_closed_by_peer()
    assert still_serves(broker)


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, 104_857_601])
def test_a_length_that_cannot_be_ends_the_connection(broker: Broker, raw: RawClient, length: int) -> None:
    raw.socket.sendall(struct.pack(">i", length) + b"\x00" * 16)
    assert raw.is_closed_by_peer()
    assert still_serves(broker)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00",
        b"\x00\x12\x00\x00",
        header(METADATA, 1)[:-1],
        header(METADATA, 1) + struct.pack(">i", 2**31 - 1),
        header(METADATA, 1) + struct.pack(">ih", 1, 30_000) + b"short",
        header(METADATA, 9) + b"\x00" + b"\xff\xff\xff\xff\x0f",
        header(METADATA, 9) + b"\x00" + b"\xff" * 10,
        header(PRODUCE, 9)
        + b"\x00\x00\x00\x01\x00\x00\x00\x01\x02\x05name\x02\x00\x00\x00\x00\xff\xff\xff\x7f",
    ],
)
def test_a_body_that_lies_about_its_lengths_ends_the_connection(
    broker: Broker, raw: RawClient, frame: bytes
) -> None:
    raw.send_frame(frame)
    assert raw.is_closed_by_peer()
    assert still_serves(broker)


def test_other_protocols_and_noise_end_the_connection(broker: Broker) -> None:
    for noise in (
        b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        os.urandom(4_096),
    ):
        with raw_client(broker) as raw:
            raw.socket.sendall(noise)
            raw.socket.shutdown(1)
            assert raw.is_closed_by_peer()
    assert still_serves(broker)


def test_connections_cut_in_the_middle_of_a_frame_harm_nobody(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for cut in (1, 3, 4, 5, 20, 60):
        with raw_client(broker) as raw:
            raw.socket.sendall((struct.pack(">i", 100) + header(METADATA, 9) + b"\x00" * 90)[:cut])
    assert deliver(make_producer(broker), topic, [b"v"]) == [0]


def test_unknown_tagged_fields_are_passed_over(raw: RawClient) -> None:
    tags = b"\x02\x63\x03abc\x64\x00"
    raw.send_frame(header(METADATA, 12) + tags + b"\x01" + b"\x01\x00" + tags)
    frame = raw.receive_frame()
    assert frame[:4] == struct.pack(">i", 7)
    assert len(frame) > 20


def test_acks_0_is_not_answered_and_the_next_request_is(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for _ in range(3):
        raw.send(produce_request(topic, Batch(), acks=0), 9, answered=False)
    assert raw.call(ApiVersionsRequest(), 0).error_code == 0
    # What no answer vouches for may become readable a moment later; this answer vouches for all before it.
    assert produce(raw, topic, Batch()).base_offset == 3
    assert [batch.base_offset for batch in fetched_batches(raw, topic)] == [0, 1, 2, 3]


def test_the_table_is_the_one_clients_need(raw: RawClient) -> None:
    table = ranges(raw)
    needed = {0: (0, 13), 1: (4, 17), 2: (1, 11), 3: (0, 13), 10: (0, 6), 18: (0, 4), 19: (2, 7), 20: (1, 6),
              22: (0, 5), 23: (2, 4), 32: (1, 4), 37: (0, 3), 60: (0, 2)}  # fmt: skip
    for key, (low, high) in needed.items():
        assert table[key][0] <= low, (key, table[key])
        assert table[key][1] >= high, (key, table[key])
