"""`/`: what there is, and the first steps where there is nothing yet."""

from __future__ import annotations

from console.web.dependents import count_views
from console.web.topic_list import Cluster, cluster_of
from console.web.visit import Answer, Rows, View, Visit, get


async def overview(visit: Visit) -> Answer:
    """Show counts of what the broker has."""
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
        context={"counts": counts, "cluster": cluster, "address": first_address(cluster)},
        rows=Rows(tuple(counts), [tuple(counts.values())]),
    )


def first_address(cluster: Cluster) -> str:
    """Return the address that clients are told to connect to."""
    return cluster.brokers[0] if cluster.brokers else ""


ROUTES = (get("/", overview),)
