"""Ranges of an answer are read by a thread, many in one visit, and leave together."""

from __future__ import annotations

import errno

import pytest

from broker.connections.connection import Connection
from broker.loop.stats import Cause
from broker.server.transport import PlainTransport
from broker.server.warming import BUFFER_BYTES_MAX, WARM_BYTES, WARM_RANGES, Warming
from tests.broker.gateway import Gateway
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.loop import Loop
from tests.broker.server.ranges import FakeFile, file_range, put, put_into
from wal.disk_errors import DiskError, disk_error


@pytest.fixture
def connection() -> Connection:
    """Return a connection without a socket."""
    return Gateway().client().connection


def unreadable() -> None:
    raise disk_error("read from", "segment", errno.EIO)


def warm(connection: Connection) -> None:
    """Do what a thread and then the loop do."""
    warming = Warming(connection)
    warming.load()
    warming.done()


def test_small_cold_ranges_become_buffers_in_one_visit(connection: Connection) -> None:
    file = FakeFile(b"0123456789", cold=True)
    put_into(connection, b"head", *(file_range(file, n, 2, maybe_cold=True) for n in range(5)), b"tail")
    warm(connection)
    assert b"".join(connection.outgoing) == b"head" + b"0112233445" + b"tail"
    assert connection.memory_bytes == connection.outgoing_bytes == 18


def test_a_visit_ends_after_so_many_ranges(connection: Connection) -> None:
    file = FakeFile(b"0123456789", cold=True)
    put_into(connection, *(file_range(file, 0, 1, maybe_cold=True) for _ in range(WARM_RANGES + 1)))
    warm(connection)
    assert [type(part) is bytes for part in connection.outgoing] == [True] * WARM_RANGES + [False]


def test_a_visit_ends_after_so_many_bytes(connection: Connection) -> None:
    size = WARM_BYTES // 5
    file = FakeFile(bytes(size), cold=True)
    put_into(connection, *(file_range(file, 0, size, maybe_cold=True) for _ in range(7)))
    warm(connection)
    assert connection.memory_bytes == 5 * size <= WARM_BYTES


def test_a_large_range_stays_one_of_the_file(connection: Connection) -> None:
    file = FakeFile(bytes(BUFFER_BYTES_MAX), cold=True)
    part = file_range(file, 0, BUFFER_BYTES_MAX, maybe_cold=True, must_load=True)
    put_into(connection, part)
    warm(connection)
    assert list(connection.outgoing) == [part]
    assert (part.maybe_cold, part.must_load) == (False, False)


def test_a_range_that_cannot_be_read_is_an_error_when_it_is_the_first(connection: Connection) -> None:
    file = FakeFile(b"0123456789", cold=True)
    put_into(connection, file_range(file, 0, 2, must_load=True, load=unreadable))
    with pytest.raises(DiskError):
        Warming(connection).load()


def test_what_precedes_an_unreadable_range_is_sent_before_the_error(connection: Connection) -> None:
    file = FakeFile(b"0123456789", cold=True)
    bad = file_range(file, 2, 2, must_load=True, load=unreadable)
    put_into(connection, file_range(file, 0, 2, must_load=True), bad, file_range(file, 4, 2, must_load=True))
    warm(connection)
    assert connection.outgoing[0] == b"01"
    assert connection.outgoing[1] is bad
    assert bad.must_load


@pytest.mark.parametrize("sent", [1, 3, 5])
def test_what_left_while_it_was_read_takes_no_place_of_what_is_still_to_leave(
    connection: Connection, sent: int
) -> None:
    """A client could get the records of another range of the same size, or the server an IndexError."""
    file = FakeFile(b"0123456789", cold=True)
    put_into(connection, *(file_range(file, n, 2, maybe_cold=True) for n in range(5)))
    warming = Warming(connection)
    warming.load()
    connection.sent(2 * sent)
    warming.done()
    assert b"".join(connection.outgoing) == b"0112233445"[2 * sent :]


def test_of_a_range_that_left_in_part_the_rest_is_sent(connection: Connection) -> None:
    file = FakeFile(b"0123456789", cold=True)
    put_into(connection, *(file_range(file, n, 2, maybe_cold=True) for n in range(2)))
    warming = Warming(connection)
    warming.load()
    connection.sent(1)
    warming.done()
    assert (connection.head_sent, list(connection.outgoing)) == (1, [b"01", b"12"])


def test_an_answer_of_many_ranges_leaves_gathered_after_one_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch)
    sock: FakeSocket = loop.connect()
    (transport,) = loop.reactor._sockets.transports.values()
    assert isinstance(transport, PlainTransport)
    file = FakeFile(b"0123456789", cold=True)
    put(transport, b"head", *(file_range(file, n % 10, 1, maybe_cold=True) for n in range(100)))
    loop.reactor._sender.send(transport, 0)
    assert bytes(sock.taken) == b"head"
    assert len(loop.workers.tasks) == 1
    loop.workers.work()
    loop.turn()
    assert bytes(sock.taken) == b"head" + b"0123456789" * 10
    assert not loop.workers.tasks
    assert transport.connection.memory_bytes == 0


def test_the_visit_of_a_client_that_was_cut_off_meanwhile_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch)
    sock = loop.connect()
    (transport,) = loop.reactor._sockets.transports.values()
    assert isinstance(transport, PlainTransport)
    put(transport, file_range(FakeFile(b"01", cold=True), 0, 2, maybe_cold=True))
    loop.reactor._sender.send(transport, 0)
    transport.connection.abort("too slow", Cause.MEMORY)
    loop.work()
    loop.turn()
    assert (sock.closed, bytes(sock.taken)) == (True, b"")
