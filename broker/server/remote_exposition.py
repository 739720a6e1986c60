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
    yield from _tier_families(counts)
    if counts["lag_ms"] >= 0:
        yield GaugeMetricFamily(
            "kawal_remote_lag_seconds",
            "Age of the newest moment of which everything durable is in the object store.",
            value=counts["lag_ms"] / 1000,
        )


def _tier_families(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the families of records that are in the object store alone."""
    yield GaugeMetricFamily(
        "kawal_remote_only_segments",
        "Segments that have left the disk, of topics with remote.storage.enable.",
        value=counts["only_segments"],
    )
    yield GaugeMetricFamily("kawal_remote_only_bytes", "Their size.", value=counts["only_bytes"])
    yield CounterMetricFamily(
        "kawal_remote_fetched_bytes",
        "Bytes of them read back from the object store.",
        value=counts["fetched_bytes"],
    )
    yield CounterMetricFamily(
        "kawal_remote_served_bytes",
        "Bytes of them given to readers; the fetched ones divided by them are the read amplification.",
        value=counts["served_bytes"],
    )
    yield CounterMetricFamily(
        "kawal_remote_read_failures",
        "Blocks that the object store did not give when they were asked for.",
        value=counts["read_failures"],
    )
