"""The TLS of listeners: contexts made from the configuration, made again when it or a file has changed.

A context is checked whole before it is used: a key that does not match, a file that cannot be read or has no
certificate leave the one in use as it is.  Connections keep the context with which they began.

Keys given as text are read by OpenSSL from memory (memfd): no secret gets into a file.  There is no session
resumption, so that each connection is judged by the certificates of now; a handshake costs 0.1 ms more.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.config.principal_rules import PrincipalMapper
from broker.config.tls_settings import CONVERSION, TlsSettings, tls_settings
from broker.security.certificates import read_certificate

logger = logging.getLogger("kawal.security")

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

WARN_DAYS: Final = (0, 1, 7, 30)
"""Days before the end of a certificate at which the log says so."""
DAY_S: Final = 86_400

UNREADABLE: Final = "damaged PEM, or a wrong ssl.key.password,"
"""What OpenSSL calls `[SSL] PEM lib`: it does not tell which."""

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
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
    return Tls(context, PrincipalMapper(settings.mapping_rules), own.subject, own.until_s)


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

    def laid_out(block: re.Match[str]) -> str:
        body = block[2].strip() if ":" in block[2] else "\n".join(block[2].split())
        return f"-----BEGIN {block[1]}-----\n{body}\n-----END {block[1]}-----\n"

    return _ascii(_BLOCK.sub(laid_out, (text or "").replace("\\n", "\n")))


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


class Prepared(NamedTuple):
    """The TLS of all listeners, read and checked, and not in effect yet."""

    settings: dict[str, TlsSettings]
    stamps: dict[str, Stamps]
    made: dict[str, Tls]


class TlsListeners:
    """The encrypted listeners of a server, each with the TLS that new connections get."""

    def __init__(self) -> None:
        self.current: dict[str, Tls] = {}
        self._settings: dict[str, TlsSettings] = {}
        self._stamps: dict[str, Stamps] = {}
        self._warned: dict[str, int] = {}

    def prepare(self, config: Config | None) -> Prepared:
        """Read everything that listeners need, by the same settings if there is no configuration.

        Nothing is in effect before `accept`.  Raises: ConfigError, TlsError.
        """
        wanted = self._settings if config is None else settings_of(config)
        stamps = {name: stamps_of(settings) for name, settings in wanted.items()}
        return Prepared(wanted, stamps, {name: make_tls(settings) for name, settings in wanted.items()})

    def accept(self, prepared: Prepared) -> None:
        """Let new connections have what was prepared."""
        self._settings, self._stamps, self.current = prepared
        self._warned.clear()

    def until_s(self) -> dict[str, int]:
        """Return the end of each listener's certificate, seconds since 1970."""
        return {name: tls.until_s for name, tls in self.current.items()}

    def changed(self) -> bool:
        """Whether a file has changed since it was read, or since this was asked."""
        now = {name: stamps_of(settings) for name, settings in self._settings.items()}
        changed = now != self._stamps
        self._stamps = now
        return changed

    def described(self) -> Iterator[str]:
        """Yield a line about each listener's certificate."""
        for name, tls in self.current.items():
            yield f"listener {name} has the certificate of {tls.subject!r}, valid until {_day(tls.until_s)}"

    def warn_of_expiry(self, now_s: float) -> None:
        """Log certificates that are about to expire, once at each of the limits."""
        for name, tls in self.current.items():
            left_days = (tls.until_s - now_s) / DAY_S
            limit = next((days for days in WARN_DAYS if left_days <= days), None)
            if limit is None or self._warned.get(name) == limit:
                continue
            self._warned[name] = limit
            what = f"the certificate {tls.subject!r} of the listener {name}"
            if left_days <= 0:
                logger.error("%s has expired (%s): clients refuse it", what, _day(tls.until_s))
            else:
                logger.warning("%s expires in %.1f days (%s)", what, left_days, _day(tls.until_s))


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
