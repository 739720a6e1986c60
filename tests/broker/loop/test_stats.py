"""Counters: requests by API and version, commits."""

from broker.loop.stats import Stats


class Finished:
    """A call that has its answer."""

    size_bytes = response_bytes = 1
    count = 1
    logged = False
    received_ns = began_ns = answered_ns = released_ns = handled_ns = 0

    def __init__(self, api_key: int, version: int) -> None:
        self.api_key = api_key
        self.version = version


def test_requests_are_counted_by_api_and_version_and_their_time_by_api() -> None:
    stats = Stats()
    stats.completed([Finished(0, 9)], 1000)
    stats.completed([Finished(0, 9), Finished(0, 9)], 3000)
    stats.completed([Finished(0, 8), Finished(1, 9), Finished(0, 8)], 4000)
    assert {key: counts.count for key, counts in stats.requests.items()} == {9: 3, 8: 2, 1 << 16 | 9: 1}
    assert {key: api.total_ns.total for key, api in stats.apis.items()} == {0: 15_000, 1: 4000}


def test_of_requests_that_are_counted_together_those_to_be_logged_are_told() -> None:
    stats, logged = Stats(), [Finished(0, 9) for _ in range(3)]
    logged[1].logged = True
    told: list[tuple[Finished, int]] = []
    stats.on_logged = lambda call, sent_ns: told.append((call, sent_ns))
    stats.completed(logged, 7)
    assert told == [(logged[1], 7)]


def test_commits_are_counted_with_their_duration_and_size() -> None:
    stats = Stats()
    stats.committed(duration_ns=500, sync_ns=400, batches=3, size_bytes=4096)
    assert (stats.commit_ns.total, stats.commit_bytes.total) == (500, 4096)
    assert (stats.sync_ns.total, stats.commit_batches.total) == (400, 3)
