"""Fake sockets and a fake epoll, which record the calls for the tests to check."""

from __future__ import annotations

import errno
import socket
from typing import Any


class FakeSocket:
    """A client's socket that takes and gives the bytes that a test chooses."""

    def __init__(self, descriptor: int = 50) -> None:
        self.descriptor = descriptor
        self.closed = False
        self.options: dict[tuple[int, int], Any] = {}
        # The data it gives: bytes, b"" for the end, or an error to raise; if empty, it would block.
        self.incoming: list[bytes | OSError] = []
        # The number of bytes it still takes, and the bytes it took.
        self.room = 1 << 40
        self.taken = bytearray()
        self.calls: list[tuple[int, int]] = []

    def fileno(self) -> int:
        return -1 if self.closed else self.descriptor

    def setblocking(self, flag: bool) -> None:
        assert not flag

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        self.options[level, option] = value

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 9092

    def close(self) -> None:
        self.closed = True

    def recv_into(self, buffer: memoryview) -> int:
        if not self.incoming:
            raise BlockingIOError
        head = self.incoming.pop(0)
        if isinstance(head, OSError):
            raise head
        count = min(len(head), len(buffer))
        buffer[:count] = head[:count]
        if count < len(head):
            self.incoming.insert(0, head[count:])
        return count

    def sendmsg(self, buffers: list[Any], _ancillary: Any, flags: int) -> int:
        data = b"".join(bytes(buffer) for buffer in buffers)
        self.calls.append((len(buffers), flags))
        if not self.room:
            raise BlockingIOError
        taken = data[: self.room]
        self.taken += taken
        self.room -= len(taken)
        return len(taken)


class FakeListener:
    """A listening socket with clients, or errors in their place, in its queue."""

    def __init__(self, waiting: list[str | OSError], descriptor: int = 10) -> None:
        self.waiting = waiting
        self.descriptor = descriptor
        self.accepted: list[FakeSocket] = []
        self.closed = False

    def fileno(self) -> int:
        return self.descriptor

    def accept(self) -> tuple[FakeSocket, tuple[str, int]]:
        if not self.waiting:
            raise BlockingIOError
        head = self.waiting.pop(0)
        if isinstance(head, OSError):
            raise head
        self.accepted.append(FakeSocket(100 + len(self.accepted)))
        return self.accepted[-1], (head, 5000)

    def close(self) -> None:
        self.closed = True


class FakeEpoll:
    """An epoll that remembers what is watched."""

    def __init__(self) -> None:
        self.watched: dict[int, int] = {}

    def fileno(self) -> int:
        return -7

    def register(self, descriptor: int, mask: int) -> None:
        assert descriptor not in self.watched
        self.watched[descriptor] = mask

    def unregister(self, descriptor: int) -> None:
        del self.watched[descriptor]


def out_of_files() -> OSError:
    """Return the error of accept when the process has no file descriptor left."""
    return OSError(errno.EMFILE, "Too many open files")


def is_set(sock: FakeSocket, option: int, level: int = socket.SOL_SOCKET) -> bool:
    """Whether a socket option was switched on."""
    return bool(sock.options.get((level, option)))
