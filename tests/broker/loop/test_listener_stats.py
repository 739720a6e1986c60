"""The counts of one listener's connections."""

from broker.loop.listener_stats import ListenerStats


def test_a_listener_begins_without_connections() -> None:
    assert ListenerStats() == ListenerStats(open=0, opened=0, refused=0, rests=0)
