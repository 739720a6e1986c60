"""Sockets that are ready: those that ask for little first, and each in long work gets its turn."""

from __future__ import annotations

import select
from types import SimpleNamespace
from typing import Any

import pytest

from broker.loop.turns import Turns
from broker.server.ready_sockets import (
    BROKEN,
    CREDIT_MAX,
    EVENTS_PER_POLL,
    LONG_NS,
    PROMPT_CREDIT,
    SILENT,
    SORTED_MAX,
    UNWATCHED,
    WINDOW_BITS,
    ReadySockets,
    ServiceClock,
)

IN = select.EPOLLIN
CROWD = -7
"""The descriptor of the epoll of those without credit."""


class Epoll:
    """Reports the same sockets at each poll, as they stay ready until they are read or no longer watched."""

    def __init__(self, *descriptors: int, mask: int = IN) -> None:
        self.descriptors = list(descriptors)
        self.mask = mask

    def fileno(self) -> int:
        return CROWD

    def register(self, descriptor: int, mask: int) -> None:
        assert mask == IN
        self.descriptors.append(descriptor)

    def modify(self, descriptor: int, mask: int) -> None:
        assert mask == 0
        assert not self.mask & BROKEN
        self.descriptors.remove(descriptor)

    def unregister(self, descriptor: int) -> None:
        self.descriptors.remove(descriptor)

    def poll(self, _timeout: float, count: int) -> list[tuple[int, int]]:
        return [(descriptor, self.mask) for descriptor in self.descriptors[:count]]


class Socket:
    """As much of a transport as is asked for."""

    def __init__(self, descriptor: int, *, long: bool = False, new: bool = False) -> None:
        self.descriptor = descriptor
        self.long = long
        self.credit = 0
        self.used_ns = self.used_window = 0
        self.new = new
        self.interest = IN
        self.epoll: Any = None
        self.connection = SimpleNamespace(closed=False)

    def fileno(self) -> int:
        return self.descriptor


def ready(epoll: Epoll, transports: Any = None) -> ReadySockets:
    """Return the events of an epoll with clients, which watch there and have no credit so far."""
    alone: Any = Epoll(CROWD)
    watched: Any = epoll
    for transport in (transports or {}).values():
        transport.epoll = epoll
    return ReadySockets(alone, watched)


def sockets(*long: int, short: tuple[int, ...] = ()) -> Any:
    return {number: Socket(number, long=number in long) for number in (*long, *short)}


def test_clients_are_told_apart_by_their_past_and_listeners_come_before_them() -> None:
    transports = sockets(2, short=(1, 5))
    transports[4] = Socket(4, new=True)
    transports[5].credit = PROMPT_CREDIT
    queue = ready(Epoll(1, 2, 3, 4, 5), transports)
    queue.poll(transports)
    assert (queue.others, queue.prompt, queue.short) == ({3: IN}, {5: IN}, {1: IN})
    assert (queue.long, queue.edge) == ({2: IN}, {4: IN})
    assert queue


def test_a_client_that_asks_for_little_is_seen_although_a_crowd_is_not_served_yet() -> None:
    epoll = Epoll(*range(10, 500))
    transports = sockets(short=(1, *range(10, 500)))
    queue = ready(epoll, transports)
    transports[1].credit = CREDIT_MAX
    queue.poll(transports)
    epoll.descriptors.append(1)
    queue.poll(transports)
    assert (list(queue.prompt), len(queue.short)) == ([1], 490)


def test_a_crowd_that_comes_is_reported_once_and_does_not_fill_the_next_reports() -> None:
    epoll = Epoll(*range(10, 500))
    transports: Any = {number: Socket(number, new=True) for number in range(10, 500)}
    queue = ready(epoll, transports)
    queue.poll(transports)
    assert (len(queue.edge), epoll.descriptors) == (490, [])
    assert {transport.interest for transport in transports.values()} == {SILENT}


@pytest.mark.parametrize("mask", [select.EPOLLHUP, select.EPOLLERR | IN, select.EPOLLHUP | select.EPOLLRDHUP])
def test_a_crowd_that_leaves_is_taken_out_of_the_epoll_which_would_report_it_for_ever(mask: int) -> None:
    epoll = Epoll(*range(10, 500), mask=mask)
    transports = sockets(short=tuple(range(10, 500)))
    queue = ready(epoll, transports)
    queue.poll(transports)
    assert (len(queue.edge), epoll.descriptors) == (490, [])
    assert {transport.interest for transport in transports.values()} == {UNWATCHED}


def test_one_long_service_does_not_make_a_client_long_that_has_asked_for_little() -> None:
    client: Any = Socket(1)
    queue = ready(Epoll(1), {1: client})
    for _ in range(CREDIT_MAX + 5):
        queue.judge(client, LONG_NS)
    assert client.credit == CREDIT_MAX
    queue.judge(client, 3 * LONG_NS)
    assert (client.long, client.credit) == (False, CREDIT_MAX - 12)
    queue.judge(client, 3 * LONG_NS)
    assert (client.long, client.credit) == (True, 0)
    queue.judge(client, LONG_NS)
    assert (client.long, client.credit) == (False, 1)


def test_a_client_without_credit_is_long_after_its_first_long_service() -> None:
    client: Any = Socket(1)
    ready(Epoll(1), {1: client}).judge(client, LONG_NS + 1)
    assert client.long


class Epolls:
    """The epoll of clients with credit, and that of a crowd, which reports no more than the kernel does."""

    def __init__(self) -> None:
        alone: Any = Epoll(CROWD)
        crowd: Any = Epoll(1, *range(10, 5_000))
        self.alone, self.crowd = alone, crowd
        self.transports = sockets(short=(1, *range(10, 5_000)))
        for transport in self.transports.values():
            transport.epoll = self.crowd
        self.queue = ReadySockets(alone, crowd)
        self.client: Any = self.transports[1]

    def serve(self, times: int, took_ns: int = LONG_NS) -> None:
        for _ in range(times):
            self.queue.judge(self.client, took_ns)

    def where(self) -> tuple[bool, bool]:
        return 1 in self.alone.descriptors, 1 in self.crowd.descriptors


def test_a_client_with_credit_is_seen_at_once_whatever_crowd_is_ready() -> None:
    epolls = Epolls()
    epolls.serve(PROMPT_CREDIT - 1)
    assert epolls.where() == (False, True)
    epolls.crowd.descriptors.sort(reverse=True)
    epolls.queue.poll(epolls.transports)
    assert (len(epolls.queue.short), 1 in epolls.queue.short) == (EVENTS_PER_POLL, False)
    epolls.serve(1)
    assert epolls.where() == (True, False)
    epolls.queue.poll(epolls.transports)
    assert list(epolls.queue.prompt) == [1]


def test_a_client_that_takes_long_is_one_of_the_crowd_again() -> None:
    epolls = Epolls()
    epolls.serve(CREDIT_MAX)
    epolls.serve(1, 3 * LONG_NS)
    assert epolls.where() == (True, False)
    epolls.serve(1, 3 * LONG_NS)
    assert epolls.client.long
    assert epolls.where() == (False, True)


def test_a_client_that_is_closed_or_not_watched_is_not_moved() -> None:
    closed = SimpleNamespace(closed=True)
    for name, value in (("interest", SILENT), ("interest", UNWATCHED), ("connection", closed)):
        epolls = Epolls()
        setattr(epolls.client, name, value)
        epolls.serve(CREDIT_MAX)
        assert epolls.where() == (False, True)


def test_long_work_goes_round_however_often_the_first_is_ready_again() -> None:
    transports = sockets(1, 2, 3)
    queue = ready(Epoll(1, 2, 3), transports)
    served = []
    for _ in range(6):
        queue.poll(transports)
        served.append(queue.first(queue.long)[0])
    assert served == [1, 2, 3, 1, 2, 3]


def served_in_turn(queue: ReadySockets, transports: Any, services: int, took_ns: dict[int, int]) -> list[int]:
    """Return who is served in turns that have time for so many services."""
    queue.poll(transports)
    served = []
    for _ in range(services):
        descriptor, _ = queue.first(queue.prompt)
        served.append(descriptor)
        queue.judge(transports[descriptor], took_ns.get(descriptor, 0))
    return served


@pytest.fixture
def clock() -> list[int]:
    """Return a clock that the test sets, in nanoseconds."""
    return [1 << 40]


def by_use(clock: list[int], *clients: int) -> tuple[ReadySockets, Any, Turns]:
    """Return clients with credit that are always ready, and the turns in which they are served."""
    turns = Turns(lambda: clock[0])
    transports = sockets(short=clients)
    alone: Any = Epoll(*clients)
    crowd: Any = Epoll()
    for transport in transports.values():
        transport.credit, transport.epoll = CREDIT_MAX, alone
    return ReadySockets(alone, crowd, turns), transports, turns


def test_where_a_turn_has_no_time_for_all_those_come_first_that_have_used_the_least(clock: list[int]) -> None:
    queue, transports, turns = by_use(clock, *range(1, 41))
    took_ns = dict.fromkeys(range(1, 40), LONG_NS // 2)
    places = []
    for _ in range(60):
        turns.begin(turns.sockets)
        clock[0] += 4 * LONG_NS
        served = served_in_turn(queue, transports, 4, took_ns)
        places.append(served.index(40) if 40 in served else None)
    assert places[-40:] == [0] * 40, "the last of forty, who asks for nearly nothing"


def test_what_was_used_long_ago_counts_no_more(clock: list[int]) -> None:
    queue, transports, turns = by_use(clock, 1, 2, 3)
    orders = []
    for pause_ns in (1 << WINDOW_BITS, 40 << WINDOW_BITS):
        queue.prompt.clear()
        turns.begin(turns.sockets)
        for _ in range(200):
            queue.judge(transports[1], LONG_NS)
        queue.poll(transports)
        clock[0] += pause_ns
        turns.begin(turns.sockets)
        orders.append(served_in_turn(queue, transports, 3, {}))
    assert orders == [[2, 3, 1], [1, 2, 3]]


def test_time_is_shared_by_those_that_always_ask(clock: list[int]) -> None:
    queue, transports, turns = by_use(clock, 1, 2, 3)
    took_ns = {1: LONG_NS // 4, 2: LONG_NS // 4, 3: LONG_NS}
    services: list[int] = []
    for _ in range(300):
        turns.begin(turns.sockets)
        clock[0] += 2 * LONG_NS
        services += served_in_turn(queue, transports, 1, took_ns)
    counts = [services.count(client) for client in (1, 2, 3)]
    assert counts[2] > 20
    assert counts[2] * 3 < min(counts[:2])


def test_a_crowd_that_would_take_long_to_sort_is_served_as_it_comes(clock: list[int]) -> None:
    clients = range(1, SORTED_MAX + 3)
    queue, transports, turns = by_use(clock, *clients)
    turns.begin(turns.sockets)
    first = served_in_turn(queue, transports, 1, {1: LONG_NS})
    second = served_in_turn(queue, transports, len(clients), {})
    assert (first, second) == ([1], [*clients[1:], 1])


def test_a_closed_socket_is_forgotten() -> None:
    transports = sockets(1)
    queue = ready(Epoll(1), transports)
    queue.poll(transports)
    queue.forget(1)
    queue.forget(1)
    assert not queue


def test_requests_left_in_a_buffer_are_work_of_their_clients_level_without_an_event() -> None:
    queue, transports = ready(Epoll()), sockets(6, short=(4, 5))
    transports[5].credit = PROMPT_CREDIT
    for transport in transports.values():
        queue.resume(transport)
    assert (queue.long, queue.short, queue.prompt) == ({6: 0}, {4: 0}, {5: 0})


@pytest.mark.parametrize("event", [IN | select.EPOLLRDHUP, select.EPOLLHUP, select.EPOLLERR])
def test_clients_that_leave_wait_with_those_that_come(event: int) -> None:
    transports = sockets(short=(1, 2))
    queue = ready(Epoll(1, 2, mask=event), transports)
    queue.poll(transports)
    assert (queue.short, queue.edge) == ({}, {1: event, 2: event})
    queue.forget(1)
    assert queue.first(queue.edge) == (2, event)


class Clocks:
    """The steady clock, and the loop's processor time, whose looks are counted."""

    def __init__(self) -> None:
        self.now_ns = self.cpu_ns = 0
        self.looks = 0
        self.turns = Turns(lambda: self.now_ns, self.look)
        self.services = ServiceClock(self.turns)

    def look(self) -> int:
        self.looks += 1
        return self.cpu_ns

    def begin(self) -> None:
        self.turns.begin(self.turns.sockets)
        self.looks = 0

    def serve(self, cpu_ns: int, waiting_ns: int = 0) -> int:
        began_ns = self.now_ns
        self.now_ns += cpu_ns + waiting_ns
        self.cpu_ns += cpu_ns
        return self.services.took_ns(began_ns, self.now_ns)


def test_the_processor_time_of_short_services_is_not_asked_for() -> None:
    clocks = Clocks()
    clocks.begin()
    assert [clocks.serve(LONG_NS) for _ in range(3)] == [LONG_NS] * 3
    assert clocks.looks == 0


def test_waiting_is_not_taken_for_work() -> None:
    clocks = Clocks()
    for _ in range(2):
        clocks.begin()
        assert clocks.serve(LONG_NS // 2, 9 * LONG_NS) == LONG_NS // 2
        assert clocks.serve(3 * LONG_NS) == 3 * LONG_NS
        assert clocks.serve(3 * LONG_NS, LONG_NS) == 3 * LONG_NS
        assert clocks.looks == 3


def test_what_short_services_waited_for_is_not_added_to_a_long_one() -> None:
    clocks = Clocks()
    clocks.begin()
    clocks.serve(10, LONG_NS // 2)
    assert clocks.serve(5 * LONG_NS) == 5 * LONG_NS - LONG_NS // 2
    clocks.serve(10, LONG_NS - 10)
    assert clocks.serve(10, LONG_NS) == 0
