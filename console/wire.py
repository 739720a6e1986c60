"""Requests to a Kawal server that Kafka's APIs do not carry: one each, on a connection of its own.

Everything else goes through kafka-python; see console/client.py.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from console.client import ANSWER_MS, CONNECT_SECONDS, check_reachable, endpoints
from console.errors import CommandError
from protocol.api_keys import ApiKey
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.wire import decode, encode, joined

CLIENT_ID = "kawal-cli"
ANSWER_BYTES_MAX = 1 << 30
"""No answer to the command line is larger; a server that announces more speaks another protocol."""


class NotKawal(CommandError):
    """A server that closed the connection on a request that only Kawal knows."""


def ask(bootstrap: str, request: Any, version: int = 0) -> Any:
    """Send one request to the first address that accepts a connection and return its answer.

    Raises: NotKawal; CommandError when no server can be reached, or none answers.
    """
    check_reachable(bootstrap)
    for endpoint in endpoints(bootstrap):
        try:
            with socket.create_connection(endpoint, timeout=CONNECT_SECONDS) as connection:
                connection.settimeout(ANSWER_MS / 1000)
                return _exchange(connection, request, version, endpoint.text)
        except ConnectionRefusedError:
            continue
        except TimeoutError as error:
            raise CommandError(f"{endpoint.text} has not answered within {ANSWER_MS} ms") from error
        except ConnectionError as error:
            raise _not_kawal(endpoint.text, request) from error
        except OSError as error:
            raise CommandError(
                f"lost the connection to {endpoint.text}: {error.strerror or error}"
            ) from error
    raise CommandError(f"{bootstrap}: no server accepts connections any more")


def _exchange(connection: socket.socket, request: Any, version: int, address: str) -> Any:
    api = _api(request)
    header = encode_request_header(api_key=api, api_version=version, correlation_id=1, client_id=CLIENT_ID)
    frame = header + joined(encode(request, version))
    connection.sendall(struct.pack(">i", len(frame)) + frame)
    prefix = _read(connection, 4)
    size_bytes = struct.unpack(">i", prefix)[0] if len(prefix) == 4 else 0
    if not 0 < size_bytes <= ANSWER_BYTES_MAX:
        raise _not_kawal(address, request)
    answer = _read(connection, size_bytes)
    if len(answer) < size_bytes:
        raise CommandError(f"{address} closed the connection in the middle of its answer")
    _, position = decode_response_header(api, version, memoryview(answer))
    message, _ = decode(response_type(api), version, memoryview(answer), position)
    return message


def _api(request: Any) -> ApiKey:
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


def _not_kawal(address: str, request: Any) -> NotKawal:
    name = _api(request).name.lower().replace("_", " ")
    return NotKawal(
        f"{address} does not know the request '{name}': it is not a Kawal server, or is an older one"
    )
