"""The clock of a broker of a test."""

from __future__ import annotations

from broker.server.testing.clock import Clock


class Steady:
    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


def test_it_runs_with_the_steady_clock() -> None:
    steady = Steady()
    clock = Clock(steady)
    steady.now_ms = 1_500
    assert clock.now_ms() == 1_500
    assert not clock.is_stopped


def test_stopped_it_shows_the_moment_and_goes_on_from_there() -> None:
    steady = Steady()
    clock = Clock(steady)
    clock.stop()
    steady.now_ms = 9_000
    assert clock.now_ms() == 1_000
    clock.go()
    assert clock.now_ms() == 1_000
    steady.now_ms = 9_010
    assert clock.now_ms() == 1_010


def test_it_is_moved_on_running_and_stopped_and_never_back() -> None:
    clock = Clock(Steady())
    clock.move_to(3_000)
    assert clock.now_ms() == 3_000
    clock.move_to(10)
    assert clock.now_ms() == 3_000
    clock.stop()
    clock.move_to(4_000)
    assert clock.now_ms() == 4_000
    clock.go()
    assert clock.now_ms() == 4_000


def test_going_without_having_stopped_changes_nothing() -> None:
    clock = Clock(Steady())
    clock.go()
    assert clock.now_ms() == 1_000
