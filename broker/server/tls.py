"""The TLS of a listener: a context made from its settings and files.

A context is checked whole before it is used: a key that does not match, a file that cannot be read or has no
certificate are errors here.  Connections keep the context with which they began.

Keys given as text are read by OpenSSL from memory (memfd): no secret gets into a file.  There is no session
resumption, so that each connection is judged by the certificates of now; a handshake costs 0.1 ms more.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.config.principal_rules import PrincipalMapper
from broker.config.tls_settings import CONVERSION, TlsSettings, tls_settings
from broker.security.certificates import read_certificate

OTHER_STORES: Final = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS", b"\x30\x82": "PKCS12 or DER"}
"""The first bytes of files that are not PEM."""

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
FILE_BYTES_MAX: Final = 4 << 20
"""No file of certificates is so long."""

UNREADABLE: Final = "damaged PEM, or a wrong ssl.key.password,"
"""What OpenSSL calls `[SSL] PEM lib`: it does not tell which."""

_MARK: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
_END: Final = "-----END CERTIFICATE-----"


class TlsError(ConfigProblem):
    """A listener's TLS cannot be set up; the text is one sentence for its operator."""


class Tls(NamedTuple):
    """The TLS of one listener as it was when its files were read."""

    context: ssl.SSLContext
    mapper: PrincipalMapper
    subject: str
    until_s: int
    """The end of the validity of the server's certificate, seconds since 1970."""
    alternative_names: frozenset[str]


def settings_of(config: Config) -> dict[str, TlsSettings]:
    """Return the settings of every encrypted listener by its name.  Raises: ConfigError."""
    return {spec.name: tls_settings(config, spec) for spec in config.specs if spec.protocol.encrypted}


Stamps = tuple[tuple[int, int, int] | None, ...]


def stamps_of(settings: TlsSettings) -> Stamps:
    """Return what changes with the files: time, size and number of each; None for one that is not there."""

    def stamp(path: str) -> tuple[int, int, int] | None:
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    return tuple(map(stamp, settings.files))


def make_tls(settings: TlsSettings) -> Tls:
    """Read the files and make a context.  Raises: TlsError, with one sentence for the operator."""
    try:
        return _make(settings)
    except TlsError as error:
        raise TlsError(f"the listener {settings.listener} cannot be served: {error}") from error


def _make(settings: TlsSettings) -> Tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [_VERSIONS[name] for name in settings.protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = 0
    if settings.ciphers:
        try:
            context.set_ciphers(":".join(settings.ciphers))
        except ssl.SSLError as error:
            raise TlsError(f"OpenSSL has none of ssl.cipher.suites={','.join(settings.ciphers)}") from error
    pem = _load_identity(context, settings)
    _load_trusted(context, settings)
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    try:
        own = read_certificate(ssl.PEM_cert_to_DER_cert(_first_certificate(pem)))
    except ValueError as error:
        raise TlsError(f"its certificate cannot be read: {error}") from error
    return Tls(
        context, PrincipalMapper(settings.mapping_rules), own.subject, own.until_s, own.alternative_names
    )


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context for connections to a listener with the same settings, on another machine.

    The other side must show a certificate of the authorities in the trust store, or of the system's without
    one, for the name by which it was reached; this side shows its own if it is asked to.
    Raises: TlsError, with one sentence for the operator.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = [_VERSIONS[name] for name in settings.protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    _load_identity(context, settings)
    if settings.truststore_file or settings.trusted:
        _load_trusted(context, settings)
    else:
        context.load_default_certs()
    return context


def _load_identity(context: ssl.SSLContext, settings: TlsSettings) -> str:
    """Load key and chain; return their text."""
    if settings.keystore_file:
        where = settings.keystore_file
        pem = _text_of(where, "ssl.keystore.location")
    else:
        where = "ssl.keystore.key and ssl.keystore.certificate.chain"
        pem = f"{_lines(settings.key)}\n{_lines(settings.certificate_chain)}\n"
    for what in ("PRIVATE KEY", "CERTIFICATE"):
        if f"{what}-----" not in pem:
            raise TlsError(
                f"there is no {what.lower()} in {where}; it must have a private key and the chain of its"
                " certificate, in PEM"
            )
    try:
        with _memory_file(pem) as path:
            context.load_cert_chain(path, password=_password(settings))
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(
            f"{_why(error)} in {where}; give a private key and the chain of its certificate, the server's own"
            " first, and ssl.key.password if the key is encrypted"
        ) from error
    return pem


def _load_trusted(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.truststore_file:
        where = settings.truststore_file
        pem = _text_of(where, "ssl.truststore.location")
    elif settings.trusted:
        where, pem = "ssl.truststore.certificates", _lines(settings.trusted)
    else:
        return
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(f"{_why(error)} in {where}; give the certificates of authorities in PEM") from error


def _text_of(path: str, key: str) -> str:
    try:
        with open(path, "rb") as stream:
            data = stream.read(FILE_BYTES_MAX)
    except OSError as error:
        raise TlsError(f"{path} ({key}) cannot be read: {(error.strerror or str(error)).lower()}") from error
    for head, kind in OTHER_STORES.items():
        if data.startswith(head):
            raise TlsError(f"{path} ({key}) is a {kind} file, and {CONVERSION}")
    return _ascii(data.decode(errors="replace"))


def _lines(text: str | None) -> str:
    """Return PEM text with line ends where a file of properties had `\\n`, blanks, or nothing.

    Source: DefaultSslEngineFactory.PemParser of Kafka, which takes any white space in the body.
    """
    if text is None:
        return ""
    if len(text) > FILE_BYTES_MAX:
        raise TlsError(f"a text of {len(text)} characters is too long for PEM")
    text = text.replace("\\n", "\n")
    parts: list[str] = []
    done, begin = 0, None
    for mark in _MARK.finditer(text):
        if mark[1] == "BEGIN":
            begin = mark
        elif begin is not None and begin[2] == mark[2]:
            body = text[begin.end() : mark.start()]
            body = body.strip() if ":" in body else "\n".join(body.split())
            parts += text[done : begin.start()], f"{begin[0]}\n{body}\n{mark[0]}\n"
            done, begin = mark.end(), None
    return _ascii("".join([*parts, text[done:]]))


def _ascii(pem: str) -> str:
    """Return PEM as OpenSSL takes it: people write names between certificates in any script."""
    return pem.encode("ascii", "replace").decode()


def _first_certificate(pem: str) -> str:
    start = pem.index("-----BEGIN CERTIFICATE-----")
    return pem[start : pem.index(_END, start) + len(_END)] + "\n"


@contextmanager
def _memory_file(pem: str) -> Iterator[str]:
    """Give the text a path for as long as the block runs."""
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _password(settings: TlsSettings) -> Callable[[], str]:
    """Return what OpenSSL calls for an encrypted key; without it, it would ask the terminal."""

    def password() -> str:
        if settings.key_password is None:
            raise ValueError("the private key is encrypted and ssl.key.password is not set")
        return settings.key_password

    return password


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    if reason:
        return str(reason).lower().replace("_", " ")
    # The line of OpenSSL's source says nothing to those who read it.
    text = str(error).partition(" (_ssl.c:")[0]
    return UNREADABLE if text == "[SSL] PEM lib" else text
