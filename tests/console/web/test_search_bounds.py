"""The bounds of a search: time, records, and a page that is left."""

from __future__ import annotations

from console.web.search_bounds import BEYOND_FULL, RECORDS_MAX, SECONDS_MAX, Bounds


def test_time_ends_it() -> None:
    now = 0.0
    bounds = Bounds(lambda: now)
    now = SECONDS_MAX
    assert not bounds.spent()
    now += 0.1
    assert bounds.spent()


def test_records_end_it() -> None:
    bounds = Bounds(lambda: 0.0)
    bounds.take(RECORDS_MAX - 1)
    assert not bounds.spent()
    bounds.take(1)
    assert bounds.spent()


def test_a_full_page_counts_on_for_a_bounded_number() -> None:
    bounds = Bounds(lambda: 0.0)
    bounds.page_is_full()
    bounds.take(BEYOND_FULL - 1)
    assert not bounds.spent()
    bounds.take(1)
    assert bounds.spent()


def test_a_page_that_is_left_ends_it() -> None:
    bounds = Bounds(lambda: 0.0)
    bounds.leave()
    assert bounds.spent()
    assert bounds.left


def test_the_time_counts_from_its_beginning() -> None:
    now = [0.0]
    bounds = Bounds(lambda: now[0], seconds=5)
    now[0] = 9.0  # its process had to be started
    bounds.begin()
    assert not bounds.spent()
    now[0] = 14.5
    assert bounds.spent()
