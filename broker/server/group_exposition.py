"""The Prometheus families of consumer groups: lag in records and in seconds, without an exporter."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker.coordinators.group_snapshot import GroupSnapshot

LABELS = ["group", "topic", "partition"]


def group_families(snapshot: GroupSnapshot) -> Iterator[Metric]:
    """Yield all families of groups."""
    yield from _count_families(snapshot)
    offset = GaugeMetricFamily("kawal_group_offset", "Next record a group reads; -1: none.", labels=LABELS)
    records = GaugeMetricFamily("kawal_group_lag_records", "Records a group has not read.", labels=LABELS)
    seconds = GaugeMetricFamily(
        "kawal_group_lag_seconds", "Age of the first record a group has not read.", labels=LABELS
    )
    for state in snapshot.partitions:
        labels = [state.group, state.topic, str(state.partition)]
        offset.add_metric(labels, state.offset)
        records.add_metric(labels, state.lag_records)
        if state.lag_ms >= 0:
            seconds.add_metric(labels, state.lag_ms / 1000)
    yield from (offset, records, seconds)


def _count_families(snapshot: GroupSnapshot) -> Iterator[Metric]:
    counts = snapshot.counts
    groups = GaugeMetricFamily("kawal_groups", "Consumer groups.", labels=["type", "state"])
    for name, count in sorted(counts.items()):
        kind, colon, state = name.partition(":")
        if colon:
            groups.add_metric([kind, state], count)
    yield groups
    yield GaugeMetricFamily("kawal_group_members", "Members of all groups.", value=counts["members"])
    yield GaugeMetricFamily("kawal_group_offsets", "Committed offsets kept.", value=counts["offsets"])
    yield GaugeMetricFamily(
        "kawal_groups_quarantined",
        "Groups that are refused, as what is stored of them cannot be read.",
        value=counts["quarantined"],
    )
    yield CounterMetricFamily("kawal_group_rebalances", "Rebalances started.", value=counts["rebalances"])
    yield GaugeMetricFamily(
        "kawal_groups_without_metrics",
        "Groups without metrics, beyond kawal.metrics.group.partitions.max.",
        value=snapshot.groups_left_out,
    )
    yield GaugeMetricFamily(
        "kawal_retention_held_partitions",
        "Partitions kept longer than their retention, for important groups.",
        value=snapshot.held_partitions,
    )
