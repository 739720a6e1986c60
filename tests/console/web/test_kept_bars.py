"""Histograms that are kept: how many, and for how long."""

from __future__ import annotations

from console.web.kept_bars import KEPT_MAX, KEPT_SECONDS, KeptBars, TimeBar

BARS = [TimeBar(0, 1, 7)]


def test_so_many_ranges_are_kept_and_the_oldest_go() -> None:
    kept = KeptBars(lambda: 0.0)
    for number in range(KEPT_MAX + 1):
        kept.put((number,), BARS)
    assert kept.get((0,)) is None
    assert kept.get((1,)) == BARS


def test_they_are_kept_for_a_minute_from_the_time_at_which_they_were_made() -> None:
    now = [0.0]
    kept = KeptBars(lambda: now[0])
    kept.put((1,), BARS)
    now[0] = KEPT_SECONDS - 1
    assert kept.get((1,)) == BARS
    now[0] = KEPT_SECONDS
    assert kept.get((1,)) is None
    kept.put((1,), BARS)
    assert kept.get((1,)) == BARS
