"""A connection to one broker that keeps several requests in flight, for load and for many records."""

from __future__ import annotations

import socket
import struct
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any

from broker.config.endpoints import parse_endpoint
from console.client import opened
from console.errors import CommandError
from console.exchange import api_of, request_frame
from protocol.headers import decode_response_header
from protocol.messages import response_type
from protocol.wire import decode

ANSWER_SECONDS = 60.0
"""A broker that is silent for so long is not slow but lost."""

_SIZE = struct.Struct(">i")


class LinkLost(CommandError):
    """A connection that could not be made, or has ended."""


class Link:
    """A connection that sends requests at once and reads answers, in their order, when asked to."""

    def __init__(self, address: str, client_id: str = "kawal-bench") -> None:
        """Connect.  Raises: LinkLost; CommandError when a certificate or the login is refused."""
        self.address = address
        self._client_id = client_id
        self._in_flight: deque[tuple[int, int, int]] = deque()
        self._last_id = 0
        try:
            self._socket = opened(parse_endpoint(address))
        except OSError as error:
            raise LinkLost(f"cannot reach {address}: {error.strerror or error}") from error
        self._socket.settimeout(ANSWER_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; answers in flight are lost."""
        self._socket.close()

    def abort(self) -> None:
        """End the connection from another thread; what waits for an answer there raises LinkLost."""
        with suppress(OSError):  # it has ended already
            self._socket.shutdown(socket.SHUT_RDWR)

    @property
    def in_flight(self) -> int:
        """The number of answers awaited."""
        return len(self._in_flight)

    def send(self, request: Any, version: int, *, answered: bool = True) -> None:
        """Send a request, of which `receive` returns the answer if there will be one.

        Raises: LinkLost; CommandError for what a request cannot carry.
        """
        self._last_id += 1
        frame = request_frame(request, version, correlation_id=self._last_id, client_id=self._client_id)
        if answered:
            self._in_flight.append((api_of(request), version, self._last_id))
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise self._lost(error) from error

    def receive(self) -> Any:
        """Read the answer to the oldest request in flight.  Raises: CommandError."""
        api, version, identity = self._in_flight.popleft()
        try:
            (size,) = _SIZE.unpack(self._read(_SIZE.size))
            frame = self._read(size)
        except OSError as error:
            raise self._lost(error) from error
        seen, position = decode_response_header(api, version, frame)
        if seen != identity:
            raise CommandError(f"{self.address} answered request {seen} before request {identity}")
        return decode(response_type(api), version, frame, position)[0]

    def call(self, request: Any, version: int) -> Any:
        """Send a request and return its answer.  Raises: CommandError."""
        self.send(request, version)
        return self.receive()

    def _read(self, size: int) -> memoryview:
        buffer = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            count = self._socket.recv_into(buffer[filled:])
            if not count:
                raise ConnectionResetError("it closed the connection")
            filled += count
        return buffer

    def _lost(self, error: OSError) -> LinkLost:
        return LinkLost(f"lost the connection to {self.address}: {error.strerror or error}")
