"""The lag of a group in a time in which its page was not open."""

from __future__ import annotations

import pickle

import pytest

from console.web.past_lag import MOMENTS, Past, drawing_of_past, past_lag
from console.web.search_bounds import Bounds
from tests.broker.gateway import START_MS
from tests.broker.groups import commit
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web

MINUTE = 60_000


@pytest.fixture
def web() -> Web:
    """Return a broker with a record a minute for an hour, whose group stalls after half an hour."""
    found = Web()
    client = found.broker.client()
    create(client, "t")
    for minute in range(60):
        send(client, "t", batch(b"x", timestamp_ms=found.broker.now_ms))
        if minute < 30:
            commit(client, "g", ("t", 0, minute + 1))
        found.broker.advance(MINUTE)
    return found


def lag_of(web: Web, begin_ms: int, end_ms: int, group: str = "g") -> Past:
    with web.at_work():
        found: Past = pickle.loads(pickle.dumps(past_lag(ADDRESS, group, begin_ms, end_ms, Bounds())))
    return found


def test_a_group_that_stalled_in_the_night_is_behind_by_as_many_records_and_seconds(web: Web) -> None:
    past = lag_of(web, START_MS, START_MS + 60 * MINUTE)
    assert (len(past.samples), past.whole, past.left_out) == (MOMENTS + 1, True, 0)
    by_minute = {(sample.time_ms - START_MS) // MINUTE: sample for sample in past.samples}
    assert by_minute[20].records in (0, 1)
    assert by_minute[45].records in (14, 15, 16)
    seconds = by_minute[45].seconds
    assert seconds is not None
    assert 14 * 60 <= seconds <= 16 * 60
    assert by_minute[59].records in (28, 29, 30)


def test_before_the_oldest_commit_there_is_a_gap(web: Web) -> None:
    past = lag_of(web, START_MS - 60 * MINUTE, START_MS + 60 * MINUTE)
    assert past.samples[0] == (START_MS - 60 * MINUTE, None, None)
    assert past.samples[-1].records == 30
    drawing = drawing_of_past(past.samples)
    assert drawing.records[0] is None
    assert drawing.top_records == 30


def test_a_commit_that_is_older_than_the_time_is_in_effect_all_of_it(web: Web) -> None:
    web.broker.advance(180 * MINUTE)
    past = lag_of(web, web.broker.now_ms - 30 * MINUTE, web.broker.now_ms)
    assert {sample.records for sample in past.samples} == {30}


def test_a_group_without_commits_has_no_samples(web: Web) -> None:
    assert lag_of(web, START_MS, START_MS + MINUTE, "nobody").samples == []
    assert drawing_of_past([]).top_seconds is None
