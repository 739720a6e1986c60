"""One request on a connection, and its answer."""

from __future__ import annotations

import socket
import struct
from typing import Any

from console.errors import CommandError
from protocol.api_keys import ApiKey
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.wire import decode, encode, joined

CLIENT_ID = "kawal-cli"
ANSWER_BYTES_MAX = 1 << 30
"""No answer to the command line is larger; a server that announces more speaks another protocol."""


def exchange(connection: socket.socket, request: Any, version: int, address: str) -> Any:
    """Send a request and return its answer.

    Raises: ConnectionError when no answer begins; CommandError when it breaks off; OSError.
    """
    api = api_of(request)
    header = encode_request_header(api_key=api, api_version=version, correlation_id=1, client_id=CLIENT_ID)
    frame = header + joined(encode(request, version))
    connection.sendall(struct.pack(">i", len(frame)) + frame)
    prefix = _read(connection, 4)
    size_bytes = struct.unpack(">i", prefix)[0] if len(prefix) == 4 else 0
    if not 0 < size_bytes <= ANSWER_BYTES_MAX:
        raise ConnectionResetError("it closed the connection")
    answer = _read(connection, size_bytes)
    if len(answer) < size_bytes:
        raise CommandError(f"{address} closed the connection in the middle of its answer")
    _, position = decode_response_header(api, version, memoryview(answer))
    message, _ = decode(response_type(api), version, memoryview(answer), position)
    return message


def api_of(request: Any) -> ApiKey:
    """Return the API of a request."""
    from protocol.schema import declaration

    api = declaration(type(request)).api
    assert api is not None
    return api


def _read(connection: socket.socket, size_bytes: int) -> bytes:
    """Read `size_bytes` bytes, fewer when the connection ends first."""
    found = bytearray()
    while len(found) < size_bytes:
        part = connection.recv(min(size_bytes - len(found), 1 << 20))
        if not part:
            break
        found += part
    return bytes(found)
