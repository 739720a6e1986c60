"""Transports carry the bytes of one client; buffers and file ranges leave without being joined."""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from typing import Any, Final, Protocol

from broker.connections.connection import Connection
from wal.disk_errors import disk_error
from wal.segment import FileRange

BUFFERS_PER_SEND: Final = 256
"""Buffers gathered into one sendmsg; Linux takes 1,024 (IOV_MAX)."""

SEND_BYTES_PER_TURN: Final = (1 << 20) + (64 << 10)
"""Bytes that one connection may send in a turn before the others get theirs: 0.2 ms, and up to 4 ms where the
kernel has to touch fresh memory for them.  An answer with 1 MiB of records, the limit that clients have for a
partition, goes at once.  One call takes no more than this: a socket may have room for 4 MiB."""

RANGE_BYTES_MIN: Final = 16 << 10
"""A range sent by sendfile counts as this many bytes at least: a call takes 5 to 10 µs whatever it sends."""

RECEIVES_PER_TURN: Final = 16
"""Receive calls for one connection in a turn: a large request takes few turns, and no client starves."""


_RESET_AT_CLOSE: Final = struct.pack("ii", 1, 0)


class Transport(Protocol):
    """A non-blocking socket and the connection it carries, as the reactor uses them.

    `receive` and `send` do what is possible at once and never wait.
    """

    host: str
    """The client's address."""
    epoll: select.epoll
    """The epoll that watches it."""
    interest: int
    """The events that the reactor has registered with epoll; negative: none until it is served."""
    new: bool
    """True until it was served for the first time."""
    credit: int
    """What it has earned by asking for little (ready_sockets.py)."""
    long: bool
    """True if its work takes long."""
    used_ns: int
    """The processor time that it has used, less what it had used before `used_window`."""
    used_window: int
    """The window of time in which it was served last (ready_sockets.py)."""
    drained: bool
    """True after a receive that did not fill the buffer: the socket is empty, or nearly so."""
    blocked: bool
    """True while there are bytes that the socket did not take."""
    warming: bool
    """True while a thread reads the range at the head into the page cache."""

    @property
    def connection(self) -> Connection:
        """The connection without its socket."""

    @property
    def wants_write(self) -> bool:
        """True while the transport itself has something to send, as in a handshake."""

    @property
    def buffered(self) -> bool:
        """True while bytes have been taken off the socket that the connection has not got."""

    def fileno(self) -> int:
        """Return the descriptor of the socket."""

    def receive(self) -> int:
        """Read once; return the number of bytes, 0 at the end of the stream, -1 if there are none yet.

        Raises:
            OSError: the connection is broken.
        """

    def send(self, now_ms: int) -> None:
        """Send as much as the socket takes; `blocked` is then set if more is left.

        Raises:
            OSError: the connection is broken.
        """

    def close(self, *, reset: bool) -> None:
        """Close the socket; with `reset` the kernel frees unsent bytes at once."""


class TransportMaker(Protocol):
    """Makes the transport of a client that a listener has accepted."""

    def __call__(self, sock: socket.socket, connection: Connection, *, host: str) -> Transport:
        """Return a transport over the non-blocking socket."""


class PlainTransport:
    """A socket without encryption."""

    epoll: select.epoll

    __slots__ = (
        "blocked",
        "connection",
        "credit",
        "drained",
        "epoll",
        "host",
        "interest",
        "long",
        "new",
        "socket",
        "used_ns",
        "used_window",
        "warming",
    )

    def __init__(self, sock: socket.socket, connection: Connection, *, host: str) -> None:
        self.socket = sock
        self.connection = connection
        self.host = host
        self.interest = 0
        self.new = True
        self.credit = 0
        self.long = False
        self.used_ns = self.used_window = 0
        self.drained = False
        self.blocked = False
        self.warming = False

    @property
    def wants_write(self) -> bool:
        """False: it sends nothing of its own."""
        return False

    @property
    def buffered(self) -> bool:
        """False: every byte goes straight to the connection."""
        return False

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self.socket.fileno()

    def close(self, *, reset: bool) -> None:
        """Close the socket."""
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        self.socket.close()

    def receive(self) -> int:
        """Read once into the connection's buffer."""
        buffer = self.connection.reader.wanted_buffer()
        try:
            count = self.socket.recv_into(buffer)
        except BlockingIOError:
            return -1
        self.drained = count < len(buffer)
        return count

    def send(self, now_ms: int) -> None:
        """Send as much as the socket takes."""
        connection = self.connection
        before_bytes = connection.outgoing_bytes
        was_blocked = self.blocked
        self.blocked = self._send_all()
        if not was_blocked or connection.outgoing_bytes != before_bytes:
            connection.active_ms = connection.unsent_since_ms = now_ms

    def _send_all(self) -> bool:
        connection = self.connection
        outgoing = connection.outgoing
        room = SEND_BYTES_PER_TURN
        if (
            connection.memory_bytes == connection.outgoing_bytes <= room
            and not connection.head_sent
            and 0 < len(outgoing) <= BUFFERS_PER_SEND
        ):
            # Nearly always: a few answers without file ranges, which all leave.
            try:
                count = self.socket.sendmsg(outgoing, (), 0)
            except BlockingIOError:
                return True
            connection.sent(count)
            room -= count
        while outgoing:
            if room <= 0 or (type(outgoing[0]) is FileRange and self._is_cold(outgoing[0])):
                return True
            try:
                if type(outgoing[0]) is FileRange:
                    count = self._send_range(outgoing[0], room)
                    room -= max(count, RANGE_BYTES_MIN)
                else:
                    count = self._send_buffers(room)
                    room -= count
            except BlockingIOError:
                return True
            connection.sent(count)
        return False

    def _is_cold(self, part: FileRange) -> bool:
        """Whether sending the range might wait for the disk: its first or last byte is not in memory.

        A range that must be compared with its CRCs counts as cold: that, too, is done in a thread.
        """
        if part.must_load:
            return True
        if not part.maybe_cold or self.connection.head_sent:
            return False
        file, last = part.file, part.position + part.size_bytes - 1
        part.maybe_cold = any(
            file.read_at_if_cached(position, 1) is None for position in (part.position, last)
        )
        return part.maybe_cold

    def _send_range(self, part: FileRange, room: int) -> int:
        head_sent = self.connection.head_sent
        position, wanted = part.position + head_sent, min(part.size_bytes - head_sent, room)
        if part.file.descriptor < 0:
            # A broker in memory: there is no file from which the kernel could send.
            return self.socket.send(part.file.read_at(position, wanted))
        try:
            count = os.sendfile(self.socket.fileno(), part.file.descriptor, position, wanted)
        except OSError as error:
            if error.errno == errno.EIO:  # of the file: a socket has other errors
                raise disk_error("read from", part.file.path, errno.EIO) from error
            raise
        if not count:
            raise OSError(f"{part.file.path!r} ends before byte {position}, which its index names")
        return count

    def _send_buffers(self, room: int) -> int:
        connection = self.connection
        buffers: list[Any] = []
        more = 0
        for part in connection.outgoing:
            if type(part) is FileRange:
                more = socket.MSG_MORE
                break
            if len(buffers) == BUFFERS_PER_SEND or room <= 0:
                break
            buffers.append(part)
            room -= len(part)
            if connection.head_sent and len(buffers) == 1:
                buffers[0] = memoryview(part)[connection.head_sent :]
                room += connection.head_sent
        if room < 0:
            last = buffers[-1]
            buffers[-1] = memoryview(last)[: len(last) + room]
        return self.socket.sendmsg(buffers, (), more)
