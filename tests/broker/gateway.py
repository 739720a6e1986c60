"""A whole broker on a simulated disk and clock, and clients that send it requests without sockets.

    gateway = Gateway()
    client = gateway.client()
    answer = client.call(MetadataRequest(topics=None), 12)

`call` settles the disk first, so that answers that wait for it arrive; `send` leaves that to the test.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from random import Random
from typing import Any

from broker.config.config import Config
from broker.connections.connection import Connection
from broker.core import Broker
from broker.start import open_broker
from broker.storage.partition import Partition
from broker.storage.vnode import DiskJob, Vnode
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.schema import declaration
from protocol.wire import decode, encode
from wal.disk import DiskError
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.segment import FileRange

START_MS = 1_700_000_000_000
"""The clock at the start, milliseconds since 1970."""


def _raise(error: BaseException) -> None:
    raise error


class Gateway:
    """A broker and the world around it."""

    def __init__(self, disk: MemoryDisk | None = None, *, start_ms: int = START_MS, **settings: Any) -> None:
        self.disk = disk if disk is not None else MemoryDisk()
        self.config = replace(Config(), **{"log_dirs": "/data", **settings})
        self.now_ms = start_ms
        self.wall_ahead_ms = 0
        """The lead of the wall clock over the other one at the next start."""
        self._starts = 0
        self.broker = self._start()

    def _start(self) -> Broker:
        """Start a broker in which errors of our own are not caught: a test must see them."""
        broker = self._open()
        broker.internal_errors.listener = _raise
        return broker

    def _open(self) -> Broker:
        # Two starts at one moment must not draw the same ids.
        chance = Random(self.now_ms + (self._starts << 48))
        self._starts += 1
        return open_broker(
            self.disk,
            self.config,
            random=chance,
            now_ms=self.now_ms,
            wall_ms=self.now_ms + self.wall_ahead_ms,
        )

    def break_things(self) -> None:
        """Let the broker catch errors of our own, as it does at work: the test makes them."""
        self.broker.internal_errors.listener = None

    def client(self, host: str = "10.0.0.9") -> Client:
        """Open a new connection from this address."""
        return Client(self, host)

    def run_jobs(self) -> bool:
        """Run the disk work there is now; return False if there was none."""
        self.broker.clock.turn_ms = self.now_ms
        jobs = list(self.broker.take_jobs(self.now_ms))
        self.finish(jobs)
        return bool(jobs)

    def finish(self, jobs: list[tuple[Vnode, DiskJob]]) -> None:
        """Run disk work that was taken, and hand back its results."""
        for vnode, job in jobs:
            error: DiskError | None = None
            try:
                job.run()
            except DiskError as failure:
                error = failure
            self.broker.job_done(vnode, job, error, self.now_ms)

    def partition(self, name: str, index: int = 0) -> Partition:
        """Return a partition, to look inside."""
        return self.broker.topics.partition(self.broker.find_topic(name), index)

    def settle(self) -> None:
        """Run disk work, and steps of long answers, until nothing is left to do."""
        while self.run_jobs() or self.broker.scheduler.pending:
            self.broker.scheduler.run()

    def tick(self) -> None:
        """Let the broker do the work that is due now."""
        self.broker.clock.turn_ms = self.now_ms
        self.broker.tick(self.now_ms)

    def advance(self, duration_ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + duration_ms
        if self.broker.scheduler.pending:
            self.settle()
        while (deadline := self.broker.next_deadline()) is not None and deadline <= end_ms:
            self.now_ms = max(self.now_ms, deadline)
            self.tick()
            self.settle()
        self.now_ms = end_ms

    def restart(self) -> None:
        """Stop cleanly and start again on the same disk."""
        self.broker.begin_stop(self.now_ms)
        self.settle()
        self.broker.close(self.now_ms)
        self.broker = self._start()

    def crash(self) -> None:
        """Lose the process and all that was not synced, and start again."""
        self.disk = self.disk.crash(DROP_ALL)
        self.open_again()

    def open_again(self) -> None:
        """Start on the disk as it is now; the previous process has vanished without a trace."""
        self.disk.locks.clear()
        self.broker = self._start()


class Client:
    """One connection; requests are messages, and answers come back in their order."""

    def __init__(self, gateway: Gateway, host: str = "10.0.0.9") -> None:
        self.gateway = gateway
        self.connection = gateway.broker.connect(
            peer=f"{host}:5000", advertised=("gateway", 9092), now_ms=gateway.now_ms
        )
        self._sent: list[tuple[type[Any], int, int]] = []
        self._received = bytearray()
        self._correlation_id = 0
        self.unread = bytearray()

    def send(self, request: Any, version: int) -> None:
        """Send a request and let the broker process it, without running the disk."""
        self.send_bytes(self.frame(request, version))

    def frame(self, request: Any, version: int) -> bytes:
        """Return the bytes of a request that will be sent next, and expect its answer."""
        self._correlation_id += 1
        self._sent.append((answer_type(request), version, self._correlation_id))
        return request_frame(request, version, self._correlation_id)

    def send_under_name(self, client_id: bytes, request: Any, version: int) -> None:
        """Send a request with these bytes as its client.id."""
        self._correlation_id += 1
        self._sent.append((answer_type(request), version, self._correlation_id))
        frame = request_frame(request, version, self._correlation_id)
        # The size, the API key and version and the correlation id come before the client.id, "test".
        after = frame[12 + 2 + 4 :]
        name = struct.pack(">h", len(client_id)) + client_id
        self.send_bytes(struct.pack(">i", 8 + len(name) + len(after)) + frame[4:12] + name + after)

    def send_unanswered(self, request: Any, version: int) -> None:
        """Send a request that gets no answer: a produce with acks=0."""
        self._correlation_id += 1
        self.send_bytes(request_frame(request, version, self._correlation_id))

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes, as far as the broker reads them; the rest stays in `unread`, as in a socket."""
        self.unread += data
        self._push()

    def _push(self) -> None:
        connection, broker = self.connection, self.gateway.broker
        broker.clock.turn_ms = self.gateway.now_ms
        while self.unread and connection.close_reason is None and not connection.saturated:
            buffer = connection.reader.wanted_buffer()
            size = min(len(buffer), len(self.unread))
            buffer[:size] = self.unread[:size]
            del self.unread[:size]
            broker.intake.receive(connection, size, self.gateway.now_ms)

    def answers(self) -> list[Any]:
        """Return the answers that have arrived since the last call, decoded, in order."""
        self._collect()
        found = []
        while len(self._received) >= 4:
            size = struct.unpack_from(">i", self._received)[0]
            if len(self._received) < 4 + size:
                break
            frame = bytes(self._received[4 : 4 + size])
            del self._received[: 4 + size]
            cls, version, correlation_id = self._sent.pop(0)
            found.append(decode_answer(cls, version, correlation_id, frame))
        return found

    def call(self, request: Any, version: int) -> Any:
        """Send a request, settle the disk and return the one answer."""
        self.send(request, version)
        self.gateway.settle()
        answers = self.answers()
        assert len(answers) == 1, f"{len(answers)} answers to one request"
        return answers[0]

    def close(self) -> None:
        """Close the connection."""
        self.gateway.broker.disconnect(self.connection)

    def _collect(self) -> None:
        """Take the broker's output; room in its buffers lets it read on, as in the real server."""
        while True:
            self._received += take_outgoing(self.connection)
            if self.connection.stalled and not self.connection.saturated:
                self.gateway.broker.intake.resume(self.connection, self.gateway.now_ms)
            self._push()
            if not self.connection.outgoing:
                return


def answer_type(request: Any) -> type[Any]:
    """Return the class of the answer to a request."""
    key = declaration(type(request)).api
    assert key is not None
    return response_type(key)


def request_frame(request: Any, version: int, correlation_id: int) -> bytes:
    """Return a request as it goes over the wire, preceded by its length."""
    key = declaration(type(request)).api
    assert key is not None
    header = encode_request_header(
        api_key=key, api_version=version, correlation_id=correlation_id, client_id="test"
    )
    body = b"".join(encode(request, version))  # type: ignore[arg-type]  # requests hold no file ranges
    return struct.pack(">i", len(header) + len(body)) + header + body


def take_outgoing(connection: Connection) -> bytes:
    """Take all bytes that the broker has for this client, as a socket with enough room would."""
    connection.dirty = False
    if connection in connection.unsent:
        connection.unsent.remove(connection)
    data = bytearray()
    outgoing = connection.outgoing
    while outgoing:
        part = outgoing[0].read() if isinstance(outgoing[0], FileRange) else outgoing[0]
        data += part
        connection.sent(len(part))
    return bytes(data)


def decode_answer(cls: type[Any], version: int, correlation_id: int, frame: bytes) -> Any:
    key = declaration(cls).api
    assert key is not None
    seen, position = decode_response_header(key, version, memoryview(frame))
    assert seen == correlation_id, "answers leave in the order of their requests"
    message, end = decode(cls, version, frame, position)
    assert end == len(frame), "an answer is decoded to its last byte"
    return message
