"""One request on a connection, and its answer."""

from __future__ import annotations

import socket
import struct
from typing import Any

from console.errors import CommandError
from console.outgoing import rules
from protocol.api_keys import ApiKey
from protocol.errors import Unencodable
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.wire import decode, encode, joined

_SIZE = struct.Struct(">i")
CLIENT_ID = "kawal-cli"
ANSWER_BYTES_MAX = 1 << 30
"""No answer to the command line is larger; a server that announces more speaks another protocol."""


def exchange(connection: socket.socket, request: Any, version: int, address: str) -> Any:
    """Send a request and return its answer.

    Raises: ConnectionError when no answer begins; CommandError when it breaks off; OSError.
    """
    api = api_of(request)
    connection.sendall(request_frame(request, version, correlation_id=1, client_id=CLIENT_ID))
    prefix = _read(connection, _SIZE.size)
    size_bytes = _SIZE.unpack(prefix)[0] if len(prefix) == _SIZE.size else 0
    if not 0 < size_bytes <= ANSWER_BYTES_MAX:
        raise ConnectionResetError("it closed the connection")
    answer = _read(connection, size_bytes)
    if len(answer) < size_bytes:
        raise CommandError(f"{address} closed the connection in the middle of its answer")
    _, position = decode_response_header(api, version, memoryview(answer))
    message, _ = decode(response_type(api), version, memoryview(answer), position)
    return message


def request_frame(request: Any, version: int, *, correlation_id: int, client_id: str) -> bytes:
    """Return the bytes of a request: the one place that all requests of this package pass.

    Raises: NotAllowed when the rules of the work that runs (console/outgoing.py) keep it from leaving.
    """
    api = api_of(request)
    if (over := rules()) is not None:
        over.check(api, request)
    header = encode_request_header(
        api_key=api, api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    frame = header + encoded(request, version)
    return _SIZE.pack(len(frame)) + frame


def encoded(request: Any, version: int) -> bytes:
    """Return the bytes of a request.  Raises: CommandError for text or a number that it cannot carry."""
    try:
        return joined(encode(request, version))
    except Unencodable as error:
        if isinstance(error.__cause__, UnicodeEncodeError):
            raise CommandError(f"{error.__cause__.object!r} is not text in UTF-8") from error
        raise CommandError(f"a value has no place in a request of Kafka's: {error}") from error


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
