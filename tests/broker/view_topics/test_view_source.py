"""The records that have been in a source for some time, and those that are new."""

from __future__ import annotations

from broker.view_topics.view_source import SETTLED_MS, ViewSource


def test_what_has_been_there_for_some_time_is_settled() -> None:
    source = ViewSource()
    assert source.settled_end(40, 0) == 40
    source.advanced(50, 1_000)
    assert source.settled_end(50, 1_000) == 0
    assert source.settled_end(50, 1_000 + SETTLED_MS) == 50
    source.advanced(60, 1_100)
    source.advanced(70, 1_000 + SETTLED_MS)
    assert source.settled_end(70, 1_000 + SETTLED_MS) == 50
    assert source.settled_end(70, 1_000 + 2 * SETTLED_MS) == 70
