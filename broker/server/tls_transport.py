"""A transport over TLS: the bytes of one client, encrypted by OpenSSL on a non-blocking socket.

    new --first byte is TLS--> handshake --done--> open
     \\--anything else--> end            \\--refused--> end

Nothing is made for a client before its first byte.  Until the handshake is done the reactor takes the
connection for a new one: a turn does at least one step of a handshake, and more only if there is time
(ready_sockets.py), so that a crowd of handshakes does not hold up clients at work.

OpenSSL takes whole records off the socket, so decrypted bytes may wait inside it, of which epoll tells
nothing: `buffered`.  What a write was begun with must be offered again: `_chunk` keeps it.  The kernel cannot
send a file range here; it is read, up to `CHUNK_BYTES` at a time.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any, Final

from broker.connections.connection import ANONYMOUS, Connection
from broker.loop.security_stats import FAILED, OK
from broker.security.certificates import CertificateError, read_certificate
from broker.server.tls import Tls
from broker.server.transport import PlainTransport
from wal.segment import FileRange

CHUNK_BYTES: Final = 64 << 10
"""Bytes that are read from a file, or joined from small buffers, for one write: four records."""

SEND_BYTES_PER_TURN: Final = 1 << 20
"""Bytes that one connection may send in a turn: 0.5 ms of encryption."""

TLS_HANDSHAKE: Final = b"\x16"
"""The type of the first record of every TLS client."""


class HandshakeRefused(OSError):
    """The client cannot be served; the text says why."""


class TlsTransport(PlainTransport):
    """A socket with encryption."""

    __slots__ = ("_chunk", "_descriptor", "_done", "_secure", "_tls", "_wants_write")

    def __init__(self, sock: socket.socket, connection: Connection, *, host: str, tls: Tls) -> None:
        super().__init__(sock, connection, host=host)
        self._tls = tls
        self._descriptor = sock.fileno()
        self._secure: ssl.SSLSocket | None = None
        self._done = False
        self._chunk = memoryview(b"")
        self._wants_write = False

    def fileno(self) -> int:
        """Return the descriptor of the socket, also when it broke while it was taken over."""
        return self._descriptor

    @property
    def wants_write(self) -> bool:
        """True while a step of the handshake waits for room in the socket."""
        return self._wants_write

    @property
    def buffered(self) -> bool:
        """True while decrypted bytes wait that no event tells of."""
        return self._done and self._secure is not None and self._secure.pending() > 0

    def receive(self) -> int:
        """Read once; or go on with the handshake, which reads nothing for the connection."""
        if not self._done and not self._shake_hands():
            return -1
        assert self._secure is not None
        buffer = self.connection.reader.wanted_buffer()
        try:
            count = self._secure.recv_into(buffer)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return -1
        except ssl.SSLEOFError:
            return 0
        # Only the next read tells that the socket is empty: a record has 16 KiB at most.
        self.drained = False
        return count

    def send(self, now_ms: int) -> None:
        """Send as much as the socket takes; or go on with the handshake."""
        if not self._done and not self._shake_hands():
            return
        super().send(now_ms)

    def close(self, *, reset: bool) -> None:
        """Close the socket; a client whose answers have all left learns that nothing was cut off."""
        if self._done and not reset and not self._chunk and self._secure is not None:
            with suppress(
                OSError, ValueError
            ):  # close_notify is a courtesy; the socket may be full or closed
                self._secure.unwrap()
        super().close(reset=reset)

    # --- the handshake ---------------------------------------------------------------------------------

    def _shake_hands(self) -> bool:
        """Take the next step; return whether the handshake is done.

        Raises: OSError, for a client that cannot be served.
        """
        if self._secure is None and not self._begin():
            return False
        assert self._secure is not None
        self._wants_write = False
        # As long as it is not done, its steps wait for their turn with those of other new clients.
        self.new = True
        try:
            self._secure.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLWantWriteError:
            self._wants_write = True
            return False
        except ssl.SSLError as error:
            reason = (error.reason or str(error)).lower().replace("_", " ")
            raise self._refused(f"TLS handshake failed: {reason}") from error
        self.new = False
        self._done = True
        if self.connection.login is None:
            self.connection.principal = self._principal(self._secure)
            self.connection.ready_by_ms = None
            audit = self.connection.stats.audit
            if audit is not None and self.connection.principal != ANONYMOUS:
                if audit.blocked:
                    raise self._refused(f"the audit log cannot be written: {audit.blocked}")
                audit.accepted(self.connection, "TLS")
        self._count(OK)
        return True

    def _begin(self) -> bool:
        """Look at the first byte, and begin the handshake if it is one of TLS."""
        try:
            first = self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        if not first:
            raise HandshakeRefused("the client closed the connection")
        if first != TLS_HANDSHAKE:
            raise self._refused("the client does not speak TLS, which this listener needs")
        self._secure = self._tls.context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.socket = self._secure
        return True

    def _principal(self, secure: ssl.SSLSocket) -> str:
        """Return the principal of the client's certificate."""
        der = secure.getpeercert(binary_form=True)
        if der is None:
            return self.connection.principal
        try:
            subject = read_certificate(der).subject
        except CertificateError as error:
            raise self._refused(f"the client's certificate cannot be read: {error}") from error
        name = self._tls.mapper.name_of(subject)
        if name is None:
            raise self._refused(f"no rule of ssl.principal.mapping.rules matches {subject!r}")
        return f"User:{name}"

    def _count(self, outcome: str) -> None:
        self.connection.stats.logins.handshakes[self.connection.listener, outcome] += 1

    def _refused(self, why: str) -> HandshakeRefused:
        self._count(FAILED)
        self.connection.note_refused(why)
        return HandshakeRefused(why)

    # --- sending ---------------------------------------------------------------------------------------

    def _send_all(self) -> bool:
        assert self._secure is not None
        connection = self.connection
        room = SEND_BYTES_PER_TURN
        while connection.outgoing:
            if room <= 0:
                return True
            if not self._chunk:
                head = connection.outgoing[0]
                if type(head) is FileRange and self._is_cold(head):
                    return True
                self._chunk = self._next_chunk()
            try:
                count = self._secure.send(self._chunk)
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return True
            self._chunk = self._chunk[count:]
            connection.sent(count)
            room -= count
        return False

    def _next_chunk(self) -> memoryview:
        """Return the next bytes to be sent: of a file, of one large buffer, or of several small ones."""
        connection = self.connection
        head, sent = connection.outgoing[0], connection.head_sent
        if type(head) is FileRange:
            size = min(head.size_bytes - sent, CHUNK_BYTES)
            data = head.file.read_at(head.position + sent, size)
            if len(data) < size:
                end = head.position + sent + size
                raise OSError(f"{head.file.path!r} ends before byte {end}, which its index names")
            return memoryview(data)
        first = memoryview(head)[sent:].cast("B")
        if len(first) >= CHUNK_BYTES or len(connection.outgoing) == 1:
            return first[:CHUNK_BYTES]
        parts: list[Any] = [first]
        size = len(first)
        for number, part in enumerate(connection.outgoing):
            if number == 0:
                continue
            if type(part) is FileRange or size + len(part) > CHUNK_BYTES:
                break
            parts.append(part)
            size += len(part)
        return memoryview(b"".join(parts))
