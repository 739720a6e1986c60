"""Many consumers in one thread, each on a socket of its own, which wait for records of a topic.

They name their software, as librdkafka and Java do, and read each batch's head only: what is measured is the
server.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Sequence
from math import inf
from types import TracebackType

from protocol.headers import decode_response_header, encode_request_header
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol.records import iter_batches, read_batch_header
from protocol.wire import RecordParts, decode, encode

FETCH, API_VERSIONS = 1, 18
FETCH_VERSION = 12
WAIT_MS = 500


class _One:
    """One consumer: its socket, where it is, and what has come in."""

    def __init__(self, port: int, topic: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.topic = topic
        self.offset = 0
        self.received = bytearray()
        self.bytes = 0
        hello = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
        self.socket.sendall(_frame(API_VERSIONS, 3, hello))
        self.greeted = False

    def ask(self) -> None:
        """Send a fetch."""
        asked = FetchPartition(partition=0, fetch_offset=self.offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=50 << 20,
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=self.topic, partitions=[asked])],
        )
        self.socket.sendall(_frame(FETCH, FETCH_VERSION, request))

    def take(self) -> int:
        """Read what is there; how many fetches were answered."""
        data = self.socket.recv(1 << 20)
        assert data, "the server has closed the connection"
        self.bytes += len(data)
        self.received += data
        answered = 0
        while len(self.received) >= 4:
            size = struct.unpack_from(">i", self.received)[0]
            if len(self.received) < 4 + size:
                break
            frame = bytes(self.received[4 : 4 + size])
            del self.received[: 4 + size]
            if self.greeted:
                answered += 1
                self._move(frame)
            self.greeted = True
            self.ask()
        return answered

    def _move(self, frame: bytes) -> None:
        _, position = decode_response_header(FETCH, FETCH_VERSION, memoryview(frame))
        answer, _ = decode(FetchResponse, FETCH_VERSION, frame, position)
        (data,) = answer.responses[0].partitions
        assert not data.error_code, data.error_code
        assert not isinstance(data.records, RecordParts), "what is decoded is bytes"
        for batch in iter_batches(data.records or b""):
            self.offset = read_batch_header(batch).last_offset + 1


def _frame(key: int, version: int, request: object) -> bytes:
    header = encode_request_header(api_key=key, api_version=version, correlation_id=1, client_id="bench")
    body = b"".join(encode(request, version))  # type: ignore[arg-type]
    return struct.pack(">i", len(header) + len(body)) + header + body


class IdleConsumers:
    """A consumer for each of the topics; `run` lets them work for some time."""

    def __init__(self, port: int, topics: Sequence[str]) -> None:
        self.answers = 0
        self._selector = selectors.DefaultSelector()
        self._all = [_One(port, topic) for topic in topics]
        for one in self._all:
            self._selector.register(one.socket, selectors.EVENT_READ, one)

    def __enter__(self) -> IdleConsumers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._all:
            one.socket.close()
        self._selector.close()

    @property
    def bytes(self) -> int:
        """Everything received so far."""
        return sum(one.bytes for one in self._all)

    def run(self, seconds: float) -> None:
        """Answer what comes for so long."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                self.answers += key.data.take()

    def run_until_all_at(self, end: int, *, within_seconds: float) -> float:
        """Go on until every consumer is at `end`; the seconds it took, or infinity when they were too few."""
        began = time.monotonic()
        while any(one.offset < end for one in self._all):
            if time.monotonic() - began > within_seconds:
                return inf
            self.run(0.05)
        return time.monotonic() - began

    @staticmethod
    def bytes_of_topic(port: int, topic: str, end: int) -> int:
        """The bytes of all answers to a consumer that reads the topic to its end."""
        with IdleConsumers(port, [topic]) as consumers:
            consumers.run_until_all_at(end, within_seconds=120)
            return consumers.bytes
