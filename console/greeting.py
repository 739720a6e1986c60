"""The first exchange with an address: whether a Kafka broker answers there, told within a second.

A client library would try for half a minute before it said that there is no broker, and not what there is.
"""

from __future__ import annotations

import socket
import struct

from protocol.api_keys import ApiKey
from protocol.headers import encode_request_header

GREETING_SECONDS = 1.0
"""The time an answer may take; a server that takes longer is left to the client, which is more patient."""

CORRELATION_ID = 0x6B61776C
TLS_ALERT = b"\x15\x03"

_SIZE = struct.Struct(">i")
_ANSWER = struct.Struct(">ii")


def strangeness(connection: socket.socket) -> str | None:
    """Ask for ApiVersions, as every client does first; return what is wrong with the answer, if anything."""
    header = encode_request_header(
        api_key=ApiKey.API_VERSIONS, api_version=0, correlation_id=CORRELATION_ID, client_id="kawal-cli"
    )
    connection.settimeout(GREETING_SECONDS)
    try:
        connection.sendall(_SIZE.pack(len(header)) + header)
        answer = _first_bytes(connection, _ANSWER.size)
    except TimeoutError:
        return None
    except OSError as error:
        return f"it ends the connection at the first request of Kafka's protocol: {error.strerror or error}"
    if answer.startswith(b"HTTP/"):
        return "an HTTP server answers there, such as a gateway's metrics and health; give its Kafka port"
    if answer.startswith(TLS_ALERT):
        return "it wants TLS"
    if len(answer) < _ANSWER.size:
        return "it closes the connection at the first request of Kafka's protocol"
    if _ANSWER.unpack(answer)[1] != CORRELATION_ID:
        return f"its answer, {answer!r}, is not of Kafka's protocol"
    return None


def _first_bytes(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            break
        found += part
    return found
