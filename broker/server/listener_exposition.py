"""The Prometheus families of single listeners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker.snapshot import Snapshot

COUNTERS: Final = {
    "opened": ("kawal_listener_connections_opened", "Connections accepted, by listener."),
    "refused": (
        "kawal_listener_connections_refused",
        "Connections closed at accept because a limit was reached, by listener.",
    ),
    "rests": (
        "kawal_listener_rests",
        "Times that new clients waited because others came above max.connection.creation.rate, by listener.",
    ),
}


def listener_families(snapshot: Snapshot) -> Iterator[Metric]:
    """Yield the connections of each listener, and the end of its certificate."""
    connections = GaugeMetricFamily(
        "kawal_listener_connections", "Connections, by listener.", labels=["listener"]
    )
    for name, counts in snapshot.listeners.items():
        connections.add_metric([name], counts.open)
    yield connections
    for attribute, (family_name, text) in COUNTERS.items():
        family = CounterMetricFamily(family_name, text, labels=["listener"])
        for name, counts in snapshot.listeners.items():
            family.add_metric([name], getattr(counts, attribute))
        yield family
    until = GaugeMetricFamily(
        "kawal_tls_certificate_expiry_timestamp_seconds",
        "The end of the certificate that a listener gives to new connections.",
        labels=["listener"],
    )
    for name, seconds in snapshot.certificates_until_s.items():
        until.add_metric([name], seconds)
    yield until
