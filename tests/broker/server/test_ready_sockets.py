"""Sockets that are ready: short work first, and each in long work gets its turn."""

from __future__ import annotations

import select
from typing import Any

import pytest

from broker.server.ready_sockets import ReadySockets

IN = select.EPOLLIN


class Epoll:
    """Reports the same sockets at each poll, as they stay ready until they are read."""

    def __init__(self, *descriptors: int, mask: int = IN) -> None:
        self.descriptors = list(descriptors)
        self.mask = mask

    def poll(self, _timeout: float, _count: int) -> list[tuple[int, int]]:
        return [(descriptor, self.mask) for descriptor in self.descriptors]


class Socket:
    """As much of a transport as is asked for."""

    def __init__(self, descriptor: int, *, long: bool = False, new: bool = False) -> None:
        self.descriptor = descriptor
        self.long = long
        self.new = new

    def fileno(self) -> int:
        return self.descriptor


def ready(epoll: Epoll) -> ReadySockets:
    watched: Any = epoll
    return ReadySockets(watched)


def sockets(*long: int, short: tuple[int, ...] = ()) -> Any:
    return {number: Socket(number, long=number in long) for number in (*long, *short)}


def test_clients_are_told_apart_by_their_last_service_and_listeners_have_short_work() -> None:
    queue = ready(Epoll(1, 2, 3, 4))
    queue.poll({**sockets(2, short=(1,)), 4: Socket(4, new=True)})  # type: ignore[dict-item]
    assert list(queue.short) == [(1, IN), (3, IN)]
    assert (queue.long, queue.edge) == ({2: IN}, {4: IN})
    assert queue


def test_nothing_more_is_asked_for_while_short_work_is_left() -> None:
    queue = ready(Epoll(1, 2))
    queue.poll({})
    queue.short.popleft()
    queue.poll({})
    assert (queue.poll_number, list(queue.short)) == (1, [(2, IN)])


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


def test_requests_left_in_a_buffer_are_long_work_without_an_event() -> None:
    queue, transports = ready(Epoll()), sockets(short=(4,))
    queue.resume(transports[4])
    assert queue
    assert queue.first(queue.long) == (4, 0)
    assert not queue


@pytest.mark.parametrize("event", [IN | select.EPOLLRDHUP, select.EPOLLHUP, select.EPOLLERR])
def test_clients_that_leave_wait_with_those_that_come(event: int) -> None:
    queue = ready(Epoll(1, 2, mask=event))
    queue.poll(sockets(short=(1, 2)))
    assert (list(queue.short), queue.edge) == ([], {1: event, 2: event})
    queue.forget(1)
    assert queue.first(queue.edge) == (2, event)
