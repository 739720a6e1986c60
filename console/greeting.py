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
WANTS_TLS = "it wants TLS"
CLOSES = "it closes the connection at the first request of Kafka's protocol"

_SIZE = struct.Struct(">i")
_ANSWER = struct.Struct(">ii")


def strangeness(connection: socket.socket, *, whole: bool = False) -> str | None:
    """Ask for ApiVersions, as every client does first; return what is wrong with the answer, if anything.

    `whole`: read all of the answer, as the connection is used on.  Raises: OSError that OpenSSL makes of an
    alert, which may be about a certificate.
    """
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
        if getattr(error, "library", None) == "SSL":
            raise
        if "EOF occurred" in str(error):  # OpenSSL's word for a connection that is closed
            return CLOSES
        return f"it ends the connection at the first request of Kafka's protocol: {error.strerror or error}"
    if answer.startswith(b"HTTP/"):
        return "an HTTP server answers there, such as a gateway's metrics and health; give its Kafka port"
    if answer.startswith(TLS_ALERT):
        return WANTS_TLS
    if len(answer) < _ANSWER.size:
        return CLOSES
    size_bytes, correlation_id = _ANSWER.unpack(answer)
    if correlation_id != CORRELATION_ID:
        return f"its answer, {answer!r}, is not of Kafka's protocol"
    if whole:
        _first_bytes(connection, size_bytes - 4)
    return None


def _first_bytes(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            break
        found += part
    return found
