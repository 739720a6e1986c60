"""Counters: requests by API and version, commits."""

from broker.loop.stats import Stats


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
