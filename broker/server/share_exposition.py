"""The Prometheus families of share groups; imported when there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker.fetching.share_snapshot import ShareSnapshot

LABELS: Final = ["group"]

COUNTERS: Final = {
    "acquired": ("acquired_records", "Records given to members."),
    "accepted": ("accepted_records", "Records that members have processed."),
    "released": ("released_records", "Records given back by members, or taken back from those that left."),
    "rejected": ("rejected_records", "Records that members cannot process."),
    "archived": (
        "archived_records",
        "Records finished without being processed: rejected, delivered too often, missing, purged.",
    ),
    "lock_timeouts": ("lock_timeouts", "Records that a member had for too long."),
    "taken_over": ("taken_over_records", "Records taken from members that sat idle, as others asked."),
    "redeliveries": ("redeliveries", "Records given to a member that were delivered before."),
}
"""The name of a counter's family, after kawal_share_group_, and its help."""


def share_families(snapshot: ShareSnapshot) -> Iterator[Metric]:
    """Yield all families of share groups."""
    for name, (metric, text) in COUNTERS.items():
        family = CounterMetricFamily(f"kawal_share_group_{metric}", text, labels=LABELS)
        for state in snapshot.groups:
            family.add_metric([state.group], state.counters[name])
        yield family
    under_way = GaugeMetricFamily(
        "kawal_share_group_records_under_way", "Records that members have.", labels=LABELS
    )
    oldest = GaugeMetricFamily(
        "kawal_share_group_oldest_unacknowledged_seconds",
        "Age of the oldest record that is not finished.",
        labels=LABELS,
    )
    members = GaugeMetricFamily("kawal_share_group_members", "Members of a share group.", labels=LABELS)
    for state in snapshot.groups:
        under_way.add_metric([state.group], state.under_way)
        members.add_metric([state.group], state.members)
        if state.oldest_ms >= 0:
            oldest.add_metric([state.group], state.oldest_ms / 1000)
    yield from (under_way, oldest, members)
    yield GaugeMetricFamily(
        "kawal_share_states_bytes", "Memory of the states of share groups.", value=snapshot.states_bytes
    )
    yield GaugeMetricFamily(
        "kawal_share_ranges_bytes",
        "Memory of the records in flight of all share groups.",
        value=snapshot.ranges_bytes,
    )
    yield CounterMetricFamily(
        "kawal_share_acknowledgements_refused",
        "Acknowledgements refused because of the memory that records in flight take.",
        value=snapshot.refused,
    )
    yield GaugeMetricFamily(
        "kawal_share_groups_without_metrics",
        "Share groups without metrics, beyond kawal.metrics.share.groups.max.",
        value=snapshot.left_out,
    )
