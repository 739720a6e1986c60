"""Ranges of files that record how they are read, for answers under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.connections.connection import Connection
from broker.server.transport import PlainTransport
from wal.segment import FileRange


def put(transport: PlainTransport, *parts: Any) -> None:
    """Add these parts to the outgoing data."""
    put_into(transport.connection, *parts)


def put_into(connection: Connection, *parts: Any) -> None:
    """Add these parts to the outgoing data of a connection without a socket."""
    for part in parts:
        connection.outgoing.append(part)
        size = len(part) if isinstance(part, bytes) else part.size_bytes
        connection.outgoing_bytes += size
        connection.memory_bytes += size if isinstance(part, bytes) else 0


class FakeFile:
    """A file that records its reads; if `cold`, it is not in memory."""

    path = "segment"
    descriptor = 77

    def __init__(self, data: bytes, cold: bool = False) -> None:
        self.data = data
        self.cold = cold
        self.reads: list[tuple[int, int]] = []

    def read_at(self, position: int, size: int) -> bytes:
        self.reads.append((position, size))
        return self.data[position : position + size]

    def read_at_if_cached(self, position: int, size: int) -> bytes | None:
        return None if self.cold else self.data[position : position + size]


class FakeShared:
    """A shared file that is always open."""

    def __init__(self, file: FakeFile) -> None:
        self.file = file


def file_range(
    file: FakeFile,
    position: int,
    size_bytes: int,
    *,
    maybe_cold: bool = False,
    must_load: bool = False,
    load: Callable[[], None] = lambda: None,
) -> FileRange:
    """Return a range of a fake file; `load` is what a thread does with it."""
    shared: Any = FakeShared(file)
    return FileRange(shared, position, size_bytes, maybe_cold=maybe_cold, must_load=must_load, load=load)
