"""The load of a partition: when it is to be split, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.upkeep.partition_load import BACK_OFF_WINDOWS, SAMPLES_MAX, PartitionLoad
from groups.partition_tree import Range

WINDOW_MS = 10_000
ALL = Range(0, 0, 1 << 31)


def write(load: PartitionLoad, *, rate: int, for_ms: int, limit: float = 900, from_ms: int = 0) -> int | None:
    """Write at a rate (bytes per second) and return after how long a split is due."""
    for now_ms in range(from_ms, from_ms + for_ms, 100):
        if load.written(rate // 10, limit, WINDOW_MS, now_ms):
            return now_ms - from_ms
    return None


def test_a_split_is_due_when_the_rate_was_above_the_limit_for_the_window() -> None:
    due_ms = write(PartitionLoad(0), rate=1_000, for_ms=60_000)
    assert due_ms is not None
    assert WINDOW_MS <= due_ms <= 3 * WINDOW_MS
    assert write(PartitionLoad(0), rate=850, for_ms=200_000) is None


def test_a_burst_that_is_over_before_the_window_ends_splits_nothing() -> None:
    load = PartitionLoad(0)
    assert write(load, rate=5_000, for_ms=5_000) is None
    assert write(load, rate=100, for_ms=60_000, from_ms=5_000) is None
    assert load.rate_at(65_000, WINDOW_MS) == pytest.approx(100, rel=0.1)


def test_a_partition_that_could_not_be_split_is_left_for_some_windows() -> None:
    load = PartitionLoad(0)
    assert write(load, rate=2_000, for_ms=60_000) is not None
    load.could_not("one key", WINDOW_MS, 20_000)
    again_ms = write(load, rate=2_000, for_ms=500_000, from_ms=20_000)
    assert again_ms is not None
    assert again_ms >= BACK_OFF_WINDOWS * WINDOW_MS


@given(st.lists(st.integers(0, 1 << 30), min_size=2, max_size=300))
def test_each_half_of_a_split_has_some_of_the_keys_seen(places: list[int]) -> None:
    load = PartitionLoad(0)
    for place in places:
        load.sample(place)
    bound = load.bound(ALL)
    kept = set(load.samples)
    if len(kept) == 1:
        assert bound is None
    else:
        assert bound is not None
        assert min(kept) < bound <= max(kept)


def test_the_median_divides_uneven_keys() -> None:
    load = PartitionLoad(0)
    for number in range(100):
        load.sample(number)
    for _ in range(60):
        load.sample(1_000_000)
    assert load.bound(ALL) in range(75, 85)


def test_the_middle_divides_what_is_about_even() -> None:
    load = PartitionLoad(0)
    for number in range(100):
        load.sample(10 if number < 70 else ALL.high - number)
    assert load.bound(ALL) == ALL.middle


def test_samples_are_wanted_some_times_in_a_window_while_the_rate_is_above_the_limit() -> None:
    load = PartitionLoad(0)
    write(load, rate=100, for_ms=5_000)
    assert not load.wants_samples(WINDOW_MS, 5_000)
    write(load, rate=20_000, for_ms=5_000, from_ms=5_000)
    assert load.wants_samples(WINDOW_MS, 10_000)
    load.sampled_ms = 10_000
    assert not load.wants_samples(WINDOW_MS, 10_100)
    assert load.wants_samples(WINDOW_MS, 10_200)


def test_keys_outside_of_the_range_do_not_count_and_without_any_the_middle_is_taken() -> None:
    load = PartitionLoad(0)
    load.sample(5)
    assert load.bound(Range(0, 100, 200)) == 150


def test_the_samples_are_few_whatever_is_written() -> None:
    load = PartitionLoad(0)
    for number in range(100_000):
        load.sample(number)
    assert len(load.samples) <= SAMPLES_MAX
    assert load.bound(ALL) == pytest.approx(50_000, rel=0.1)
