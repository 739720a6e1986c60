"""The timer of the event loop goes off at the first moment that was asked for, and turns set it cheaply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from broker.server.disk_exchange import LOOK_NS
from broker.server.loop_timer import NEVER, LoopTimer
from tests.broker.gateway import Gateway
from tests.broker.server.loop import Loop


class Rig:
    """A timer over a broker whose deadlines the test chooses, and a clock that is that of trio."""

    def __init__(self) -> None:
        self.gateway = Gateway()
        self.broker = self.gateway.broker
        self.dues: dict[bool, int | None] = {False: None, True: None}
        """The broker's deadline in ms, without and with those of its logs."""
        self.asked: list[bool] = []
        self.broker.next_deadline = self._next_deadline  # type: ignore[method-assign]
        self.broker.stats.clock_ns = lambda: int(trio.current_time() * 1e9)
        self.timer = LoopTimer(self.broker, lambda: int(trio.current_time() * 1e3))
        self.ticks: list[int] = []
        """The moments at which it went off, in ms."""

    def _next_deadline(self, *, of_logs: bool = True) -> int | None:
        self.asked.append(of_logs)
        return self.dues[of_logs]

    def run(self, course: Callable[[], Awaitable[None]]) -> list[int]:
        """Run the timer beside a course of events of one second; return when it went off."""

        def tick() -> None:
            self.dues = {False: None, True: None}
            self.timer.set(None)
            self.ticks.append(round(trio.current_time() * 1e3))

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.timer.run, tick)
                await trio.testing.wait_all_tasks_blocked()
                await course()
                await trio.sleep_until(1)
                nursery.cancel_scope.cancel()

        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
        return self.ticks


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_it_goes_off_at_the_first_moment_that_was_asked_for(rig: Rig) -> None:
    async def course() -> None:
        for due_ms in (300, 200, 250):
            rig.dues = {False: due_ms, True: 100}
            rig.timer.set(NEVER)
        assert rig.timer.ends_ns == 200_000_000

    assert rig.run(course) == [200]
    assert rig.timer.ends_ns == NEVER


def test_deadlines_of_logs_count_only_after_a_look_at_all_of_them(rig: Rig) -> None:
    async def course() -> None:
        rig.dues = {False: 400, True: 100}
        rig.timer.set(150_000_000)
        assert rig.asked[-1] is False

    assert rig.run(course) == [150]
    assert rig.asked[-1] is True, "the tick has looked at all"


def test_a_moment_that_has_passed_goes_off_at_once(rig: Rig) -> None:
    async def course() -> None:
        await trio.sleep(0.5)
        rig.dues = {False: 100, True: 100}
        rig.timer.set(None)

    assert rig.run(course) == [500]


def test_a_clock_that_was_set_counts_after_the_next_tick(rig: Rig) -> None:
    """The host of the pytest plugin moves the broker's clock, and ticks."""
    ahead_ms = 0
    rig.timer = LoopTimer(rig.broker, lambda: int(trio.current_time() * 1e3) + ahead_ms)

    async def course() -> None:
        nonlocal ahead_ms
        rig.dues = {False: 800, True: 800}
        rig.timer.set(None)
        ahead_ms = 500
        rig.timer.set(None)
        assert rig.timer.ends_ns == 800_000_000
        rig.timer.forget()
        rig.timer.set(None)

    assert rig.run(course) == [300]


def test_an_error_of_a_tick_does_not_end_it(rig: Rig) -> None:
    rig.gateway.break_things()
    failures = iter([RuntimeError("broken")])

    async def main() -> None:
        def tick() -> None:
            rig.ticks.append(1)
            rig.dues = {False: None, True: None}
            for failure in failures:
                rig.dues = {False: 20, True: 20}
                raise failure

        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.timer.run, tick)
            await trio.testing.wait_all_tasks_blocked()
            rig.dues = {False: 10, True: 10}
            rig.timer.set(None)
            await trio.sleep(1)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert len(rig.ticks) == 2


def test_a_timer_ends_the_time_without_a_look_at_all_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, kawal_vnodes=4)
    looks: list[int | None] = []
    monkeypatch.setattr(loop.reactor._timer, "set", looks.append)
    loop.clock_ns = 1_000_000_000
    loop.turn()
    loop.clock_ns += LOOK_NS // 5
    loop.turn()
    assert looks == [None, 1_000_000_000 + LOOK_NS]
