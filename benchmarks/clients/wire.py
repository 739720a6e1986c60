"""The few Kafka frames a raw client needs, written and read with struct alone.

A raw client measures the server: it starts in no time, sends exactly the bytes intended and adds only
microseconds. Versions without tagged fields are used: ApiVersions 0, CreateTopics 4, Produce 7.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable, Sequence

import crc32c

PRODUCE, API_VERSIONS, CREATE_TOPICS = 0, 18, 19
PRODUCE_VERSION, CREATE_TOPICS_VERSION = 7, 4

RETRIABLE = {3, 5, 6}
"""UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER: a new topic is not ready yet."""
TOPIC_EXISTS = 36

CREATE_TIMEOUT_MS = 120_000
PRODUCE_TIMEOUT_MS = 30_000


class WireError(Exception):
    """The broker answered with an error code, or closed the connection."""


class BrokerError(WireError):
    """An answer with a Kafka error code."""

    def __init__(self, what: str, code: int) -> None:
        """Keep the code: some are worth another try."""
        super().__init__(f"{what}: error code {code}")
        self.code = code


def text(value: str | None) -> bytes:
    """Encode a nullable string: int16 length, UTF-8."""
    if value is None:
        return b"\xff\xff"
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def request(api_key: int, version: int, body: bytes, *, correlation_id: int = 0) -> bytes:
    """Return a whole frame with request header v1."""
    header = struct.pack(">hhi", api_key, version, correlation_id) + text("bench")
    return struct.pack(">i", len(header) + len(body)) + header + body


def varint(value: int) -> bytes:
    """Encode a zigzag varint."""
    value = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def batch(values: Sequence[bytes]) -> bytes:
    """Return one record batch v2 with null keys, no headers, no compression, no producer id."""
    now_ms = time.time_ns() // 1_000_000
    records = b"".join(_record(place, value) for place, value in enumerate(values))
    # attributes, last offset delta, first and last timestamp, producer id, epoch, sequence, record count
    covered = struct.pack(">hiqqqhii", 0, len(values) - 1, now_ms, now_ms, -1, -1, -1, len(values)) + records
    # leader epoch, magic, CRC-32C of what follows
    body = struct.pack(">ibI", -1, 2, crc32c.crc32c(covered)) + covered
    return struct.pack(">qi", 0, len(body)) + body


def _record(offset_delta: int, value: bytes) -> bytes:
    # attributes, timestamp delta, offset delta, null key, value, no headers
    inner = b"\x00\x00" + varint(offset_delta) + varint(-1) + varint(len(value)) + value + b"\x00"
    return varint(len(inner)) + inner


def produce_request(topic: str, partitions: Iterable[int], records: bytes, *, acks: int) -> bytes:
    """Return a Produce frame with the same batch for each of `partitions`."""
    parts = [struct.pack(">ii", partition, len(records)) + records for partition in partitions]
    head = text(None) + struct.pack(">hii", acks, PRODUCE_TIMEOUT_MS, 1) + text(topic)
    return request(PRODUCE, PRODUCE_VERSION, head + struct.pack(">i", len(parts)) + b"".join(parts))


def produce_error(answer: bytes) -> int:
    """Return the first error code that is not 0 in a Produce answer (correlation id first), else 0."""
    _correlation_id, topics = struct.unpack_from(">ii", answer)
    position = 8
    for _ in range(topics):
        (name_length,) = struct.unpack_from(">h", answer, position)
        (count,) = struct.unpack_from(">i", answer, position + 2 + name_length)
        position += 6 + name_length
        for _ in range(count):
            # partition, error code, base offset, append time, log start
            _partition, code = struct.unpack_from(">ih", answer, position)
            if code:
                return int(code)
            position += 4 + 2 + 8 + 8 + 8
    return 0


API_VERSIONS_REQUEST = request(API_VERSIONS, 0, b"", correlation_id=1)


class Connection:
    """One blocking connection; one request in flight."""

    def __init__(self, host: str, port: int, *, timeout_seconds: float = 60.0) -> None:
        """Connect.  Raises OSError while nothing listens."""
        self.socket = socket.create_connection((host, port), timeout=timeout_seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def call(self, frame: bytes) -> bytes:
        """Send a frame and return the answer without its length."""
        self.socket.sendall(frame)
        return self.receive()

    def receive(self) -> bytes:
        """Return the next answer without its length."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic with one replica; one that exists is left as it is.

        Raises: BrokerError with Kafka's code.
        """
        topic = text(name) + struct.pack(">ihii", partitions, 1, 0, 0)
        body = struct.pack(">i", 1) + topic + struct.pack(">ib", CREATE_TIMEOUT_MS, 0)
        answer = self.call(request(CREATE_TOPICS, CREATE_TOPICS_VERSION, body))
        # correlation id, throttle time, topic count, name
        (name_length,) = struct.unpack_from(">h", answer, 12)
        (code,) = struct.unpack_from(">h", answer, 14 + name_length)
        if code not in (0, TOPIC_EXISTS):
            raise BrokerError(f"creating topic {name!r} with {partitions} partitions", code)

    def produce_until_accepted(self, frame: bytes, *, within_seconds: float) -> None:
        """Send a Produce frame until the partitions are ready and answer without an error.

        Raises: BrokerError for any other error, or when time is up.
        """
        deadline = time.monotonic() + within_seconds
        while code := produce_error(self.call(frame)):
            if code not in RETRIABLE or time.monotonic() > deadline:
                raise BrokerError("producing", code)
            time.sleep(0.001)

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            piece = self.socket.recv(size - len(received))
            if not piece:
                raise WireError("the broker closed the connection")
            received += piece
        return bytes(received)
