"""The demands of listeners, which are scripts here: what came, and what a check says of it."""

from __future__ import annotations

import ssl
import struct
from typing import Any

import msgspec
import pytest

from pipeline.security import SecuritySection
from pipeline.sources.listener import API_VERSIONS, problem_of

PLAIN = SecuritySection()
LOGIN = SecuritySection(protocol="SASL_PLAINTEXT", username_env="U", password_env="P")
TLS = SecuritySection(protocol="SSL")


class Listener:
    """A connection that answers each request with the next of its answers, a byte or two at a time."""

    def __init__(self, *answers: bytes | OSError) -> None:
        self.answers = list(answers)
        self.buffered = b""
        self.sent: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.sent.append(data)
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        self.buffered += answer

    def recv(self, count: int) -> bytes:
        part, self.buffered = self.buffered[: min(2, count)], self.buffered[min(2, count) :]
        return part


def framed(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


VERSIONS = framed(1, struct.pack(">hi", 0, 0))


def token(code: int, message: str, content: bytes) -> bytes:
    return framed(
        2,
        struct.pack(">hh", code, len(message)) + message.encode() + struct.pack(">i", len(content)) + content,
    )


def logins(code: int, *mechanisms: str) -> bytes:
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in mechanisms)
    return framed(2, struct.pack(">hi", code, len(mechanisms)) + names)


def told(listener: Any, security: SecuritySection = PLAIN) -> str:
    return problem_of(listener, "h", security)


@pytest.mark.parametrize(
    ("security", "answer"),
    [(PLAIN, logins(34)), (PLAIN, b""), (LOGIN, b"")],
)
def test_nothing_is_said_against_a_listener_that_fits(security: SecuritySection, answer: bytes) -> None:
    listener = Listener(VERSIONS, answer)
    assert told(listener, security) == ""
    assert listener.sent[0] == API_VERSIONS
    assert listener.sent[1].endswith(b"\0\x0dSCRAM-SHA-512" if security.logs_in else b"\0\0")


@pytest.mark.parametrize(
    ("security", "answer", "sentence"),
    [
        (
            PLAIN,
            logins(33, "PLAIN", "SCRAM-SHA-256"),
            "asks for a login by PLAIN, SCRAM-SHA-256, and security.pro",
        ),
        (LOGIN, logins(34), "it asks for no login, and security.protocol is 'SASL_PLAINTEXT'"),
        (LOGIN, logins(33, "PLAIN"), "it takes logins by PLAIN, and security.mechanism is 'SCRAM-SHA-512'"),
    ],
)
def test_a_listener_that_wants_another_login_is_told(
    security: SecuritySection, answer: bytes, sentence: str
) -> None:
    assert sentence in told(Listener(VERSIONS, answer), security)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request", "an HTTP server answers there"),
        (b"\x15\x03\x03\0\x02\x02\x50\0", "it wants TLS, and security.protocol is 'PLAINTEXT'"),
        (b"", "closes the connection at the first request"),
        (b"SSH-2.0-OpenSSH_9.2", "does not speak Kafka's protocol"),
    ],
)
def test_what_is_not_kafkas_protocol_is_told(answer: bytes, sentence: str) -> None:
    assert sentence in told(Listener(answer))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (token(0, "", b""), ""),
        (b"", ""),
        (
            token(58, "Invalid username or password", b""),
            "refuses the login of 'ann': Invalid username or pass",
        ),
        (token(58, "", b""), "it refuses the login of 'ann': error 58"),
    ],
)
def test_a_login_that_is_refused_is_told(monkeypatch: pytest.MonkeyPatch, answer: bytes, said: str) -> None:
    monkeypatch.setenv("U", "ann")
    monkeypatch.setenv("P", "secret")
    by_password = msgspec.structs.replace(LOGIN, mechanism="PLAIN")
    listener = Listener(VERSIONS, logins(0, "PLAIN"), answer)
    assert said in told(listener, by_password)
    assert bool(said) == bool(told(Listener(VERSIONS, logins(0, "PLAIN"), answer), by_password))
    assert listener.sent[2].endswith(b"ann\0ann\0secret")


class Refusing:
    """A context whose handshakes end with an error."""

    def __init__(self, error: OSError) -> None:
        self.error = error

    def wrap_socket(self, _connection: object, *, server_hostname: str) -> Any:
        assert server_hostname == "h"
        raise self.error


def ssl_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def not_verified() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ssl_error("WRONG_VERSION_NUMBER"), "it does not speak TLS, and security.protocol is 'SSL'"),
        (ConnectionResetError(), "is it 'PLAINTEXT'?"),
        (ssl_error("SSLV3_ALERT_HANDSHAKE_FAILURE"), "may ask for security.certificate"),
        (not_verified(), "its certificate is not accepted: self-signed certificate"),
    ],
)
def test_a_handshake_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    monkeypatch.setattr("pipeline.sources.listener.tls_context", lambda _section: Refusing(error))
    assert sentence in told(Listener(), TLS)


def test_a_listener_that_ends_the_connection_after_the_handshake_may_want_a_certificate() -> None:
    ended = Listener(ssl_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"))
    assert "TLSV13_ALERT_CERTIFICATE_REQUIRED; it may ask for security.certificate" in told(ended)
