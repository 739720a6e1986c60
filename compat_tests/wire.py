"""A client that sends exactly the requests a test writes, and shows exactly what comes back."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

from compat_tests.broker import HOST
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.schema import declaration
from protocol.wire import decode, encode

TIMEOUT_SECONDS = 60


class Addressed(Protocol):
    """Anything that listens on this machine: a broker, most often."""

    @property
    def port(self) -> int:
        """The port of its Kafka listener."""


class RawClient:
    """One connection. Requests are sent at once; answers are read when asked for."""

    def __init__(self, broker: Addressed) -> None:
        """Connect."""
        self.socket = socket.create_connection((HOST, broker.port), timeout=TIMEOUT_SECONDS)
        self._last_id = 0
        self._expected: list[tuple[int, type[Any], int]] = []

    def send(
        self, request: Any, version: int, *, client_id: str | None = "raw", answered: bool = True
    ) -> int:
        """Send a request and return its correlation id; with `answered`, `receive` expects an answer."""
        self._last_id += 1
        api = declaration(type(request)).api
        assert api is not None
        body = b"".join(cast("list[bytes]", encode(request, version)))
        header = encode_request_header(
            api_key=api, api_version=version, correlation_id=self._last_id, client_id=client_id
        )
        self.send_frame(header + body)
        if answered:
            self._expected.append((self._last_id, response_type(api), version))
        return self._last_id

    def send_frame(self, frame: bytes) -> None:
        """Send bytes with their length before them."""
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self) -> Any:
        """Read the next answer, check that it is for the oldest open request, and decode it to its end."""
        correlation_id, kind, version = self._expected.pop(0)
        frame = self.receive_frame()
        api = declaration(kind).api
        assert api is not None
        found_id, position = decode_response_header(api, version, memoryview(frame))
        assert found_id == correlation_id, f"answer {found_id} came before answer {correlation_id}"
        message, end = decode(kind, version, memoryview(frame), position)
        assert end == len(frame), f"{len(frame) - end} bytes after {kind.__name__} v{version}"
        return message

    def call(self, request: Any, version: int, **options: Any) -> Any:
        """Send a request and return its answer."""
        self.send(request, version, **options)
        return self.receive()

    def receive_frame(self) -> bytes:
        """Read one frame; fail when the connection ends."""
        (length,) = struct.unpack(">i", self._read(4))
        return self._read(length)

    def is_closed_by_peer(self, *, within_seconds: float = TIMEOUT_SECONDS) -> bool:
        """Return whether the broker closes the connection, sending nothing before."""
        self.socket.settimeout(within_seconds)
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(TIMEOUT_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _read(self, size_bytes: int) -> bytes:
        parts = bytearray()
        while len(parts) < size_bytes:
            part = self.socket.recv(size_bytes - len(parts))
            assert part, f"the broker closed the connection after {len(parts)} of {size_bytes} bytes"
            parts += part
        return bytes(parts)


@contextmanager
def raw_client(broker: Addressed) -> Iterator[RawClient]:
    """Connect for the length of a block."""
    client = RawClient(broker)
    try:
        yield client
    finally:
        client.close()
