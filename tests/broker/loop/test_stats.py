"""Counters: buckets by powers of two, requests by API and version, the longest recent turn."""

import pytest

from broker.loop.stats import WINDOW_BITS, Histogram, Stats


@pytest.mark.parametrize(
    ("value", "bucket"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)]
)
def test_a_number_is_counted_below_the_next_power_of_two(value: int, bucket: int) -> None:
    histogram = Histogram()
    histogram.add(value)
    assert histogram.counts[bucket] == 1
    assert (histogram.count, histogram.total) == (1, value)
    assert value < 2**bucket


def test_the_largest_number_has_a_bucket() -> None:
    histogram = Histogram()
    histogram.add(2**64 - 1)
    assert histogram.count == 1


def test_answers_are_counted_by_api_and_version() -> None:
    stats = Stats()
    stats.answered(0, 9, 1000)
    stats.answered(0, 9, 3000)
    stats.answered(1, 9, 5000)
    latency = stats.request_stats(0, 9).latency_ns
    assert (latency.count, latency.total) == (2, 4000)
    assert sorted(stats.requests) == [9, 1 << 16 | 9]


def test_commits_are_counted_with_their_duration_and_size() -> None:
    stats = Stats()
    stats.committed(duration_ns=500, sync_ns=400, batches=3, size_bytes=4096)
    assert (stats.commit_ns.total, stats.commit_bytes.total) == (500, 4096)
    assert (stats.sync_ns.total, stats.commit_batches.total) == (400, 3)


def turn(stats: Stats, began_ns: int, duration_ns: int) -> None:
    stats.turn_began_ns = began_ns
    stats.turn_done(began_ns + duration_ns)


def test_the_longest_turn_is_told_for_one_to_two_windows() -> None:
    stats, window = Stats(), 1 << WINDOW_BITS
    turn(stats, 0, 500)
    turn(stats, 10, 70)
    assert stats.recent_longest_turn_ns(100) == 500
    turn(stats, window, 90)
    assert stats.recent_longest_turn_ns(window + 100) == 500
    turn(stats, 2 * window, 30)
    assert stats.recent_longest_turn_ns(2 * window + 100) == 90
    assert stats.turn_ns.count == 4


def test_a_long_turn_is_forgotten_while_nothing_happens() -> None:
    stats, window = Stats(), 1 << WINDOW_BITS
    turn(stats, 0, 500)
    assert stats.recent_longest_turn_ns(window) == 500
    assert stats.recent_longest_turn_ns(2 * window) == 0
    turn(stats, 5 * window, 20)
    assert stats.recent_longest_turn_ns(5 * window + 30) == 20
