"""The loop waits for requests itself while there are any, and visits trio in between."""

from __future__ import annotations

import select

import pytest
import trio

from broker.loop.turns import PAGE_NS
from broker.server.visits import PASSES_BESIDE_PAGES, VISIT_BESIDE_PAGES_NS, VISIT_NS
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import request_frame
from tests.broker.server.loop import Loop
from tests.broker.server.test_reactor import ids_taken

IN = select.EPOLLIN


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def test_while_requests_come_the_loop_waits_for_them_itself(loop: Loop) -> None:
    sock = loop.connect()
    for number in range(3):
        sock.incoming.append(request_frame(MetadataRequest(topics=[]), 12, number))
        loop.epoll.waiting.append([(sock.fileno(), IN)])
    loop.reactor.take_turns()
    assert ids_taken(sock) == [0, 1, 2]
    assert loop.epoll.waits == [VISIT_NS / 1e9] * 4, "the last wait has brought nothing"


def test_other_tasks_get_their_turn_however_many_requests_come(loop: Loop) -> None:
    sock = loop.connect()
    served = loop.reactor.turn

    def slow_turn(*, polled: bool = False) -> None:
        loop.clock_ns += VISIT_NS // 4
        served(polled=polled)

    loop.reactor.turn = slow_turn  # type: ignore[method-assign]
    loop.epoll.waiting = [[(sock.fileno(), IN)] for _ in range(100)]
    sock.incoming += [request_frame(MetadataRequest(topics=[]), 12, number) for number in range(100)]
    loop.reactor.take_turns()
    assert len(ids_taken(sock)) == 3


def test_while_a_page_is_made_the_visits_are_more_frequent(loop: Loop) -> None:
    loop.gateway.broker.stats.turns.asked_for_page()
    loop.reactor.take_turns()
    loop.clock_ns += PAGE_NS
    loop.reactor.take_turns()
    assert loop.epoll.waits == [VISIT_BESIDE_PAGES_NS / 1e9, VISIT_NS / 1e9]


def test_a_client_of_http_that_comes_while_requests_do_is_visited_soon(loop: Loop) -> None:
    listener = 77
    loop.reactor.expect_pages(listener)
    loop.epoll.waiting.append([(listener, IN)])
    loop.reactor.take_turns()
    assert loop.epoll.watched[listener] & select.EPOLLET, "trio accepts the client: one report is enough"
    assert loop.epoll.waits == [VISIT_NS / 1e9, VISIT_BESIDE_PAGES_NS / 1e9]


def test_the_loop_does_not_wait_beyond_a_timer(loop: Loop) -> None:
    loop.clock_ns = 10**9
    loop.reactor._timer.ends_ns = loop.clock_ns + 1_000_000
    loop.reactor.take_turns()
    assert loop.epoll.waits == [pytest.approx(0.001)]
    loop.reactor._timer.ends_ns = loop.clock_ns - 1
    loop.reactor.take_turns()
    assert len(loop.epoll.waits) == 1


def test_while_a_page_is_made_a_visit_lets_its_task_take_several_steps(loop: Loop) -> None:
    steps = [0]

    async def page() -> None:
        while True:
            steps[-1] += 1
            await trio.lowlevel.checkpoint()

    async def main() -> None:
        async with trio.open_nursery() as nursery:

            def busy_turns() -> None:
                steps.append(0)
                if len(steps) == 5:
                    loop.clock_ns += PAGE_NS
                if len(steps) == 9:
                    nursery.cancel_scope.cancel()

            loop.reactor.take_turns = busy_turns  # type: ignore[method-assign]
            loop.reactor.tick = lambda: None  # type: ignore[method-assign]
            loop.gateway.broker.scheduler.soon(busy_turns)
            nursery.start_soon(loop.reactor.run)
            nursery.start_soon(page)

    loop.gateway.broker.stats.turns.asked_for_page()
    trio.run(main)
    # Trio draws the order of the tasks in each pass by lot.
    assert abs(sum(steps[1:4]) - 3 * PASSES_BESIDE_PAGES) <= 1
    assert abs(sum(steps[5:8]) - 3) <= 1
