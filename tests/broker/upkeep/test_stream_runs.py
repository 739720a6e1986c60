"""Streams of topics that were made together take a run, in whatever order they are added."""

from __future__ import annotations

from broker.upkeep.stream_runs import StreamRuns


def test_streams_that_follow_each_other_are_one_run() -> None:
    runs = StreamRuns()
    for first in range(1, 1_000, 3):
        runs.add(first, 3)
    assert len(runs) == 1
    assert list(runs) == list(range(1, 1_000))


def test_streams_in_falling_order_are_one_run_too() -> None:
    runs = StreamRuns()
    for first in range(90, 0, -10):
        runs.add(first, 10)
    assert len(runs) == 1
    assert list(runs) == list(range(10, 100))


def test_runs_with_gaps_are_kept_apart_and_none_is_added_for_no_streams() -> None:
    runs = StreamRuns()
    runs.add(5, 2)
    runs.add(20, 0)
    runs.add(10, 1)
    assert len(runs) == 2
    assert list(runs) == [5, 6, 10]
