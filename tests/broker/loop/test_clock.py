"""The monotonic clock and the time of day."""

from __future__ import annotations

from broker.loop.clock import Clock


def test_the_time_of_day_follows_the_monotonic_clock() -> None:
    clock = Clock(now_ms=100, wall_ms=1_700_000_000_000)
    assert (clock.turn_ms, clock.wall_ms(100), clock.wall_ms(105)) == (
        100,
        1_700_000_000_000,
        1_700_000_000_005,
    )


def test_a_time_of_day_that_jumps_leaves_the_monotonic_clock_alone() -> None:
    clock = Clock(now_ms=100, wall_ms=5_000)
    clock.set(now_ms=101, wall_ms=1_000)
    assert (clock.turn_ms, clock.wall_ms(101)) == (101, 1_000)
