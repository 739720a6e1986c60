"""The Prometheus families of the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def audit_families(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the families of a server that has an audit log."""
    if not counts:
        return
    events = CounterMetricFamily(
        "kawal_audit_events",
        "Events of the audit log: written, dropped because they could not be, left out as repeats.",
        labels=["outcome"],
    )
    for outcome in ("written", "dropped", "left_out"):
        events.add_metric([outcome], counts[outcome])
    yield events
    yield GaugeMetricFamily(
        "kawal_audit_waiting_events", "Events that are not written yet.", value=counts["waiting"]
    )
    yield GaugeMetricFamily(
        "kawal_audit_failing", "1 while the audit log cannot be written, else 0.", value=counts["failing"]
    )
