"""The monotonic clock and the time of day."""

from __future__ import annotations

from broker.loop.clock import HOLD_MS, JUMP_MS, Clock


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


def test_a_jump_ahead_counts_for_retention_by_a_bounded_part_until_it_has_lasted() -> None:
    clock = Clock(now_ms=100, wall_ms=5_000)
    clock.set(now_ms=200, wall_ms=5_100 + 10 * JUMP_MS)
    assert (clock.settled_wall_ms, clock.distrusted_ms) == (5_100 + JUMP_MS, 9 * JUMP_MS)
    clock.set(now_ms=199 + HOLD_MS, wall_ms=5_099 + HOLD_MS + 10 * JUMP_MS)
    assert clock.distrusted_ms == 9 * JUMP_MS
    clock.set(now_ms=200 + HOLD_MS, wall_ms=5_100 + HOLD_MS + 10 * JUMP_MS)
    assert (clock.settled_wall_ms, clock.distrusted_ms) == (clock.wall_ms(clock.turn_ms), 0)


def test_many_small_jumps_count_no_more_than_one_large_one() -> None:
    clock = Clock(now_ms=0, wall_ms=0)
    for number in range(1, 100):
        clock.set(now_ms=number, wall_ms=number * JUMP_MS // 2)
    assert clock.settled_wall_ms <= 99 + JUMP_MS


def test_a_jump_that_is_taken_back_was_none_and_the_next_one_must_last_on_its_own() -> None:
    clock = Clock(now_ms=0, wall_ms=0)
    clock.set(now_ms=1, wall_ms=10 * JUMP_MS)
    clock.set(now_ms=HOLD_MS - 1, wall_ms=HOLD_MS - 1)
    assert clock.distrusted_ms == 0
    clock.set(now_ms=HOLD_MS, wall_ms=HOLD_MS + 10 * JUMP_MS)
    assert clock.distrusted_ms == 9 * JUMP_MS


def test_a_clock_far_ahead_of_the_newest_known_time_has_jumped() -> None:
    clock = Clock(now_ms=0, wall_ms=10 * JUMP_MS, last_wall_ms=0)
    assert (clock.settled_wall_ms, clock.distrusted_ms) == (JUMP_MS, 9 * JUMP_MS)
    assert Clock(now_ms=0, wall_ms=5, last_wall_ms=10 * JUMP_MS).settled_wall_ms == 5


def test_a_clock_that_was_set_back_is_followed_at_once() -> None:
    clock = Clock(now_ms=0, wall_ms=10 * JUMP_MS)
    clock.set(now_ms=1, wall_ms=1)
    assert (clock.settled_wall_ms, clock.distrusted_ms) == (1, 0)
