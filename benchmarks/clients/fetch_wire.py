"""The fetch of a waiting consumer, version 12, which reads no more of the answer than a consumer needs.

A thousand consumers in one thread are answered ten thousand times a second. So the request is encoded once
and only its offset is rewritten. Of the answer only the error code and the batch headers are read, at the
places where the answer to this request has them: one topic, one partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from protocol.headers import encode_request_header
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.wire import encode

FETCH, API_VERSIONS = 1, 18
FETCH_VERSION, API_VERSIONS_VERSION = 12, 3
WAIT_MS = 500
PARTITION_BYTES = 1 << 20
ANSWER_BYTES = 50 << 20

_INT16, _INT32, _INT64 = Struct(">h"), Struct(">i"), Struct(">q")
_ANY_OFFSET = 0x0123_4567_89AB_CDEF
"""A placeholder for the offset, to find its place; no other field has this value."""
_BEFORE_TOPIC_BYTES = 4 + 4 + 1 + 4 + 2 + 4 + 1
"""Length, correlation id, tags, throttle time, error, session, number of topics."""
_FROM_ERROR_BYTES = 2 + 8 + 8 + 8
"""Error, high watermark, last stable offset, log start: then come the aborted transactions."""
_BATCH_OVERHEAD_BYTES = 12
_ABORTED_BYTES = 8 + 8 + 1


def frame(key: int, version: int, request: object) -> bytes:
    """Return a request with its header and length."""
    header = encode_request_header(api_key=key, api_version=version, correlation_id=1, client_id="bench")
    body = b"".join(encode(request, version))  # type: ignore[arg-type]
    return _INT32.pack(len(header) + len(body)) + header + body


HELLO = frame(
    API_VERSIONS,
    API_VERSIONS_VERSION,
    ApiVersionsRequest(client_software_name="bench", client_software_version="1"),
)
"""The request that names the software, as librdkafka and Java send it."""


class FetchFrame:
    """A fetch of one partition, whose offset can be rewritten."""

    def __init__(self, topic: str) -> None:
        asked = FetchPartition(partition=0, fetch_offset=_ANY_OFFSET, partition_max_bytes=PARTITION_BYTES)
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=ANSWER_BYTES,
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[asked])],
        )
        self._frame = bytearray(frame(FETCH, FETCH_VERSION, request))
        self._position = self._frame.index(_INT64.pack(_ANY_OFFSET))

    def at(self, offset: int) -> bytearray:
        """Return the request from this offset on; it is valid until the next call."""
        _INT64.pack_into(self._frame, self._position, offset)
        return self._frame


@dataclass(slots=True)
class Answer:
    """The parts of an answer that a consumer needs."""

    next_offset: int
    """-1 when there was no batch."""
    oldest_ms: int
    """The base timestamp of the first batch that has records, -1 when none has."""


class RefusedFetch(Exception):
    """The answer has an error code."""


class AnswerReader:
    """A reader of the answers to the fetches of one topic."""

    def __init__(self, topic: str) -> None:
        name_bytes = len(topic.encode())
        assert name_bytes < 127, "a longer name has a length of two bytes"
        # The name's length, the name, the number of partitions, the partition.
        self._error_position = _BEFORE_TOPIC_BYTES + 1 + name_bytes + 1 + 4

    def read(self, data: bytearray | memoryview, start: int) -> Answer:
        """Read the answer whose length is at `start`; it must be complete.

        Raises: RefusedFetch.
        """
        position = start + self._error_position
        if code := _INT16.unpack_from(data, position)[0]:
            raise RefusedFetch(f"the fetch was refused with error code {code}")
        position += _FROM_ERROR_BYTES
        aborted, position = _uvarint(data, position)
        # The preferred replica comes after the aborted transactions.
        position += max(0, aborted - 1) * _ABORTED_BYTES + 4
        size, position = _uvarint(data, position)
        return _read_batches(data, position, position + size - 1)


def _read_batches(data: bytearray | memoryview, position: int, end: int) -> Answer:
    next_offset, oldest_ms = -1, -1
    while position < end:
        next_offset = _INT64.unpack_from(data, position)[0] + _INT32.unpack_from(data, position + 23)[0] + 1
        if oldest_ms < 0 and _INT32.unpack_from(data, position + 57)[0]:
            oldest_ms = _INT64.unpack_from(data, position + 27)[0]
        position += _BATCH_OVERHEAD_BYTES + _INT32.unpack_from(data, position + 8)[0]
    return Answer(next_offset, oldest_ms)


def _uvarint(data: bytearray | memoryview, position: int) -> tuple[int, int]:
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    shift = 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
