"""Bytes in and out of a socket that takes and gives a little at a time."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

import pytest

from broker.server.transport import (
    BUFFERS_PER_SEND,
    RANGE_BYTES_MIN,
    SEND_BYTES_PER_TURN,
    PlainTransport,
)
from tests.broker.gateway import Gateway
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.ranges import FakeFile, file_range, put
from wal.disk_errors import DiskError


@pytest.fixture
def fake() -> FakeSocket:
    """Return the client's socket."""
    return FakeSocket()


@pytest.fixture
def transport(fake: FakeSocket) -> PlainTransport:
    """Return a transport over the fake socket."""
    sock: Any = fake
    return PlainTransport(sock, Gateway().client().connection, host="a")


@pytest.fixture
def sendfile(fake: FakeSocket, monkeypatch: pytest.MonkeyPatch) -> list[FakeFile]:
    """Let os.sendfile send from the only file in the list to the fake socket."""
    files: list[FakeFile] = []

    def send(_out: int, _descriptor: int, position: int, count: int) -> int:
        if not fake.room:
            raise BlockingIOError
        part = files[0].data[position : position + min(count, fake.room)]
        fake.taken += part
        fake.room -= len(part)
        return len(part)

    monkeypatch.setattr("broker.server.transport.os.sendfile", send)
    assert os.sendfile is send
    return files


def test_a_receive_tells_how_much_came(transport: PlainTransport, fake: FakeSocket) -> None:
    fake.incoming = [b"abc"]
    assert transport.receive() == 3
    assert transport.drained
    assert transport.receive() == -1


def test_a_full_buffer_is_not_the_end(transport: PlainTransport, fake: FakeSocket) -> None:
    fake.incoming = [b"x" * (1 << 20)]
    assert transport.receive() == 64 << 10
    assert not transport.drained


def test_the_end_of_the_stream_is_told(transport: PlainTransport, fake: FakeSocket) -> None:
    fake.incoming = [b""]
    assert transport.receive() == 0


def test_parts_leave_gathered_and_in_order(transport: PlainTransport, fake: FakeSocket) -> None:
    put(transport, b"ab", b"cd", b"ef")
    transport.send(5)
    assert (bytes(fake.taken), fake.calls) == (b"abcdef", [(3, 0)])
    assert not transport.blocked
    assert transport.connection.outgoing_bytes == 0


def test_what_a_socket_does_not_take_is_sent_later(transport: PlainTransport, fake: FakeSocket) -> None:
    put(transport, b"abc", b"def")
    for room in (2, 0, 3, 100):
        fake.room = room
        transport.send(5)
    assert bytes(fake.taken) == b"abcdef"
    assert not transport.blocked
    assert transport.connection.memory_bytes == 0


def test_only_what_is_taken_counts_as_progress(transport: PlainTransport, fake: FakeSocket) -> None:
    put(transport, b"abc")
    fake.room = 0
    transport.send(10)
    assert (transport.blocked, transport.connection.unsent_since_ms) == (True, 10)
    transport.send(20)
    assert transport.connection.unsent_since_ms == 10
    fake.room = 1
    transport.send(30)
    assert transport.connection.unsent_since_ms == 30


def test_many_parts_take_several_calls(transport: PlainTransport, fake: FakeSocket) -> None:
    put(transport, *[b"x"] * (BUFFERS_PER_SEND + 1))
    transport.send(0)
    assert fake.calls == [(BUFFERS_PER_SEND, 0), (1, 0)]


def test_one_connection_does_not_send_all_day(transport: PlainTransport, fake: FakeSocket) -> None:
    put(transport, *[b"x" * SEND_BYTES_PER_TURN] * 2, b"rest")
    for left in (SEND_BYTES_PER_TURN + 4, 4):
        transport.send(0)
        assert (transport.blocked, transport.connection.outgoing_bytes) == (True, left)
    transport.send(0)
    assert (transport.blocked, len(fake.taken)) == (False, 2 * SEND_BYTES_PER_TURN + 4)


def test_a_call_takes_a_part_of_a_large_buffer_however_much_room_the_socket_has(
    transport: PlainTransport, fake: FakeSocket
) -> None:
    """4 MiB in one call took 15 ms of a turn."""
    whole = bytes(range(256)) * (3 * SEND_BYTES_PER_TURN // 256)
    put(transport, b"head", whole, b"tail")
    turns = 0
    while not turns or transport.blocked:
        transport.send(0)
        turns += 1
        assert len(fake.taken) <= turns * SEND_BYTES_PER_TURN
    assert (turns, bytes(fake.taken)) == (4, b"head" + whole + b"tail")


def test_a_call_sends_a_part_of_a_large_range(
    transport: PlainTransport, fake: FakeSocket, sendfile: list[FakeFile]
) -> None:
    sendfile.append(file := FakeFile(bytes(range(256)) * (5 * SEND_BYTES_PER_TURN // 512)))
    put(transport, file_range(file, 0, len(file.data)))
    for taken in (1, 2, 2.5):
        transport.send(0)
        assert len(fake.taken) == taken * SEND_BYTES_PER_TURN
    assert not transport.blocked
    assert bytes(fake.taken) == file.data


def test_a_range_of_a_file_is_sent_from_the_file(
    transport: PlainTransport, fake: FakeSocket, sendfile: list[FakeFile]
) -> None:
    file = FakeFile(b"0123456789")
    sendfile.append(file)
    put(transport, b"head", file_range(file, 2, 6), b"tail")
    for room in (5, 2, 100):
        fake.room = room
        transport.send(0)
    assert bytes(fake.taken) == b"head234567tail"
    assert fake.calls[0] == (1, socket.MSG_MORE)
    assert not file.reads


def test_a_small_range_counts_as_a_larger_one(
    transport: PlainTransport, fake: FakeSocket, sendfile: list[FakeFile]
) -> None:
    sendfile.append(file := FakeFile(b"0123456789"))
    calls = SEND_BYTES_PER_TURN // RANGE_BYTES_MIN
    put(transport, *(file_range(file, number % 10, 1) for number in range(calls + 5)))
    transport.send(0)
    assert (transport.blocked, len(fake.taken)) == (True, calls)


def test_a_file_that_ends_too_early_breaks_the_connection(
    transport: PlainTransport, sendfile: list[FakeFile]
) -> None:
    file = FakeFile(b"01")
    sendfile.append(file)
    put(transport, file_range(file, 0, 6))
    with pytest.raises(OSError, match="'segment' ends before byte 2"):
        transport.send(0)


def test_a_cold_range_waits_until_it_is_warm(
    transport: PlainTransport, fake: FakeSocket, sendfile: list[FakeFile]
) -> None:
    file = FakeFile(b"0123456789", cold=True)
    sendfile.append(file)
    part = file_range(file, 0, 10, maybe_cold=True)
    put(transport, part)
    transport.send(0)
    assert (transport.blocked, bytes(fake.taken)) == (True, b"")
    part.maybe_cold = False
    transport.send(0)
    assert bytes(fake.taken) == b"0123456789"


def test_a_range_that_is_in_memory_is_sent_at_once(
    transport: PlainTransport, fake: FakeSocket, sendfile: list[FakeFile]
) -> None:
    file = FakeFile(b"0123456789")
    sendfile.append(file)
    put(transport, file_range(file, 0, 10, maybe_cold=True))
    transport.send(0)
    assert bytes(fake.taken) == b"0123456789"


def test_a_range_that_was_not_compared_with_its_crcs_waits_although_it_is_in_memory(
    transport: PlainTransport, fake: FakeSocket, sendfile: list[FakeFile]
) -> None:
    file = FakeFile(b"0123456789")
    sendfile.append(file)
    part = file_range(file, 0, 10, must_load=True)
    put(transport, part)
    transport.send(0)
    assert (transport.blocked, bytes(fake.taken)) == (True, b"")
    part.load()
    transport.send(0)
    assert bytes(fake.taken) == b"0123456789"


def test_a_file_that_cannot_be_read_is_told_from_a_broken_connection(
    transport: PlainTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: int) -> int:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr("os.sendfile", fail)
    put(transport, file_range(FakeFile(b"0123456789"), 0, 10))
    with pytest.raises(DiskError, match="read from 'segment' failed"):
        transport.send(0)
