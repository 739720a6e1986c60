"""Sockets that are ready: those that ask for little first, and each in long work gets its turn."""

from __future__ import annotations

import select
from typing import Any

import pytest

from broker.loop.turns import Turns
from broker.server.ready_sockets import (
    BROKEN,
    CREDIT_MAX,
    LONG_NS,
    PROMPT_CREDIT,
    SILENT,
    UNWATCHED,
    ReadySockets,
    ServiceClock,
    judge,
)

IN = select.EPOLLIN


class Epoll:
    """Reports the same sockets at each poll, as they stay ready until they are read or no longer watched."""

    def __init__(self, *descriptors: int, mask: int = IN) -> None:
        self.descriptors = list(descriptors)
        self.mask = mask

    def modify(self, descriptor: int, mask: int) -> None:
        assert mask == 0
        assert not self.mask & BROKEN
        self.descriptors.remove(descriptor)

    def unregister(self, descriptor: int) -> None:
        self.descriptors.remove(descriptor)

    def poll(self, _timeout: float, _count: int) -> list[tuple[int, int]]:
        return [(descriptor, self.mask) for descriptor in self.descriptors]


class Socket:
    """As much of a transport as is asked for."""

    def __init__(self, descriptor: int, *, long: bool = False, new: bool = False) -> None:
        self.descriptor = descriptor
        self.long = long
        self.credit = 0
        self.new = new
        self.interest = IN

    def fileno(self) -> int:
        return self.descriptor


def ready(epoll: Epoll) -> ReadySockets:
    watched: Any = epoll
    return ReadySockets(watched)


def sockets(*long: int, short: tuple[int, ...] = ()) -> Any:
    return {number: Socket(number, long=number in long) for number in (*long, *short)}


def test_clients_are_told_apart_by_their_past_and_listeners_come_before_them() -> None:
    queue, transports = ready(Epoll(1, 2, 3, 4, 5)), sockets(2, short=(1, 5))
    transports[4] = Socket(4, new=True)
    transports[5].credit = PROMPT_CREDIT
    queue.poll(transports)
    assert (queue.others, queue.prompt, queue.short) == ({3: IN}, {5: IN}, {1: IN})
    assert (queue.long, queue.edge) == ({2: IN}, {4: IN})
    assert queue


def test_a_client_that_asks_for_little_is_seen_although_a_crowd_is_not_served_yet() -> None:
    epoll = Epoll(*range(10, 500))
    queue, transports = ready(epoll), sockets(short=(1, *range(10, 500)))
    transports[1].credit = CREDIT_MAX
    queue.poll(transports)
    epoll.descriptors.append(1)
    queue.poll(transports)
    assert (list(queue.prompt), len(queue.short)) == ([1], 490)


def test_a_crowd_that_comes_is_reported_once_and_does_not_fill_the_next_reports() -> None:
    epoll = Epoll(*range(10, 500))
    queue = ready(epoll)
    transports: Any = {number: Socket(number, new=True) for number in range(10, 500)}
    queue.poll(transports)
    assert (len(queue.edge), epoll.descriptors) == (490, [])
    assert {transport.interest for transport in transports.values()} == {SILENT}


@pytest.mark.parametrize("mask", [select.EPOLLHUP, select.EPOLLERR | IN, select.EPOLLHUP | select.EPOLLRDHUP])
def test_a_crowd_that_leaves_is_taken_out_of_the_epoll_which_would_report_it_for_ever(mask: int) -> None:
    epoll = Epoll(*range(10, 500), mask=mask)
    queue, transports = ready(epoll), sockets(short=tuple(range(10, 500)))
    queue.poll(transports)
    assert (len(queue.edge), epoll.descriptors) == (490, [])
    assert {transport.interest for transport in transports.values()} == {UNWATCHED}


def test_one_long_service_does_not_make_a_client_long_that_has_asked_for_little() -> None:
    client: Any = Socket(1)
    for _ in range(CREDIT_MAX + 5):
        judge(client, LONG_NS)
    assert client.credit == CREDIT_MAX
    judge(client, 3 * LONG_NS)
    assert (client.long, client.credit) == (False, CREDIT_MAX - 12)
    judge(client, 3 * LONG_NS)
    assert (client.long, client.credit) == (True, 0)
    judge(client, LONG_NS)
    assert (client.long, client.credit) == (False, 1)


def test_a_client_without_credit_is_long_after_its_first_long_service() -> None:
    client: Any = Socket(1)
    judge(client, LONG_NS + 1)
    assert client.long


def test_long_work_goes_round_however_often_the_first_is_ready_again() -> None:
    queue, transports = ready(Epoll(1, 2, 3)), sockets(1, 2, 3)
    served = []
    for _ in range(6):
        queue.poll(transports)
        served.append(queue.first(queue.long)[0])
    assert served == [1, 2, 3, 1, 2, 3]


def test_a_closed_socket_is_forgotten() -> None:
    queue, transports = ready(Epoll(1)), sockets(1)
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
    queue = ready(Epoll(1, 2, mask=event))
    queue.poll(sockets(short=(1, 2)))
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
