"""The lag of groups over time: bounded, with gaps, and apart for each user."""

from __future__ import annotations

from console.web.lag_history import (
    APART_MS,
    GAP_MS,
    GROUPS_MAX,
    POINTS_MAX,
    SAMPLES_MAX,
    LagHistory,
    Sample,
    drawing_of,
)


def test_a_group_keeps_its_newest_samples_only() -> None:
    history = LagHistory()
    for number in range(SAMPLES_MAX + 10):
        history.add("", "g", Sample(number * APART_MS, number, None))
    samples = history.of("", "g")
    assert len(samples) == SAMPLES_MAX
    assert samples[-1].records == SAMPLES_MAX + 9


def test_the_group_that_was_looked_at_longest_ago_is_forgotten() -> None:
    history = LagHistory()
    history.add("", "first", Sample(0, 1, None))
    for number in range(GROUPS_MAX - 1):
        history.add("", str(number), Sample(0, 1, None))
    history.add("", "first", Sample(APART_MS, 1, None))
    history.add("", "one more", Sample(0, 1, None))
    assert len(history.of("", "first")) == 2
    assert history.of("", "0") == []


def test_a_user_does_not_see_what_another_saw() -> None:
    history = LagHistory()
    history.add("alice", "g", Sample(0, 7, None))
    assert history.of("bob", "g") == []


def test_many_looks_at_once_do_not_shorten_the_time() -> None:
    history = LagHistory()
    for time_ms in range(100):
        history.add("", "g", Sample(time_ms, time_ms, None))
    assert [sample.records for sample in history.of("", "g")] == [0, 99]


def test_a_clock_that_is_set_back_begins_anew() -> None:
    history = LagHistory()
    history.add("", "g", Sample(1_000_000, 1, None))
    history.add("", "g", Sample(0, 2, None))
    assert history.of("", "g") == [Sample(0, 2, None)]


def test_a_time_in_which_nobody_looked_is_a_gap() -> None:
    late = 3 * GAP_MS
    drawing = drawing_of([Sample(0, 5, 1.0), Sample(3_000, 6, None), Sample(late, 7, 2.5)])
    assert drawing.records[:4] == [5, 5, 5, 6]
    assert drawing.records[4:-1] == [None] * (len(drawing.records) - 5)
    assert drawing.records[-1] == 7
    assert (drawing.top_records, drawing.top_seconds, drawing.since_ms) == (7, 2.5, 0)


def test_many_samples_are_drawn_by_the_largest_of_each_time() -> None:
    drawing = drawing_of([Sample(n * APART_MS, 1_000 if n == 333 else 1, None) for n in range(SAMPLES_MAX)])
    assert len(drawing.records) == POINTS_MAX
    assert drawing.records.count(1_000) == 1
    assert drawing.top_seconds is None


def test_nothing_and_a_single_sample_can_be_drawn() -> None:
    assert drawing_of([]).records == ()
    assert drawing_of([Sample(5, 3, 0.5)]).records == [3, None]
