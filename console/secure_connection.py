"""Encryption of a connection to a broker, and the login on it, with refusals put into sentences."""

from __future__ import annotations

import functools
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from console.errors import CommandError, NotTls
from console.security import CA, CERTIFICATE, CONVERSION, KEY, KEY_PASSWORD, Security

_TRUSTED: Final = "set ssl.certificate.location to one that the broker trusts"
_REQUIRED: Final = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
_CURES: Final = {
    _REQUIRED: ("it wants a certificate of the client; set ssl.certificate.location and ssl.key.location"),
    "SSLV3_ALERT_HANDSHAKE_FAILURE": (
        "it refuses the handshake; it may want a certificate of the client (ssl.certificate.location)"
    ),
    "TLSV1_ALERT_UNKNOWN_CA": (
        f"it does not know the authority that signed the client's certificate; {_TRUSTED}"
    ),
    "SSLV3_ALERT_BAD_CERTIFICATE": f"it refuses the client's certificate; {_TRUSTED}",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": f"it refuses the client's certificate; {_TRUSTED}",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client's certificate has expired; get a new one",
}
"""What a broker's alert means, and what to do about it, by OpenSSL's name."""


class Refused(CommandError):
    """A certificate that one side does not accept; trying again will not help."""


def encrypted(connection: socket.socket, host: str, security: Security, address: str) -> ssl.SSLSocket:
    """Encrypt a connection that was just made; it is closed when that fails.

    Raises: Refused; CommandError for files that cannot be used; NotTls; OSError when the connection is lost.
    """
    try:
        return context_of(security).wrap_socket(connection, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        connection.close()
        raise Refused(f"the certificate of {address} is not accepted: {_distrust(error)}") from error
    except (ssl.SSLError, ConnectionError, TimeoutError) as error:
        connection.close()
        check_alert(error, security, address)
        plain = {"SSL": "PLAINTEXT", "SASL_SSL": "SASL_PLAINTEXT"}[security.protocol]
        raise NotTls(
            f"it does not answer in TLS, which security.protocol={security.protocol} asks for; set {plain}, "
            "or give the address of another listener"
        ) from error
    except BaseException:
        connection.close()
        raise


def check_alert(error: OSError, security: Security, address: str) -> None:
    """Raise Refused for a broker's alert about the client's certificate.

    Java's answer to a client without one is bad_certificate.
    """
    reason = getattr(error, "reason", None) or ""
    if told := _CURES.get(reason if security.has_certificate or reason not in _CURES else _REQUIRED):
        raise Refused(f"{address}: {told}") from error


def _distrust(error: ssl.SSLCertVerificationError) -> str:
    words = error.verify_message.rstrip(".")
    if "ostname mismatch" in words or "IP address mismatch" in words:
        return (
            f"{words}; connect by a name that it has, or accept any with an empty "
            "ssl.endpoint.identification.algorithm"
        )
    if "expired" in words or "not yet valid" in words:
        return f"{words}; look at the clocks, or have the broker's certificate renewed"
    return f"{words}; name the authority that signed it with ssl.ca.location (ssl.truststore.location)"


@functools.lru_cache(maxsize=4)
def context_of(security: Security) -> ssl.SSLContext:
    """Return OpenSSL's context, made once.  Raises: CommandError for files that cannot be used."""
    trusted = security.ca_text or (_text(security.ca, CA) if security.ca else None)
    try:
        context = ssl.create_default_context(cadata=_lines(trusted))
    except (ssl.SSLError, ValueError) as error:
        where = security.ca or "ssl.truststore.certificates"
        raise CommandError(f"{where} has no certificates of authorities in PEM: {_why(error)}") from error
    context.check_hostname = security.checks_host
    if trusted is not None:
        # The broker's own certificate may be what is trusted, as in OpenSSL's tools and Python 3.13.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    chain = security.chain_text
    if security.certificate:
        chain = _text(security.certificate, CERTIFICATE)
    if chain is not None:
        key = _text(security.key, KEY) if security.key else security.key_text or ""
        _load_chain(context, security, f"{_lines(key)}\n{_lines(chain)}\n")
    return context


def _load_chain(context: ssl.SSLContext, security: Security, pem: str) -> None:
    where = security.certificate or "ssl.keystore.certificate.chain"
    if security.key:
        where = f"{where} and {security.key}"
    if "PRIVATE KEY-----" not in pem:
        raise CommandError(f"there is no private key in {where}; name its file with ssl.key.location")

    def password() -> str:
        if security.key_password is None:
            raise CommandError(f"the private key in {where} is encrypted; add {KEY_PASSWORD}")
        return security.key_password

    try:
        with _memory_file(pem) as path:
            context.load_cert_chain(path, password=password)
    except (ssl.SSLError, ValueError) as error:
        cure = f"; look at {KEY_PASSWORD}" if security.key_password is not None else ""
        raise CommandError(
            f"{where} cannot be used as certificate and key of the client: {_why(error)}{cure}"
        ) from error


def _text(path: str, key: str) -> str:
    """Return a PEM file's text.  Raises: CommandError."""
    try:
        with open(path, "rb") as stream:
            found = stream.read(1 << 20)
    except (OSError, ValueError) as error:
        raise CommandError(
            f"cannot read {path}, which {key} names: {getattr(error, 'strerror', None) or error}"
        ) from error
    if b"-----BEGIN " not in found:
        raise CommandError(f"{path}, which {key} names, is not PEM; {CONVERSION}")
    return found.decode("ascii", "replace").replace("\ufffd", "?")


def _lines(pem: str | None) -> str | None:
    """Return PEM with its lines; text in properties may have them all in one."""
    if pem is None or "\n" in pem.strip():
        return pem
    return "\n".join(
        f"-----{part}-----" if number % 2 else "\n".join(part.split())
        for number, part in enumerate(pem.split("-----"))
    )


@contextmanager
def _memory_file(text: str) -> Iterator[str]:
    """Make a file that is on no disk, as OpenSSL reads keys from files only."""
    descriptor = os.memfd_create("pem")
    try:
        os.write(descriptor, text.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _why(error: Exception) -> str:
    """Return OpenSSL's words without its codes."""
    reason = getattr(error, "reason", None)
    return str(reason).lower().replace("_", " ") if reason else str(error)
