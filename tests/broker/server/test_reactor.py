"""A turn of the loop: ready sockets are served, follow-up work is done, saturated clients are not read."""

from __future__ import annotations

import errno
import select
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from broker.loop.internal_errors import ErrorPlace
from broker.loop.stats import Cause
from broker.server.disk_exchange import LOOK_NS
from broker.server.sockets import READ
from broker.storage.vnode import DiskJob, Vnode
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Gateway, request_frame
from tests.broker.kit import batch, create, fetching, producing, send
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.loop import Loop
from wal.memory_faults import failing

IN, OUT, HUP = select.EPOLLIN, select.EPOLLOUT, select.EPOLLHUP


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def frame(request: Any, version: int, correlation_id: int = 1) -> bytes:
    return request_frame(request, version, correlation_id)


def ids_taken(sock: FakeSocket) -> list[int]:
    """Return the correlation ids of the complete answers that a socket took."""
    found, position = [], 0
    while position + 8 <= len(sock.taken):
        size, correlation_id = struct.unpack_from(">ii", sock.taken, position)
        if position + 4 + size > len(sock.taken):
            break
        found.append(correlation_id)
        position += 4 + size
    return found


def with_topic(gateway: Gateway, name: str = "t") -> None:
    client = gateway.client()
    create(client, name)
    client.close()


def test_a_request_is_answered_in_the_turn_in_which_it_comes(loop: Loop) -> None:
    sock = loop.connect()
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 7))
    loop.turn((sock, IN))
    assert ids_taken(sock) == [7]
    assert loop.interest(sock) == READ


def test_answers_of_one_turn_leave_in_one_call(loop: Loop) -> None:
    sock = loop.connect()
    sock.incoming.append(b"".join(frame(MetadataRequest(topics=[]), 12, number) for number in range(20)))
    loop.turn((sock, IN))
    assert ids_taken(sock) == list(range(20))
    assert [count for count, _ in sock.calls] == [20]


def test_a_request_in_pieces_is_answered_after_its_last_one(loop: Loop) -> None:
    sock = loop.connect()
    data = frame(MetadataRequest(topics=[]), 12, 3)
    for position in range(len(data)):
        assert ids_taken(sock) == []
        sock.incoming.append(data[position : position + 1])
        loop.turn((sock, IN))
    assert ids_taken(sock) == [3]


def test_records_are_acknowledged_after_a_thread_has_synced_them(loop: Loop) -> None:
    with_topic(loop.gateway)
    first, other = loop.connect(), loop.connect()
    for sock in (first, other):
        sock.incoming.append(frame(producing(("t", 0, batch(b"a"))), 9))
    loop.turn((first, IN), (other, IN))
    assert (ids_taken(first), ids_taken(other)) == ([], [])
    assert len([vnode for vnode, _ in loop.workers.jobs if vnode.database == "default"]) == 1
    loop.work()
    assert (ids_taken(first), ids_taken(other)) == ([1], [1])


def test_a_parked_fetch_is_answered_when_the_records_are_there(loop: Loop) -> None:
    with_topic(loop.gateway)
    consumer, producer = loop.connect(), loop.connect()
    consumer.incoming.append(frame(fetching({("t", 0): 0}, max_wait_ms=30_000), 12))
    producer.incoming.append(frame(producing(("t", 0, batch(b"a"))), 9))
    loop.turn((consumer, IN), (producer, IN))
    loop.work()
    assert ids_taken(consumer) == [1]


def test_what_a_full_socket_does_not_take_leaves_when_it_has_room(loop: Loop) -> None:
    sock = loop.connect()
    sock.room = 10
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 5))
    loop.turn((sock, IN))
    assert (len(sock.taken), loop.interest(sock)) == (10, READ | OUT)
    sock.room = 1 << 20
    loop.turn((sock, OUT))
    assert (ids_taken(sock), loop.interest(sock)) == ([5], READ)


@pytest.mark.parametrize("how", ["end", "error", "hangup"])
def test_a_client_that_is_gone_is_forgotten(loop: Loop, how: str) -> None:
    with_topic(loop.gateway)
    sock = loop.connect()
    sock.incoming.append(frame(fetching({("t", 0): 0}, max_wait_ms=30_000), 12))
    loop.turn((sock, IN))
    assert len(loop.gateway.broker.waiters) == 1
    if how != "hangup":
        sock.incoming.append(b"" if how == "end" else ConnectionResetError(104, "Connection reset by peer"))
    loop.turn((sock, HUP if how == "hangup" else IN))
    assert sock.closed
    assert sock.fileno() not in loop.epoll.watched
    assert loop.gateway.broker.connections == {}
    assert len(loop.gateway.broker.waiters) == 0


def test_a_socket_that_breaks_while_it_is_sent_to_is_closed(loop: Loop) -> None:
    sock = loop.connect()
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12))

    def broken(*_: Any) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    sock.sendmsg = broken  # type: ignore[method-assign,assignment]
    loop.turn((sock, IN))
    assert sock.closed


def test_bad_bytes_close_after_what_was_answered_before(loop: Loop) -> None:
    sock = loop.connect()
    sock.room = 0
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 4) + struct.pack(">i", -5))
    loop.turn((sock, IN))
    assert not sock.closed
    assert loop.interest(sock) == OUT
    sock.room = 1 << 20
    loop.turn((sock, OUT))
    assert ids_taken(sock) == [4]
    assert sock.closed


def test_a_saturated_client_is_not_read_until_it_is_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, kawal_connection_in_flight_requests=3)
    with_topic(loop.gateway)
    sock = loop.connect()
    for number in range(9):
        sock.incoming.append(frame(producing(("t", 0, batch(b"%d" % number))), 9, number))
    for _ in range(4):
        loop.turn((sock, IN))
    assert len(sock.incoming) >= 5
    assert loop.interest(sock) == 0
    for _ in range(9):
        loop.work()
        loop.turn((sock, IN))
    loop.work()
    assert ids_taken(sock) == list(range(9))


def test_frames_left_in_a_full_buffer_are_served_before_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event from before the connection was held back must not read into a buffer without room."""
    loop = Loop(monkeypatch, kawal_connection_in_flight_requests=1)
    with_topic(loop.gateway)
    other, sock = loop.connect(), loop.connect()
    first = frame(producing(("t", 0, batch(b"a"))), 9, 1)
    rest = b"".join(frame(MetadataRequest(topics=[]), 12, number) for number in range(2, 4_000))
    sock.incoming += [first + rest[: (64 << 10) - len(first)], rest[(64 << 10) - len(first) :]]
    loop.turn((sock, IN))
    assert loop.gateway.broker.connections[max(loop.gateway.broker.connections)].stalled
    loop.workers.work()
    transport = loop.reactor._sockets.transports[sock.fileno()]
    for result in loop.workers.take_results():
        loop.reactor.take_in([result], loop.gateway.now_ms)
    assert not transport.connection.saturated
    loop.turn((sock, IN), (other, IN))
    for _ in range(100):
        loop.turn((sock, IN))
    assert ids_taken(sock) == list(range(1, 4_000))


def test_an_event_of_a_socket_that_is_gone_does_not_reach_the_one_that_has_its_number(loop: Loop) -> None:
    sock = loop.connect()
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12))
    loop.turn((sock, IN))
    loop.listener.accepted.clear()
    sock.incoming.append(b"")
    number = sock.fileno()
    loop.epoll.events = [(number, IN), (number, HUP)]
    loop.reactor.turn()
    assert sock.closed
    loop.listener.waiting.append("10.0.0.2")
    loop.turn((loop.listener, IN))
    (again,) = loop.listener.accepted
    assert again.fileno() == number
    loop.turn()
    assert not again.closed


def test_an_error_of_our_own_in_a_thread_is_counted_and_ends_nothing_else(loop: Loop) -> None:
    loop.gateway.break_things()
    error = ZeroDivisionError("a bug")
    loop.workers.break_task(error)
    loop.turn()
    assert loop.workers.ended == [error]
    assert loop.gateway.broker.internal_errors.counts[ErrorPlace.THREAD] == 1
    sock = loop.connect()
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 7))
    loop.turn((sock, IN))
    assert ids_taken(sock) == [7]


def test_an_error_of_our_own_in_one_socket_ends_that_connection_alone(loop: Loop) -> None:
    loop.gateway.break_things()
    broken, whole = loop.connect(), loop.connect()

    def recv_into(_buffer: memoryview) -> int:
        raise ZeroDivisionError("a bug")

    broken.recv_into = recv_into  # type: ignore[method-assign,assignment]
    whole.incoming.append(frame(MetadataRequest(topics=[]), 12, 7))
    loop.turn((broken, IN), (whole, IN))
    assert (broken.closed, ids_taken(whole)) == (True, [7])
    assert loop.gateway.broker.internal_errors.counts[ErrorPlace.CONNECTION] == 1


def test_a_failed_job_reaches_who_waits(loop: Loop) -> None:
    with_topic(loop.gateway)
    sock = loop.connect()
    sock.incoming.append(frame(producing(("t", 0, batch(b"a"))), 9))
    loop.turn((sock, IN))
    loop.gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode"))
    loop.work()
    assert ids_taken(sock) == [1]
    assert b"\0\x38" in sock.taken  # KAFKA_STORAGE_ERROR
    assert loop.gateway.broker.stats.commits_failed == 1


def test_a_stopping_server_reads_nothing_more_and_is_done_when_answers_have_left(loop: Loop) -> None:
    with_topic(loop.gateway)
    poller, producer = loop.connect(), loop.connect()
    poller.incoming.append(frame(fetching({("t", 0): 0}, max_wait_ms=30_000), 12, 1))
    producer.incoming.append(frame(producing(("t", 0, batch(b"a"))), 9))
    loop.turn((poller, IN), (producer, IN))
    loop.reactor.begin_stop()
    loop.gateway.broker.begin_stop(loop.gateway.now_ms)
    assert loop.listener.closed
    poller.incoming.append(frame(fetching({("t", 0): 0}, max_wait_ms=30_000), 12, 2))
    loop.turn((poller, IN))
    loop.work()
    assert (ids_taken(poller), ids_taken(producer)) == ([1], [1])
    assert poller.incoming
    assert not loop.reactor.busy
    loop.reactor.close()
    assert poller.closed
    assert producer.closed
    assert loop.epoll.closed


def test_a_slow_reader_keeps_a_stopping_server_busy(loop: Loop) -> None:
    sock = loop.connect()
    sock.room = 3
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12))
    loop.turn((sock, IN))
    loop.reactor.begin_stop()
    assert loop.reactor.busy
    sock.room = 1 << 20
    loop.turn((sock, OUT))
    assert not loop.reactor.busy


def test_an_aborted_connection_is_closed_without_sending(loop: Loop) -> None:
    sock = loop.connect()
    sock.room = 0
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12))
    loop.turn((sock, IN))
    (connection,) = loop.gateway.broker.connections.values()
    connection.abort("too slow", Cause.WRITE_TIMEOUT)
    sock.room = 1 << 20
    loop.turn()
    assert sock.closed
    assert not sock.taken


def test_whoever_comes_again_after_others_left_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, max_connections_per_ip=1)
    sock = loop.connect("10.0.0.1")
    assert loop.connect("10.0.0.1").closed
    sock.incoming.append(b"")
    loop.turn((sock, IN))
    loop.listener.accepted.clear()
    assert not loop.connect("10.0.0.1").closed


def test_data_sent_by_one_client_is_read_by_another(loop: Loop) -> None:
    with_topic(loop.gateway)
    send(loop.gateway.client(), "t", batch(b"from elsewhere"))
    sock = loop.connect()
    sock.incoming.append(frame(fetching({("t", 0): 0}), 12))
    loop.turn((sock, IN))
    assert b"from elsewhere" in sock.taken


def test_an_address_with_its_share_waits_and_the_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, queued_max_request_bytes=200 << 10, kawal_memory_share_per_ip=0.5)
    with_topic(loop.gateway)
    first, second, third = (loop.connect("10.0.0.1") for _ in range(3))
    other = loop.connect("10.0.0.2")
    large = frame(producing(("t", 0, batch(b"v" * (70 << 10)))), 9)
    for sock in (first, second, third):
        sock.incoming.append(large)
        loop.turn(*[(sock, IN)] * 3)
    assert [loop.interest(sock) for sock in (first, second, third)] == [READ, 0, 0]
    other.incoming.append(frame(MetadataRequest(topics=[]), 12, 7))
    loop.turn((other, IN))
    assert ids_taken(other) == [7]
    for _ in range(6):
        loop.work()
        loop.turn(*((sock, IN) for sock in (first, second, third)))
    assert [ids_taken(sock) for sock in (first, second, third)] == [[1], [1], [1]]
    assert not loop.reactor._sockets.held


def test_a_connection_that_ends_while_it_is_held_back_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, queued_max_request_bytes=200 << 10, kawal_memory_share_per_ip=0.5)
    with_topic(loop.gateway)
    first, held = loop.connect("10.0.0.1"), loop.connect("10.0.0.1")
    large = frame(producing(("t", 0, batch(b"v" * (120 << 10)))), 9)
    for sock in (first, held):
        sock.incoming.append(large)
        loop.turn(*[(sock, IN)] * 4)
    assert loop.reactor._sockets.held
    loop.turn((held, HUP))
    loop.work()
    assert ids_taken(first) == [1]
    assert not loop.reactor._sockets.held


def asked_logs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that names every log that is asked for work from now on."""
    asked: list[str] = []
    ask = Vnode.begin_jobs

    def note(vnode: Vnode, now_ms: int, *, maintains: bool = True) -> Iterator[DiskJob]:
        asked.append(vnode.name)
        return ask(vnode, now_ms, maintains=maintains)

    monkeypatch.setattr(Vnode, "begin_jobs", note)
    return asked


def test_between_two_looks_at_all_logs_only_those_with_appends_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch, kawal_vnodes=4)
    with_topic(loop.gateway)
    sock = loop.connect()
    loop.clock_ns = 1_000_000_000
    asked = asked_logs(monkeypatch)
    loop.turn()
    assert len(asked) == 5
    asked.clear()
    loop.clock_ns += LOOK_NS // 2
    loop.turn()
    assert asked == []
    sock.incoming.append(frame(producing(("t", 0, batch(b"a"))), 9))
    loop.turn((sock, IN))
    assert len(asked) == 1
    loop.work()
    assert ids_taken(sock) == [1], "an answer does not wait for the next look"
    asked.clear()
    loop.clock_ns += LOOK_NS
    loop.turn()
    assert len(asked) == 5
