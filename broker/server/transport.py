"""One client's socket: bytes in, and buffers and file ranges out without joining them."""

from __future__ import annotations

import os
import socket
from collections import deque
from typing import Any, Final

from broker.connection import Connection
from wal.segment import FileRange

BUFFERS_PER_SEND: Final = 256
"""Buffers gathered into one sendmsg; Linux takes 1,024 (IOV_MAX)."""

SEND_BYTES_PER_TURN: Final = 4 * 1024 * 1024
"""Bytes one connection may send in one turn before the others have theirs."""

RECEIVES_PER_TURN: Final = 16
"""Receive calls for one connection in one turn: a large frame is read in few turns, nobody starves."""


class Transport:
    """A non-blocking socket and the connection it carries.

    `receive` and `send` do what is possible now; `interest` is what the reactor has registered with epoll.
    """

    __slots__ = ("_range_sent", "connection", "interest", "socket", "warming")

    def __init__(self, sock: socket.socket, connection: Connection) -> None:
        self.socket = sock
        self.connection = connection
        self.interest = 0
        # Bytes already sent of the file range at the head of the outgoing queue.
        self._range_sent = 0
        # True while a thread brings the range at the head into the page cache.
        self.warming = False

    def receive(self) -> int:
        """Read once; the number of bytes, 0 at the end of the stream, -1 when nothing is there.

        Raises:
            OSError: the connection is broken.
        """
        try:
            return self.socket.recv_into(self.connection.reader.wanted_buffer())
        except BlockingIOError:
            return -1

    def send(self) -> bool:
        """Send as much as the socket takes; True when more is left for later.

        Raises:
            OSError: the connection is broken.
        """
        connection = self.connection
        outgoing = connection.outgoing
        room = SEND_BYTES_PER_TURN
        while outgoing:
            if room <= 0 or (type(outgoing[0]) is FileRange and self._is_cold(outgoing[0])):
                return True
            try:
                if type(outgoing[0]) is FileRange:
                    count = self._send_range(outgoing)
                else:
                    count = self._send_buffers(outgoing)
            except BlockingIOError:
                return True
            connection.sent(count)
            room -= count
        return False

    def _is_cold(self, part: FileRange) -> bool:
        """Whether sending the range might wait for the disk: its first or last byte is not in memory."""
        if not part.maybe_cold or self._range_sent:
            return False
        file, last = part.file, part.position + part.size_bytes - 1
        part.maybe_cold = any(
            file.read_at_if_cached(position, 1) is None for position in (part.position, last)
        )
        return part.maybe_cold

    def _send_range(self, outgoing: deque[Any]) -> int:
        part: FileRange = outgoing[0]
        position = part.position + self._range_sent
        count = os.sendfile(
            self.socket.fileno(), part.file.descriptor, position, part.size_bytes - self._range_sent
        )
        if not count:
            raise OSError(f"{part.file.path!r} ends before byte {position}, which its index names")
        self._range_sent += count
        if self._range_sent == part.size_bytes:
            outgoing.popleft()
            self._range_sent = 0
        return count

    def _send_buffers(self, outgoing: deque[Any]) -> int:
        buffers: list[Any] = []
        more = 0
        for part in outgoing:
            if type(part) is FileRange:
                more = socket.MSG_MORE
                break
            if len(buffers) == BUFFERS_PER_SEND:
                break
            buffers.append(part)
        count = self.socket.sendmsg(buffers, (), more)
        left = count
        while left:
            size = len(outgoing[0])
            if size > left:
                outgoing[0] = memoryview(outgoing[0])[left:]
                break
            outgoing.popleft()
            left -= size
        return count
