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
        "kawal_remote_past_cuts",
        "Past moments of the copy that are kept for a restore (kawal.remote.history.ms).",
        value=counts["past_cuts"],
    )
    yield GaugeMetricFamily(
        "kawal_remote_stopped",
        "1 if nothing more is copied until the next start (the log says why), else 0.",
        value=counts["stopped"],
    )
    yield from _tier_families(counts)
    if "heartbeat_signs" in counts:
        yield from _heartbeat_families(counts)
    if "journal_puts" in counts:
        yield from _journal_families(counts)
    if counts["lag_ms"] >= 0:
        yield GaugeMetricFamily(
            "kawal_remote_lag_seconds",
            "Age of the newest moment of which everything durable is in the object store.",
            value=counts["lag_ms"] / 1000,
        )


def _heartbeat_families(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the families of the signs of life, without which a standby takes over."""
    yield CounterMetricFamily(
        "kawal_remote_heartbeats",
        "Signs of life that the object store has taken.",
        value=counts["heartbeat_signs"],
    )
    yield CounterMetricFamily(
        "kawal_remote_heartbeat_failures",
        "Signs of life that did not reach the object store.",
        value=counts["heartbeat_failures"],
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
        "kawal_remote_read_ahead_bytes",
        "Bytes among the fetched ones that were asked for before a sequential reader came to them.",
        value=counts["ahead_bytes"],
    )
    yield CounterMetricFamily(
        "kawal_remote_unread_bytes",
        "Bytes that were read ahead and dropped without having been read.",
        value=counts["unread_bytes"],
    )
    yield CounterMetricFamily(
        "kawal_remote_read_failures",
        "Blocks that the object store did not give when they were asked for.",
        value=counts["read_failures"],
    )


def _journal_families(counts: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the families of durability `remote`, whose acknowledgements wait for the object store."""
    yield CounterMetricFamily(
        "kawal_remote_journal_puts",
        "Chunks that the object store has taken, a request each.",
        value=counts["journal_puts"],
    )
    yield CounterMetricFamily(
        "kawal_remote_journal_stored_bytes", "Bytes of them.", value=counts["journal_stored_bytes"]
    )
    yield CounterMetricFamily(
        "kawal_remote_journal_put_seconds",
        "Time of all of them together, from the first try on.",
        value=counts["journal_put_ms"] / 1000,
    )
    yield CounterMetricFamily(
        "kawal_remote_journal_failures",
        "Tries that the object store did not answer well; each is repeated.",
        value=counts["journal_failures"],
    )
    yield CounterMetricFamily(
        "kawal_remote_journal_local_failures",
        "Those at the disk, which did not give back what was to be sent; after 8 in a row the logs stop.",
        value=counts["journal_local_failures"],
    )
    yield GaugeMetricFamily(
        "kawal_remote_journal_puts_in_flight", "Chunks on their way.", value=counts["journal_in_flight"]
    )
    yield GaugeMetricFamily(
        "kawal_remote_journal_waiting_bytes",
        "Bytes that are on the disk, and not acknowledged yet as the object store lacks them.",
        value=counts["journal_waiting_bytes"],
    )
    states = GaugeMetricFamily(
        "kawal_remote_journal_state",
        "1 for the state: waiting (for the first copy), open, fenced (until the next start).",
        labels=["state"],
    )
    for state in ("waiting", "open", "fenced"):
        states.add_metric([state], counts[f"journal_{state}"])
    yield states
