"""The order of a turn: short work first, each part with its share, the rest in the next turn."""

from __future__ import annotations

import select
from typing import Any

import pytest

from broker.loop.slices import Steps
from broker.server import reactor
from broker.server.reactor import SHORT_WORK_EXPECTED_NS
from broker.server.ready_sockets import PROMPT_CREDIT
from broker.server.sockets import READ
from protocol.messages.metadata import MetadataRequest
from tests.broker.server.fakes import FakeSocket
from tests.broker.server.loop import Loop
from tests.broker.server.test_reactor import frame, ids_taken

IN = select.EPOLLIN


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def slowly(loop: Loop, sock: FakeSocket, duration_ms: int) -> None:
    """Let each receive take so long."""

    def slow(buffer: memoryview) -> int:
        loop.clock_ns += duration_ms * 1_000_000
        return FakeSocket.recv_into(sock, buffer)

    sock.recv_into = slow  # type: ignore[method-assign]


def known(loop: Loop) -> FakeSocket:
    """Return a socket that was served before."""
    sock = loop.connect()
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 0))
    loop.turn((sock, IN))
    sock.taken.clear()
    return sock


def asking(loop: Loop, number: int, duration_ms: int = 0) -> FakeSocket:
    """Return a socket with a request; its work takes so long."""
    sock = known(loop)
    sock.incoming.append(frame(MetadataRequest(topics=[]), 12, number))
    slowly(loop, sock, duration_ms)
    return sock


def test_a_long_turn_ends_and_the_rest_is_served_in_the_next_one(loop: Loop) -> None:
    socks = [asking(loop, number, duration_ms=3) for number in range(3)]
    loop.turn(*[(sock, IN) for sock in socks])
    assert [ids_taken(sock) for sock in socks] == [[0], [1], []]
    loop.turn()
    assert ids_taken(socks[2]) == [2]


def test_waiting_for_a_processor_takes_nothing_of_a_share(loop: Loop) -> None:
    """Bug: on a busy machine a turn served one client with short work, and then long work before the next."""
    socks = [asking(loop, number, duration_ms=3) for number in range(6)]
    worked_ns = 0
    loop.gateway.broker.stats.turns.cpu_ns = lambda: worked_ns
    loop.turn(*[(sock, IN) for sock in socks])
    assert [ids_taken(sock) for sock in socks] == [[number] for number in range(6)]
    # But a turn ends at some time.
    socks = [asking(loop, number, duration_ms=20) for number in range(6)]
    loop.turn(*[(sock, IN) for sock in socks])
    assert [ids_taken(sock) for sock in socks] == [[0], [1], [], [], [], []]


def test_a_socket_that_took_long_waits_for_those_with_short_work(loop: Loop) -> None:
    first, second = asking(loop, 1, duration_ms=3), asking(loop, 1, duration_ms=3)
    loop.turn((first, IN), (second, IN))
    short = asking(loop, 7)
    for sock in (first, second):
        sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 2))
    sent_ns = list[int]()
    send = short.sendmsg

    def sendmsg(buffers: list[Any], *rest: Any) -> int:
        sent_ns.append(loop.clock_ns)
        return send(buffers, *rest)

    short.sendmsg = sendmsg  # type: ignore[assignment, method-assign]
    began_ns = loop.clock_ns
    loop.turn((first, IN), (second, IN), (short, IN))
    assert sent_ns == [began_ns]
    assert [ids_taken(sock) for sock in (first, second)] == [[1, 2], [1]]
    loop.turn()
    assert ids_taken(second) == [1, 2]


def test_short_work_without_end_does_not_keep_long_work_from_its_turn(loop: Loop) -> None:
    long = asking(loop, 1, duration_ms=3)
    loop.turn((long, IN))
    long.incoming.append(frame(MetadataRequest(topics=[]), 12, 2))
    crowd = [asking(loop, number, duration_ms=1) for number in range(30)]
    loop.turn((long, IN), *[(sock, IN) for sock in crowd])
    assert ids_taken(long) == [1, 2]
    assert sum(bool(ids_taken(sock)) for sock in crowd) == 5


def test_what_slices_of_its_answers_took_counts_with_a_client_s_next_request_and_no_later(loop: Loop) -> None:
    sock = asking(loop, 1)
    transport = loop.reactor._sockets.transports[sock.fileno()]
    transport.connection.sliced_ns = 3_000_000
    levels = []
    for number in range(2, 4):
        loop.turn((sock, IN))
        levels.append(transport.long)
        sock.incoming.append(frame(MetadataRequest(topics=[]), 12, number))
    assert levels == [True, False]


@pytest.mark.parametrize("beside_short", [True, False])
def test_beside_short_work_a_turn_serves_long_work_or_runs_slices(loop: Loop, *, beside_short: bool) -> None:
    long = asking(loop, 1, duration_ms=3)
    loop.turn((long, IN))
    slices: list[int] = []

    def work() -> Steps:
        while len(slices) < 20:
            slices.append(loop.clock_ns)
            loop.clock_ns += 3_000_000
            yield

    loop.gateway.broker.scheduler.add_work(work())
    done = []
    for number in range(2, 8):
        loop.clock_ns += SHORT_WORK_EXPECTED_NS
        long.incoming.append(frame(MetadataRequest(topics=[]), 12, number))
        crowd = [asking(loop, number)] if beside_short else []
        before = len(ids_taken(long)), len(slices)
        loop.turn((long, IN), *[(sock, IN) for sock in crowd])
        done.append((len(ids_taken(long)) - before[0], len(slices) - before[1]))
    assert set(done) == ({(1, 0), (0, 1)} if beside_short else {(1, 1)})


@pytest.mark.parametrize(("took_ns", "collected"), [(100_000, 0), (2_000_000, 2)])
def test_long_slices_and_timers_are_followed_by_a_collection_of_what_they_made(
    loop: Loop, monkeypatch: pytest.MonkeyPatch, took_ns: int, collected: int
) -> None:
    """The collector itself counts objects made less those freed, and may not notice 70,000 new ones."""
    looks: list[int] = []
    monkeypatch.setattr(reactor, "collect_what_is_left", lambda: looks.append(loop.clock_ns))

    def take_time() -> None:
        loop.clock_ns += took_ns

    broker = loop.gateway.broker
    broker.scheduler.soon(take_time)
    loop.turn()
    broker.timers.add(0, lambda _: take_time())
    loop.reactor.tick()
    assert looks == [number * took_ns for number in range(1, collected + 1)]


def test_a_crowd_that_was_told_to_rest_is_not_served_in_one_turn(loop: Loop) -> None:
    socks = [known(loop) for _ in range(10)]
    for sock in socks:
        sock.incoming.append(b"".join(frame(MetadataRequest(topics=[]), 12, number) for number in range(3)))
    serve = loop.gateway.broker._dispatcher.serve

    def slow(*request: Any) -> None:
        loop.clock_ns += 1_500_000
        serve(*request)

    loop.gateway.broker._dispatcher.serve = slow  # type: ignore[assignment, method-assign]
    loop.turn(*[(sock, IN) for sock in socks])
    longest_ns = 0
    for _ in range(40):
        before_ns = loop.clock_ns
        loop.turn()
        longest_ns = max(longest_ns, loop.clock_ns - before_ns)
    assert [ids_taken(sock) for sock in socks] == [[0, 1, 2]] * 10
    assert longest_ns <= 10_000_000


def test_sending_has_a_share_of_the_turn_and_goes_on_in_the_next(loop: Loop) -> None:
    socks = [asking(loop, number) for number in range(6)]
    for sock in socks:

        def slow(buffers: list[Any], *rest: Any, sock: FakeSocket = sock) -> int:
            loop.clock_ns += 1_000_000
            return FakeSocket.sendmsg(sock, buffers, *rest)

        sock.sendmsg = slow  # type: ignore[assignment, method-assign]
    loop.turn(*[(sock, IN) for sock in socks])
    assert sum(bool(ids_taken(sock)) for sock in socks) == 4
    assert loop.reactor._pending
    loop.turn()
    assert all(ids_taken(sock) for sock in socks)
    assert not loop.reactor._pending


def test_a_crowd_that_has_just_connected_does_not_delay_those_at_work(loop: Loop) -> None:
    crowd = [loop.connect() for _ in range(40)]
    for sock in crowd:
        sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 1))
        slowly(loop, sock, duration_ms=1)
    other = asking(loop, 7)
    loop.turn(*[(sock, IN) for sock in crowd], (other, IN))
    assert ids_taken(other) == [7]
    assert sum(bool(ids_taken(sock)) for sock in crowd) == 1
    for _ in range(40):
        loop.turn()
    assert all(ids_taken(sock) == [1] for sock in crowd)


def test_a_crowd_that_asks_for_little_does_not_delay_a_client_that_has_always_done_so(loop: Loop) -> None:
    proven = known(loop)
    for number in range(PROMPT_CREDIT):
        proven.incoming.append(frame(MetadataRequest(topics=[]), 12, number))
        loop.turn((proven, IN))
    crowd = [asking(loop, 1, duration_ms=1) for _ in range(100)]
    loop.turn(*[(sock, IN) for sock in crowd])
    proven.taken.clear()
    proven.incoming.append(frame(MetadataRequest(topics=[]), 12, 7))
    loop.turn((proven, IN))
    assert ids_taken(proven) == [7]
    assert sum(bool(ids_taken(sock)) for sock in crowd) == 10
    for _ in range(20):
        loop.turn()
    assert all(ids_taken(sock) == [1] for sock in crowd)


def test_newcomers_are_watched_again_once_they_were_served(loop: Loop) -> None:
    first, second = loop.connect(), loop.connect()
    slowly(loop, first, 3)
    for sock in (first, second):
        sock.incoming.append(frame(MetadataRequest(topics=[]), 12, 1))
    loop.turn((first, IN), (second, IN))
    assert (loop.interest(first), loop.interest(second)) == (READ, 0)
    loop.turn()
    assert [ids_taken(sock) for sock in (first, second)] == [[1], [1]]
    assert loop.interest(second) == READ


def test_a_client_that_has_left_with_more_to_read_is_watched_until_all_is_read(loop: Loop) -> None:
    sock = known(loop)
    sock.incoming += [b"\0\0\0\x20", *[b"\0"] * 5, b""]
    turns = 0
    while not sock.closed and turns < 10:
        assert loop.interest(sock) == READ
        loop.turn((sock, IN | select.EPOLLHUP))
        turns += 1
    assert sock.closed
    assert turns > 1
    assert sock.fileno() not in loop.epoll.watched
