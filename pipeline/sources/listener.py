"""The demands of a broker's listener on its clients, found by its first answers: TLS, logins, mechanisms.

A client library tries for many seconds what a listener will never take, and then says that nothing answers.
"""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Final

from pipeline.security import SecuritySection, kafka_python_options, tls_context

API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""The request with which every client begins: size, API 18, version 0, correlation id, no client id."""

OUR_ID: Final = 2
"""The correlation id of the requests that follow: SaslHandshake (17) and SaslAuthenticate (36)."""

UNSUPPORTED_MECHANISM, ILLEGAL_STATE = 33, 34
"""UNSUPPORTED_SASL_MECHANISM; ILLEGAL_SASL_STATE, the answer of a listener without logins."""

TLS_ALERT: Final = b"\x15\x03"
NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
"""OpenSSL's reasons when the other side answers without TLS."""

ANSWER_BYTES_MAX: Final = 1 << 20


def problem_of(connection: socket.socket, host: str, security: SecuritySection) -> str:
    """Return why a listener will not take clients with these keys, "" when nothing speaks against it.

    Raises: TimeoutError when it says nothing; OSError when it ends the connection without a reason.
    """
    if security.encrypts:
        try:
            connection = tls_context(security).wrap_socket(connection, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            return (
                f"its certificate is not accepted: {error.verify_message}; security.ca names who signs for it"
            )
        except (ssl.SSLError, ConnectionResetError) as error:
            return _without_tls(error, security)
    try:
        return _conversation(connection, security)
    except ssl.SSLError as error:
        return f"it ends the connection: {error.reason}; it may ask for security.certificate"


def _without_tls(error: OSError, security: SecuritySection) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason in NOT_TLS or isinstance(error, (ssl.SSLEOFError, ConnectionResetError)):
        plain = security.protocol.replace("SSL", "PLAINTEXT")
        return f"it does not speak TLS, and security.protocol is {security.protocol!r}; is it {plain!r}?"
    return f"it refuses TLS: {reason or error}; it may ask for security.certificate"


def _conversation(connection: socket.socket, security: SecuritySection) -> str:
    connection.sendall(API_VERSIONS)
    head = _read(connection, 8)
    if head.startswith(b"HTTP/"):
        return "an HTTP server answers there; give the port of Kafka's protocol"
    if head.startswith(TLS_ALERT):
        return f"it wants TLS, and security.protocol is {security.protocol!r}"
    if len(head) < 8:
        return "it closes the connection at the first request of Kafka's protocol"
    size, correlation_id = struct.unpack(">ii", head)
    if correlation_id != 1 or not 4 <= size <= ANSWER_BYTES_MAX:
        return "it does not speak Kafka's protocol"
    _read(connection, size - 4)
    mechanism = security.mechanism.encode() if security.logs_in else b""  # shows whether there are logins
    code, mechanisms = _logins(connection, mechanism)
    if security.logs_in and code == 0:
        return _log_in(connection, security)
    return _demand(code, mechanisms, security)


def _exchange(connection: socket.socket, api_key: int, version: int, body: bytes) -> bytes:
    """Send a request and return the body of its answer, b"" where the connection ends in its place."""
    request = struct.pack(">hhih", api_key, version, OUR_ID, -1) + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    head = _read(connection, 8)
    if len(head) < 8 or struct.unpack(">ii", head)[1] != OUR_ID:
        return b""
    return _read(connection, min(ANSWER_BYTES_MAX, struct.unpack(">ii", head)[0] - 4))


def _logins(connection: socket.socket, mechanism: bytes) -> tuple[int, list[str]]:
    """Ask for a login; return the error code, -1 without an answer, and the mechanisms that there are."""
    answer = _exchange(connection, 17, 1, struct.pack(">h", len(mechanism)) + mechanism)
    if len(answer) < 6:
        return -1, []
    code, count = struct.unpack_from(">hi", answer)
    names, at = [], 6
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, at)
        names.append(answer[at + 2 : at + 2 + length].decode(errors="replace"))
        at += 2 + length
    return code, names


def _log_in(connection: socket.socket, security: SecuritySection) -> str:
    """Log in, and return why that is refused, "" when it is not.  Raises: SetupError without a password."""
    from kafka.net.sasl import get_sasl_mechanism  # nothing but the exchange of bytes

    keys = kafka_python_options(security)
    login = get_sasl_mechanism(security.mechanism)(**keys)
    while not login.is_done():
        token = login.auth_bytes()
        answer = _exchange(connection, 36, 0, struct.pack(">i", len(token)) + token)
        if len(answer) < 4:
            return ""
        code, length = struct.unpack_from(">hh", answer)
        if code:
            why = answer[4 : 4 + max(0, length)].decode(errors="replace")
            return f"it refuses the login of {keys['sasl_plain_username']!r}: {why or f'error {code}'}"
        login.receive(answer[4 + max(0, length) + 4 :])
    return ""


def _demand(code: int, mechanisms: list[str], security: SecuritySection) -> str:
    """Compare a listener's answer about logins with the keys of a job file."""
    takes = ", ".join(mechanisms) or "mechanisms that it does not name"
    if not security.logs_in:
        if code not in (0, UNSUPPORTED_MECHANISM):
            return ""
        return f"it asks for a login by {takes}, and security.protocol is {security.protocol!r}"
    if code == ILLEGAL_STATE:
        return f"it asks for no login, and security.protocol is {security.protocol!r}"
    if code == UNSUPPORTED_MECHANISM:
        return f"it takes logins by {takes}, and security.mechanism is {security.mechanism!r}"
    return ""


def _read(connection: socket.socket, count: int) -> bytes:
    """Return the next `count` bytes, or fewer where the connection ends."""
    found = b""
    while len(found) < count and (part := connection.recv(count - len(found))):
        found += part
    return found
