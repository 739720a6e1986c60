"""`/`: what there is, and the first steps where there is nothing yet."""

from __future__ import annotations

from typing import Final

from console.errors import CommandError
from console.web.dependents import count_views
from console.web.group_list import GroupRow, groups_of, progress_of
from console.web.topic_list import Cluster, cluster_of
from console.web.visit import Answer, Rows, View, Visit, get

BEHIND_MAX: Final = 5
"""Groups that are shown as furthest behind."""
LOOKED_AT_MAX: Final = 1_000
"""Groups among which they are looked for: the page is the first one, and must be there at once."""


async def overview(visit: Visit) -> Answer:
    """Show counts of what the broker has, and the groups that are furthest behind."""
    cluster = await visit.kafka.run(cluster_of, visit.kafka.bootstrap)
    own = [topic for topic in cluster.topics if not topic.internal]
    counts = {
        "topics": len(own),
        "partitions": sum(topic.partitions for topic in own),
        "internal_topics": len(cluster.topics) - len(own),
        "views": await visit.kafka.run(count_views, visit.kafka.bootstrap),
        "groups": cluster.groups,
        "brokers": len(cluster.brokers),
    }
    return View(
        title="Overview",
        template="overview.html",
        context={
            "counts": counts,
            "cluster": cluster,
            "address": first_address(cluster),
            "behind": await visit.kafka.run(furthest_behind, visit.kafka.bootstrap, cluster.groups or 0),
        },
        rows=Rows(tuple(counts), [tuple(counts.values())]),
    )


def first_address(cluster: Cluster) -> str:
    """Return the address that clients are told to connect to."""
    return cluster.brokers[0] if cluster.brokers else ""


def furthest_behind(bootstrap: str, groups: int) -> list[GroupRow]:
    """Return the groups that are the longest time behind; none where that is not told, or too many."""
    if not 0 < groups <= LOOKED_AT_MAX:
        return []
    try:
        rows, _ = progress_of(bootstrap, groups_of(bootstrap))
    except CommandError:
        return []  # the counts are told to everyone, progress is not
    behind = [row for row in rows if row.lag]
    return sorted(behind, key=lambda row: (row.lag_seconds or 0, row.lag or 0), reverse=True)[:BEHIND_MAX]


ROUTES = (get("/", overview),)
