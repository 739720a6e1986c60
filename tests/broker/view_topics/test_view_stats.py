"""The counters of a view."""

from broker.view_topics.view_stats import ViewCounters


def test_everything_is_counted_from_nothing() -> None:
    counters = ViewCounters()
    assert (counters.scanned, counters.matched, counters.unfit, counters.shown) == (0, 0, 0, 0)
