"""The metrics of share groups."""

from __future__ import annotations

import subprocess
import sys

import trio
from prometheus_client.core import Metric

from broker.fetching.share_snapshot import ShareGroupState, ShareSnapshot
from broker.server.http_conversation import HttpRequest
from broker.server.pages import pages_of
from broker.server.share_exposition import COUNTERS, share_families
from groups.share.counts import GroupCounts
from tests.broker.handlers.test_share_fetch import Jobs


def families(snapshot: ShareSnapshot) -> dict[str, Metric]:
    return {family.name: family for family in share_families(snapshot)}


def test_every_counter_and_gauge_is_told_by_group() -> None:
    counters = {name: number for number, name in enumerate(GroupCounts.__slots__, start=1)}
    states = [ShareGroupState("a", 3, 7, 1_500, counters), ShareGroupState("b", 0, 0, -1, counters)]
    found = families(ShareSnapshot(states, left_out=4))
    assert set(COUNTERS) == set(GroupCounts.__slots__)
    for name, (metric, _) in COUNTERS.items():
        samples = found[f"kawal_share_group_{metric}"].samples
        assert [(sample.labels, sample.value) for sample in samples] == [
            ({"group": group}, counters[name]) for group in ("a", "b")
        ]
    gauges = {name: [sample.value for sample in family.samples] for name, family in found.items()}
    assert gauges["kawal_share_group_records_under_way"] == [7, 0]
    assert gauges["kawal_share_group_oldest_unacknowledged_seconds"] == [1.5]
    assert gauges["kawal_share_group_members"] == [3, 0]
    assert gauges["kawal_share_groups_without_metrics"] == [4]


def test_a_scrape_shows_the_groups_that_there_are() -> None:
    jobs = Jobs()
    jobs.gateway.broker.store.path = "/"  # the simulated directory is on no file system
    jobs.produce(b"a", b"b")
    jobs.member("m1").fetch(jobs.place)

    async def scraped() -> bytes:
        pages = pages_of(jobs.gateway.broker, lambda: jobs.gateway.now_ms)
        page = await pages["/metrics"].make(HttpRequest("GET", "/metrics", "", {}, b""))
        return page.body

    text = trio.run(scraped)
    assert b'\nkawal_share_group_records_under_way{group="g"} 2.0\n' in text
    assert b'\nkawal_share_group_acquired_records_total{group="g"} 2.0\n' in text


def test_nothing_is_imported_before_there_is_a_share_group() -> None:
    code = (
        "import sys, broker.server.pages\n"
        "print([name for name in sys.modules if '.share_' in name or '.share.' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['broker.config.share_keys']\n"
