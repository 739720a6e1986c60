"""Bytes that no client sends: whatever comes in, only answers and closed connections come out.

A failure names its seed; KAWAL_HOSTILE_SEEDS raises the number of seeds.
"""

from __future__ import annotations

import os
import struct
from random import Random
from typing import Any

import pytest

from broker.handlers import APIS, Api
from broker.loop.stats import Cause
from protocol.compression import Codec
from protocol.layout import Layout, layout
from protocol.messages import request_type
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchRequest
from protocol.messages.produce import ProduceRequest
from protocol.records import renew_crc
from tests.broker.gateway import Client, Gateway, request_frame, take_outgoing
from tests.broker.kit import batch, create, send
from tests.strategies import random_message

SEEDS = int(os.environ.get("KAWAL_HOSTILE_SEEDS", "6"))
FRAMES_PER_CONNECTION = 30
LONGEST = "x" * 32_767
VERSIONS = [(api, version) for api in APIS.values() for version in range(api.minimum, api.maximum + 1)]


def gateway_with_topics() -> Gateway:
    gateway = Gateway(kawal_max_partitions=2_000, kawal_connection_in_flight_bytes=1 << 20)
    client = gateway.client()
    create(client, "orders", 3)
    send(client, "orders", batch(b"a", b"b"))
    client.close()
    return gateway


def drain(gateway: Gateway, client: Client) -> None:
    """Run all work that the client's bytes have started, and discard the answers."""
    for _ in range(20):
        gateway.settle()
        take_outgoing(client.connection)
        if client.connection.stalled and not client.connection.saturated:
            gateway.broker.intake.resume(client.connection, gateway.now_ms)
        if not gateway.broker.has_disk_work and not client.connection.outgoing:
            return


def assert_no_bug(client: Client, what: object) -> None:
    connection = client.connection
    assert connection.close_cause is not Cause.BUG, (what, connection.close_reason)
    assert connection.reader.held_bytes <= 4 << 20, what


def assert_nothing_is_left(gateway: Gateway, client: Client) -> None:
    client.close()
    gateway.advance(1_000)
    broker = gateway.broker
    assert (broker.memory.requests_bytes, broker.memory.answers_bytes) == (0, 0)
    assert len(broker.waiters) == 0
    assert broker.connections == {}
    assert not broker.memory.unfinished


def mutated(frame: bytes, chance: Random) -> bytes:
    """Return the request with its length right and something in it wrong."""
    body = bytearray(frame[4:])
    for _ in range(chance.choice((1, 1, 2, 5))):
        match chance.randrange(5):
            case 0:
                body[chance.randrange(len(body))] = chance.randrange(256)
            case 1:
                at = chance.randrange(len(body))
                del body[at : at + chance.randint(1, 8)]
            case 2:
                at = chance.randrange(len(body) + 1)
                body[at:at] = chance.randbytes(chance.randint(1, 8))
            case 3:
                at = chance.randrange(len(body))
                body[at : at + 4] = chance.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0"))
            case _:
                del body[chance.randrange(len(body) + 1) :]
        if not body:
            body = bytearray(b"\0")
    return struct.pack(">i", len(body)) + bytes(body)


def odd_batch(chance: Random) -> bytes:
    """Return a batch that a producer might send, or nearly so; its CRC is right more often than not."""
    producer = (chance.randrange(-1, 3), chance.randrange(2), chance.randrange(4))
    data = batch(b"value", b"other", codec=chance.choice(list(Codec)), producer=producer)
    if chance.random() < 0.6:
        data[chance.randrange(12, len(data))] = chance.randrange(256)
        if chance.random() < 0.7:
            renew_crc(data)
    size = chance.choice((len(data), len(data), chance.randrange(len(data))))
    return bytes(data[:size])


def request_of(api: Api, version: int, chance: Random) -> bytes:
    message: Any = random_message(request_type(api.key), version, chance)
    if isinstance(message, FetchRequest):
        message.max_wait_ms = chance.choice((0, 500))
    if isinstance(message, ProduceRequest):
        for topic in message.topic_data:
            topic.name = chance.choice((topic.name, "orders"))
            for data in topic.partition_data:
                data.index = chance.randrange(4)
                data.records = odd_batch(chance)
    return request_frame(message, version, chance.randrange(2**31))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_requests_made_up_from_their_declarations_meet_no_fault_of_ours(seed: int) -> None:
    chance = Random(seed)
    gateway = gateway_with_topics()
    for api, version in VERSIONS:
        client = gateway.client()
        for _ in range(2):
            client.send_bytes(request_of(api, version, chance))
        drain(gateway, client)
        assert_no_bug(client, (seed, api.name, version))
        assert_nothing_is_left(gateway, client)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_requests_with_something_wrong_in_them_meet_no_fault_of_ours(seed: int) -> None:
    chance = Random(seed)
    gateway = gateway_with_topics()
    for _ in range(120):
        client = gateway.client()
        api, version = chance.choice(VERSIONS)
        for _ in range(FRAMES_PER_CONNECTION):
            if client.connection.close_reason is not None:
                break
            client.send_bytes(mutated(request_of(api, version, chance), chance))
        drain(gateway, client)
        assert_no_bug(client, (seed, api.name, version))
        assert_nothing_is_left(gateway, client)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_noise_ends_its_connection(seed: int) -> None:
    chance = Random(seed)
    gateway = gateway_with_topics()
    for _ in range(200):
        client = gateway.client()
        size = chance.choice((1, 8, 100, 70_000))
        noise = chance.randbytes(size)
        if chance.random() < 0.7:
            noise = struct.pack(">i", len(noise)) + noise
        client.send_bytes(noise)
        drain(gateway, client)
        assert_no_bug(client, (seed, noise[:20]))
        assert_nothing_is_left(gateway, client)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_bytes_in_any_portions_give_the_same_answers(seed: int) -> None:
    chance = Random(seed)
    requests = b"".join(request_of(APIS[key], 0, chance) for key in (10, 18, 60) for _ in range(3))
    whole, split = Gateway().client(), Gateway().client()
    whole.send_bytes(requests)
    position = 0
    while position < len(requests):
        size = chance.choice((1, 2, 3, 7, 100))
        split.send_bytes(requests[position : position + size])
        position += size
    assert whole.connection.close_reason == split.connection.close_reason
    assert len(take_outgoing(whole.connection)) == len(take_outgoing(split.connection))


def with_longest_strings(message: Any, found: Layout) -> Any:
    """Fill the strings of a message, wherever they are, with the longest that the protocol has."""
    for field in found.plain:
        value = getattr(message, field.name)
        if isinstance(value, str):
            setattr(message, field.name, LONGEST)
        elif isinstance(value, list) and field.layout is not None:
            for item in value:
                with_longest_strings(item, field.layout)
        elif isinstance(value, list):
            setattr(message, field.name, [LONGEST if isinstance(item, str) else item for item in value])
    return message


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_an_answer_to_the_longest_strings_can_be_written(api: Api) -> None:
    gateway = gateway_with_topics()
    for version in range(api.minimum, api.maximum + 1):
        for seed in range(SEEDS):
            made = random_message(request_type(api.key), version, Random(seed), tagged=0)
            message = with_longest_strings(made, layout(type(made), version))
            client = gateway.client()
            client.send_bytes(request_frame(message, version, 1))
            drain(gateway, client)
            assert_no_bug(client, (seed, api.name, version))
            client.close()


def test_a_frame_that_never_ends_holds_no_more_than_came_of_it() -> None:
    gateway = gateway_with_topics()
    clients = [gateway.client() for _ in range(50)]
    for client in clients:
        client.send_bytes(struct.pack(">i", 90 << 20) + bytes(100))
        client.connection.reader.release_buffer()
    assert sum(client.connection.reader.held_bytes for client in clients) <= len(clients) * (64 << 10)
    for client in clients:
        client.close()
    assert gateway.broker.memory.requests_bytes == 0


def test_thousands_of_pipelined_calls_are_answered_in_order() -> None:
    gateway = gateway_with_topics()
    client = gateway.client()
    for _ in range(3_000):
        client.send(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    seen = 0
    while answers := client.answers():
        seen += len(answers)
    assert seen == 3_000
