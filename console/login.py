"""The login on a connection to a broker: SaslHandshake, then SaslAuthenticate (KIP-43, KIP-152)."""

from __future__ import annotations

import secrets
import socket
from typing import Any

from console.errors import CommandError
from console.exchange import exchange
from console.scram import ScramClient, ScramError
from console.security import Security
from protocol.error_codes import ErrorCode
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 1


class LoginRefused(CommandError):
    """A login that a broker does not accept; trying again will not help."""


def log_in(connection: socket.socket, security: Security, address: str) -> None:
    """Log in.  Raises: LoginRefused; OSError when the connection is lost."""
    request = SaslHandshakeRequest(mechanism=security.mechanism)
    chosen: SaslHandshakeResponse = _ask(connection, request, HANDSHAKE_VERSION, address)
    if chosen.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        raise LoginRefused(
            f"{address} does not offer {security.mechanism}; set sasl.mechanism to one that it offers: "
            f"{', '.join(chosen.mechanisms)}"
        )
    if chosen.error_code:
        plain = {"SASL_PLAINTEXT": "PLAINTEXT", "SASL_SSL": "SSL"}[security.protocol]
        raise LoginRefused(
            f"{address} takes no logins there (error {chosen.error_code}); set "
            f"security.protocol={plain}, or give the address of another listener"
        )
    if security.mechanism == "PLAIN":
        _step(connection, f"\0{security.user}\0{security.password}".encode(), security, address)
        return
    nonce = secrets.token_urlsafe(24)
    client = ScramClient(
        security.mechanism, security.user, security.password, nonce, by_token=security.by_token
    )
    try:
        challenge = _step(connection, client.first(), security, address)
        client.check(_step(connection, client.final(challenge), security, address))
    except ScramError as error:
        raise _refused(security, address, str(error)) from error


def mechanisms_wanted(connection: socket.socket, address: str) -> list[str]:
    """Return the mechanisms of a broker that wants a login on this connection; [] when it wants none."""
    try:
        answer = exchange(connection, SaslHandshakeRequest(mechanism=""), HANDSHAKE_VERSION, address)
    except (OSError, CommandError):
        return []
    return list(answer.mechanisms) if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM else []


def _step(connection: socket.socket, token: bytes, security: Security, address: str) -> bytes:
    request = SaslAuthenticateRequest(auth_bytes=token)
    answer = _ask(connection, request, AUTHENTICATE_VERSION, address)
    if answer.error_code:
        raise _refused(security, address, answer.error_message or f"error {answer.error_code}")
    return bytes(answer.auth_bytes)


def _ask(connection: socket.socket, request: Any, version: int, address: str) -> Any:
    try:
        return exchange(connection, request, version, address)
    except TimeoutError as error:
        raise CommandError(f"{address} has not answered the login in time") from error


def _refused(security: Security, address: str, why: str) -> LoginRefused:
    return LoginRefused(
        f"{address} refused the login of user {security.user!r} by {security.mechanism}: {why.rstrip('.')}; "
        "check sasl.username, sasl.password and sasl.mechanism"
    )
