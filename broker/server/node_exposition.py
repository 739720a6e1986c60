"""The Prometheus families of the other nodes of a cluster on several machines."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker.catalogue.node_states import NodeState


def node_families(states: list[NodeState]) -> Iterator[Metric]:
    """Yield the families of a node that has others on other machines."""
    if not states:
        return
    present = GaugeMetricFamily(
        "kawal_node_present",
        "1 if the other node is there as far as this one knows, 0 if it is away.",
        labels=["node"],
    )
    unseen = GaugeMetricFamily(
        "kawal_node_unseen_seconds",
        "Time since the other node asked for the catalogue (at node 0), or answered (node 0, at the others).",
        labels=["node"],
    )
    links = CounterMetricFamily(
        "kawal_node_links", "Connections that were made to the other node.", labels=["node"]
    )
    failed = CounterMetricFamily(
        "kawal_node_requests_failed", "Requests to the other node that got no answer.", labels=["node"]
    )
    for state in states:
        labels = [str(state.node_id)]
        present.add_metric(labels, state.is_there)
        if state.unseen_ms is not None:
            unseen.add_metric(labels, state.unseen_ms / 1_000)
        links.add_metric(labels, state.links_made)
        failed.add_metric(labels, state.requests_failed)
    yield from (present, unseen, links, failed)
