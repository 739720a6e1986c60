"""Frames for the fuzzer: requests made up from their declarations, valid, mutated or cut; and garbage."""

from __future__ import annotations

import socket
import struct
from random import Random
from typing import Any, cast

from broker.handlers import APIS
from compat_tests.batches import Batch
from compat_tests.broker import HOST
from protocol.api_keys import ApiKey
from protocol.headers import encode_request_header
from protocol.messages import request_type
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchRequest
from protocol.messages.produce import ProduceRequest
from protocol.schema import declaration
from protocol.wire import encode
from tests.strategies import random_message

TOPIC = "fuzzed"

LASTING = frozenset({ApiKey.CREATE_TOPICS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})
"""APIs that are not sent unchanged: what they leave behind would be measured afterwards."""

VERSIONS = [
    (api.key, version)
    for api in APIS.values()
    if api.key not in LASTING
    for version in range(api.minimum, api.maximum + 1)
]


def request_frame(
    request: Any, version: int, correlation_id: int = 1, *, client_id: str = "overload"
) -> bytes:
    """Return a request with its length before it."""
    api = declaration(type(request)).api
    assert api is not None
    header = encode_request_header(
        api_key=api, api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    frame = header + b"".join(cast("list[bytes]", encode(request, version)))
    return struct.pack(">i", len(frame)) + frame


def fuzzing_topic(port: int, _: Batch) -> None:
    """Create the topic that fuzzed produces go to."""
    topic = CreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1, assignments=[], configs=[])
    with socket.create_connection((HOST, port), timeout=10) as client:
        client.sendall(request_frame(CreateTopicsRequest(topics=[topic]), 5))
        assert client.recv(4)


def fuzzed(chance: Random) -> bytes:
    """Return what a broken or hostile client might send."""
    kind = chance.random()
    if kind < 0.1:
        return chance.randbytes(chance.choice((1, 4, 20, 1_000)))
    if kind < 0.15:
        return struct.pack(">i", chance.choice((-1, 0, 2**31 - 1, 100 << 20, (100 << 20) + 1, 1)))
    frame = _made_up(chance)
    if kind < 0.3:
        return frame[: chance.randrange(len(frame))]
    return frame if kind < 0.5 else mutated(frame, chance)


def _made_up(chance: Random) -> bytes:
    key, version = chance.choice(VERSIONS)
    message = random_message(request_type(key), version, chance)
    if isinstance(message, FetchRequest):
        message.max_wait_ms = chance.choice((0, 500))
    if isinstance(message, ProduceRequest):
        for topic in message.topic_data:
            topic.name = TOPIC
            for data in topic.partition_data:
                data.index = chance.randrange(3)
                data.records = Batch(values=[chance.randbytes(50)]).encode()
    return request_frame(message, version, chance.randrange(2**31))


def mutated(frame: bytes, chance: Random) -> bytes:
    """Return the frame with its length right and something in it wrong."""
    body = bytearray(frame[4:])
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(body))
        match chance.randrange(4):
            case 0:
                body[at] = chance.randrange(256)
            case 1:
                del body[at : at + chance.randint(1, 8)]
            case 2:
                body[at:at] = chance.randbytes(chance.randint(1, 8))
            case _:
                body[at : at + 4] = chance.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0"))
        body = body or bytearray(b"\0")
    return struct.pack(">i", len(body)) + bytes(body)
