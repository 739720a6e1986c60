"""The Prometheus families of the copy in an object store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def remote_families(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the families of a server that copies its logs to an object store."""
    if not counts:
        return
    yield CounterMetricFamily(
        "kawal_remote_uploaded_bytes", "Bytes copied to the object store.", value=counts["uploaded_bytes"]
    )
    yield CounterMetricFamily(
        "kawal_remote_rounds", "Rounds of copying that ended well.", value=counts["rounds"]
    )
    yield CounterMetricFamily(
        "kawal_remote_failures", "Rounds of copying that failed.", value=counts["failures"]
    )
    yield GaugeMetricFamily(
        "kawal_remote_segments_missing",
        "Closed segments that are not in the object store yet; with some, the copy cannot be restored.",
        value=counts["segments_missing"],
    )
    yield GaugeMetricFamily(
        "kawal_remote_stopped",
        "1 if nothing more is copied until the next start (the log says why), else 0.",
        value=counts["stopped"],
    )
    if counts["lag_ms"] >= 0:
        yield GaugeMetricFamily(
            "kawal_remote_lag_seconds",
            "Age of the newest moment of which everything durable is in the object store.",
            value=counts["lag_ms"] / 1000,
        )
