"""Sample flights."""

from __future__ import annotations

import json

from console.web.sample_flights import RECORDS, SPAN_MS, flights


def test_they_are_the_same_each_time_and_lie_in_the_hours_before() -> None:
    first, again = list(flights(SPAN_MS)), list(flights(SPAN_MS))
    assert first == again
    assert len(first) == RECORDS
    times = [record.timestamp_ms for record in first]
    assert times == sorted(times, key=lambda time: time or 0)
    assert times[0] == 0
    assert (times[-1] or 0) < SPAN_MS


def test_some_are_late_and_none_ends_where_it_begins() -> None:
    rows = [json.loads(record.value or b"") for record in flights(SPAN_MS)]
    assert all(row["origin"] != row["dest"] for row in rows)
    assert 10 < sum(row["delay"] > 30 for row in rows) < RECORDS // 10
    assert len({row["carrier"] for row in rows}) == 6
