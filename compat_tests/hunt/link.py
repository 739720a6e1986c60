"""A connection that knows which answers it may expect, and a journal of the last bytes sent on all."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from compat_tests.broker import HOST
from protocol.headers import decode_response_header
from protocol.messages import response_type
from protocol.wire import decode

JOURNAL_BYTES_MAX: Final = 256 << 20

ANSWER_BYTES_MAX: Final = 300 << 20
"""No answer may be larger."""

_HEAD: Final = struct.Struct(">diI")
"""In a journal: seconds since its start, connection, size."""


class Sent(NamedTuple):
    """A request on the wire."""

    frame: bytes
    """With its length before it."""
    api: int
    version: int
    correlation_id: int
    answered: bool = True
    sound: bool = True
    """Whether a client may send it: then the connection must stay open."""


class Journal:
    """The last bytes sent on all connections, in their order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: deque[tuple[float, int, bytes]] = deque()
        self._size_bytes = 0
        self._began = time.monotonic()
        self.requests = self.connections = self.bytes = 0

    def opened(self) -> int:
        """Return the number of a new connection."""
        with self._lock:
            self.connections += 1
            return self.connections

    def note(self, connection: int, data: bytes) -> None:
        """Keep what is about to be sent."""
        with self._lock:
            self.requests += 1
            self.bytes += len(data)
            self._sent.append((time.monotonic() - self._began, connection, data))
            self._size_bytes += len(data)
            while self._size_bytes > JOURNAL_BYTES_MAX:
                self._size_bytes -= len(self._sent.popleft()[2])

    def save(self, path: Path, *, connection: int | None = None, seconds: float = 20.0) -> None:
        """Write what was sent in the last seconds, on one connection or all, for `entries` to read."""
        since = time.monotonic() - self._began - seconds
        with self._lock:
            kept = [entry for entry in self._sent if entry[0] >= since and connection in (None, entry[1])]
        with path.open("wb") as file:
            for at, number, data in kept:
                file.write(_HEAD.pack(at, number, len(data)) + data)


def entries(path: Path) -> Iterator[tuple[float, int, bytes]]:
    """Yield time, connection and bytes of what `Journal.save` has written."""
    data = path.read_bytes()
    position = 0
    while position < len(data):
        at, connection, size = _HEAD.unpack_from(data, position)
        position += _HEAD.size
        yield at, connection, data[position : position + size]
        position += size


class Lost(Exception):
    """The server has closed the connection, or has not answered in time."""

    def __init__(self, what: str, unanswered: list[Sent]) -> None:
        head = f"; first unanswered: api {unanswered[0].api} v{unanswered[0].version}" if unanswered else ""
        super().__init__(f"{what} with {len(unanswered)} requests unanswered{head}")
        self.unanswered = unanswered
        self.timed_out = what == "silent"


class Link:
    """One connection."""

    def __init__(self, port: int, journal: Journal) -> None:
        """Connect."""
        self.journal = journal
        self.number = journal.opened()
        self.socket = socket.create_connection((HOST, port), timeout=60)
        self.socket.setblocking(False)
        self.waiting: deque[Sent] = deque()
        self._received = bytearray()

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def reset(self) -> None:
        """Close the connection as a process that crashes does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def exchange(self, requests: Iterable[Sent], *, within_seconds: float) -> list[tuple[Sent, bytes]]:
        """Send requests, reading at the same time; return each with its answer, without the length.

        Raises: Lost.
        """
        outgoing = deque(requests)
        for sent in outgoing:
            self.journal.note(self.number, sent.frame)
            if sent.answered:
                self.waiting.append(sent)
        found: list[tuple[Sent, bytes]] = []
        left = memoryview(b"".join(sent.frame for sent in outgoing))
        deadline = time.monotonic() + within_seconds
        while left or self.waiting:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Lost("silent", list(self.waiting))
            readable, writable, _ = select.select(
                [self.socket], [self.socket] if left else [], [], min(1, remaining)
            )
            try:
                if writable:
                    left = left[self.socket.send(left[: 1 << 20]) :]
                if readable:
                    self._receive()
            except BlockingIOError:
                continue
            except OSError as error:
                raise Lost(f"closed ({error.strerror})", list(self.waiting)) from error
            found += self._answers()
        return found

    def throw(self, data: bytes, *, read_seconds: float) -> bool:
        """Send bytes that may be anything; return whether the connection is still open after this long."""
        self.journal.note(self.number, data)
        left = memoryview(data)
        deadline = time.monotonic() + read_seconds
        while (remaining := deadline - time.monotonic()) > 0:
            readable, writable, _ = select.select(
                [self.socket], [self.socket] if left else [], [], min(0.2, remaining)
            )
            try:
                if writable:
                    left = left[self.socket.send(left[: 1 << 20]) :]
                if readable and not self.socket.recv(1 << 20):
                    return False
            except BlockingIOError:
                continue
            except OSError:
                return False
        return True

    def _receive(self) -> None:
        data = self.socket.recv(1 << 20)
        if not data:
            raise OSError(0, "end of stream")
        self._received += data

    def _answers(self) -> Iterator[tuple[Sent, bytes]]:
        received = self._received
        position = 0
        while len(received) - position >= 4:
            (size,) = struct.unpack_from(">i", received, position)
            if not 4 <= size <= ANSWER_BYTES_MAX:
                raise Lost(f"an answer of {size} bytes", list(self.waiting))
            if len(received) - position - 4 < size:
                break
            if not self.waiting:
                raise Lost("an answer to no request", [])
            sent = self.waiting.popleft()
            frame = bytes(received[position + 4 : position + 4 + size])
            if struct.unpack_from(">i", frame) != (sent.correlation_id,):
                raise Lost("an answer out of order", [sent, *self.waiting])
            yield sent, frame
            position += 4 + size
        del received[:position]


def message_of(sent: Sent, frame: bytes) -> Any:
    """Return the answer as a message.  Raises: protocol errors, AssertionError for bytes after its end."""
    _, position = decode_response_header(sent.api, sent.version, memoryview(frame))
    message, end = decode(response_type(sent.api), sent.version, memoryview(frame), position)
    assert end == len(frame), f"{len(frame) - end} bytes after the answer"
    return message
