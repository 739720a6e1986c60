"""The Prometheus families of transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily

from broker.coordinators.transaction_snapshot import TransactionSnapshot

COUNTERS: Final = {
    "begun": ("transactions_begun", "Transactions begun."),
    "committed": ("transactions_committed", "Transactions committed, with all markers written."),
    "aborted": (
        "transactions_aborted",
        "Transactions aborted, for whatever reason, with all markers written.",
    ),
    "timed_out": ("transactions_timed_out", "Transactions aborted because they took too long."),
    "fenced": (
        "transactions_fenced",
        "Transactions aborted because a newer instance of their producer came.",
    ),
}

GAUGES: Final = {
    "memory_bytes": ("transaction_bytes", "Memory of all transactional ids."),
    "undecided": ("transactions_ending", "Transactions whose markers are being written."),
}


def transaction_families(snapshot: TransactionSnapshot) -> Iterator[Metric]:
    """Yield all families of transactions."""
    counts = snapshot.counts
    ids = GaugeMetricFamily("kawal_transactional_ids", "Transactional ids.", labels=["state"])
    for name, count in sorted(counts.items()):
        kind, colon, state = name.partition(":")
        if colon and kind == "state":
            ids.add_metric([state], count)
    yield ids
    for name, (metric, text) in COUNTERS.items():
        yield CounterMetricFamily(f"kawal_{metric}", text, value=counts[name])
    for name, (metric, text) in GAUGES.items():
        yield GaugeMetricFamily(f"kawal_{metric}", text, value=counts[name])
    yield SummaryMetricFamily(
        "kawal_transaction_seconds",
        "From the first partition of a transaction to its last marker.",
        count_value=counts["committed"] + counts["aborted"],
        sum_value=counts["ended_ms"] / 1000,
    )
    yield GaugeMetricFamily(
        "kawal_transactions_hanging_partitions",
        "Partitions with a transaction that is open for too long to end by itself.",
        value=snapshot.hanging_partitions,
    )
