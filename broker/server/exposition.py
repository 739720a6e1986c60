"""The Prometheus exposition of a broker's snapshot: its text, made in a thread.

Durations are in seconds and sizes in bytes, as is usual in Prometheus.  Cardinality is bounded: requests by
the APIs and versions that are served, partitions by `kawal.metrics.partitions.max`, those of groups by
`kawal.metrics.group.partitions.max`, and share groups by `kawal.metrics.share.groups.max`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import GCCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from broker.coordinators.group_snapshot import GroupSnapshot
from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.server.audit_exposition import audit_families
from broker.server.group_exposition import group_families
from broker.server.listener_exposition import listener_families
from broker.server.node_exposition import node_families
from broker.server.remote_exposition import remote_families
from broker.server.security_exposition import login_families, token_families
from broker.server.transaction_exposition import transaction_families
from broker.snapshot import HistogramCopy, Snapshot
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.fetching.share_snapshot import ShareSnapshot

SECOND_NS: Final = 1_000_000_000

DURATION_BITS: Final = range(14, 38, 2)
"""Bucket bounds of durations: 16 µs, 66 µs, 0.26, 1, 4.2, 17 and 67 ms, 0.27, 1.1, 4.3, 17 and 69 s."""

PHASE_BITS: Final = range(14, 38, 4)
"""The same, a factor of 16 apart: there are five phases for each API."""

SIZE_BITS: Final = range(8, 28, 2)
"""Bucket bounds of sizes: 256 bytes to 64 MiB."""

COUNT_BITS: Final = range(1, 13)
"""Bucket bounds of counts: 1, 3, 7 ... 4095, which are exact for whole numbers."""

SYNC_HELP: Final = "Time of only the sync that makes a commit durable."
COMMIT_HELP: Final = "Time a thread took to write and sync one commit."
TURN_HELP: Final = (
    "Time of a turn of the event loop, during which no other request was served, by the API or the kind of "
    "work that took the most of it."
)
OVER_BUDGET_HELP: Final = "Turns that took more than 5 ms of processor."
LATENCY_HELP: Final = (
    "Time from a complete request until its answer has left, including waits for data and for the disk."
)
PHASE_HELP: Final = (
    "Time of a request by phase: queue (until the loop came to it), local (decoded and handled), remote "
    "(waiting for the disk, for data, or its next slice), response (encoded, earlier answers ready), send."
)

COUNTERS: Final = {
    "received_bytes": "Bytes received from Kafka clients.",
    "sent_bytes": "Bytes sent to Kafka clients.",
    "connections_opened": "Connections accepted.",
    "connections_refused": "Connections closed at accept because a limit was reached.",
    "connections_held_back": "Times a connection was not read because of the memory that clients hold.",
    "fetch_sessions_evicted": "Fetch sessions ended to make room for others.",
    "fetch_sessions_refused": "Fetches answered without the session they asked for, as there was no room.",
    "group_members_refused": "Members of groups refused because of the memory that members take.",
    "group_offsets_refused": "Committed offsets refused because of the memory that all of them take.",
    "producer_records_repeated": "Records dropped because they repeat others (kawal.dedup=seqno).",
    "catalogue_changes_refused": "Changes of the catalogue refused because of the memory that it takes.",
    "producers_forgotten": "Idempotent producers forgotten because of the memory that all of them take.",
    "share_dead_letters": "Dead letters of share groups that were stored.",
    "share_dead_letter_failures": "Attempts to store dead letters that failed; they are repeated.",
    "commits_failed": "Commits that failed on the disk; none of their records was acknowledged.",
    "compaction_passes": "Partitions compacted by key, each pass counted.",
    "compaction_failures": "Compaction passes that failed.",
    "compaction_read_bytes": "Bytes that compaction has read.",
    "compaction_written_bytes": "Bytes that compaction has kept.",
    "compaction_removed_records": "Records that compaction has removed.",
}

GAUGES: Final = {
    "connections": "Connections of Kafka clients.",
    "parked_fetches": "Fetches that wait for data.",
    "share_partitions_held_by_dead_letters": "Partitions of share groups whose dead letters cannot be"
    " stored; the log says why.",
    "fetch_sessions": "Fetch sessions kept.",
    "fetch_session_bytes": "Memory of the fetch sessions kept.",
    "group_member_bytes": "Memory of what members of groups say about themselves, and of assignments.",
    "group_offset_bytes": "Memory of committed offsets, those of open transactions included.",
    "catalogue_bytes": "Memory of topics, settings, users, access rules and quotas.",
    "producer_bytes": "Memory of the idempotent producers of all partitions.",
    "aborted_transaction_bytes": "Memory of aborted transactions, whose records are still there.",
    "named_producer_bytes": "Memory of the producers of kawal.dedup=seqno.",
    "tail_cache_bytes": "Memory of recent records, from which readers at the end are served.",
    "receive_slab_bytes": "Memory into which large requests are received; recent records may lie in it.",
    "requests_in_work_bytes": "Memory of requests that are unanswered or still arriving.",
    "answers_unsent_bytes": "Memory of answers that clients have not taken yet.",
    "partitions_from_splits": "Partitions that were made by splits.",
    "producer_bindings": "Named producers whose last number is remembered (kawal.dedup=seqno).",
    "topics": "Topics.",
    "partitions": "Partitions.",
    "orphan_streams": "Streams that belong to no topic and are kept: 'kawal wal orphans' shows them.",
    "uncompacted_partitions": "Partitions that compaction cannot read and leaves alone until a restart.",
    "view_cache_bytes": "Memory for what views found in their sources.",
    "partitions_without_metrics": "Partitions without metrics, beyond kawal.metrics.partitions.max.",
}


def _encoder_for(accept: str) -> tuple[Callable[..., bytes], str]:
    """Return the format that a client asks for, the plain one if its wish cannot be understood."""
    try:
        found: tuple[Callable[..., bytes], str] = choose_encoder(accept)
    except (TypeError, ValueError):
        # prometheus_client compares and converts what the header says of versions without a look at it.
        found = choose_encoder("")
    return found


def render(
    snapshot: Snapshot,
    groups: GroupSnapshot,
    transactions: TransactionSnapshot,
    accept: str,
    shares: ShareSnapshot | None = None,
) -> tuple[bytes, str]:
    """Return the exposition text and its content type, in the form that the Accept header prefers."""
    registry = CollectorRegistry()
    registry.register(_SnapshotCollector(snapshot, groups, transactions, shares))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    encoder, content_type = _encoder_for(accept)
    return encoder(registry), content_type


class _SnapshotCollector(Collector):
    def __init__(
        self,
        snapshot: Snapshot,
        groups: GroupSnapshot,
        transactions: TransactionSnapshot,
        shares: ShareSnapshot | None,
    ) -> None:
        self._snapshot = snapshot
        self._groups = groups
        self._transactions = transactions
        self._shares = shares

    def collect(self) -> Iterable[Metric]:
        """Yield all families of our own."""
        snapshot = self._snapshot
        yield InfoMetricFamily("kawal_build", "This server.", {"version": _version()})
        yield from _request_families(snapshot)
        yield from _plain_families(snapshot)
        yield _histogram("kawal_commit_seconds", COMMIT_HELP, snapshot.commit_ns, DURATION_BITS, SECOND_NS)
        yield _histogram("kawal_sync_seconds", SYNC_HELP, snapshot.sync_ns, DURATION_BITS, SECOND_NS)
        yield _count_histogram("kawal_commit_batches", "Batches in a commit.", snapshot.commit_batches)
        yield _histogram("kawal_commit_bytes", "Size of a commit.", snapshot.commit_bytes, SIZE_BITS, 1)
        yield from _turn_families(snapshot)
        yield from _vnode_families(snapshot)
        yield from _partition_families(snapshot)
        yield from _view_families(snapshot)
        yield from group_families(self._groups)
        yield from transaction_families(self._transactions)
        yield from audit_families(snapshot.audit)
        yield from remote_families(snapshot.remote)
        yield from node_families(snapshot.nodes)
        if self._shares is not None:
            from broker.server.share_exposition import share_families  # nothing of it without share groups

            yield from share_families(self._shares)
        yield from _disk_families(snapshot.data_directory)


def _version() -> str:
    try:
        return metadata.version("kawal")
    except metadata.PackageNotFoundError:
        return "unknown"


def _buckets(found: HistogramCopy, bits: range, unit: int) -> list[tuple[str, float]]:
    """Return cumulative counts by upper bound, as Prometheus requires."""
    rows = [(repr((1 << bit) / unit), float(sum(found.counts[: bit + 1]))) for bit in bits]
    return [*rows, ("+Inf", float(sum(found.counts)))]


def _histogram(name: str, text: str, found: HistogramCopy, bits: range, unit: int) -> Metric:
    family = HistogramMetricFamily(name, text)
    family.add_metric([], _buckets(found, bits, unit), found.total / unit)
    return family


def _count_histogram(name: str, text: str, found: HistogramCopy) -> Metric:
    rows = [(repr(float((1 << bit) - 1)), float(sum(found.counts[: bit + 1]))) for bit in COUNT_BITS]
    family = HistogramMetricFamily(name, text)
    family.add_metric([], [*rows, ("+Inf", float(sum(found.counts)))], found.total)
    return family


def _request_families(snapshot: Snapshot) -> Iterator[Metric]:
    requests = CounterMetricFamily("kawal_requests", "Requests answered.", labels=["api", "version"])
    errors = CounterMetricFamily(
        "kawal_request_errors",
        "Error codes in answers; one answer may carry several.",
        labels=["api", "version", "error"],
    )
    for counts in snapshot.requests:
        labels = [counts.api, str(counts.version)]
        requests.add_metric(labels, counts.answered)
        for code, count in sorted(counts.errors.items()):
            errors.add_metric([*labels, ErrorCode(code).name], count)
    latency = HistogramMetricFamily("kawal_request_seconds", LATENCY_HELP, labels=["api"])
    phases = HistogramMetricFamily("kawal_request_phase_seconds", PHASE_HELP, labels=["api", "phase"])
    received = CounterMetricFamily("kawal_request_bytes", "Bytes of requests.", labels=["api"])
    sent = CounterMetricFamily("kawal_response_bytes", "Bytes of answers.", labels=["api"])
    for of_api in snapshot.apis:
        buckets = _buckets(of_api.total, DURATION_BITS, SECOND_NS)
        latency.add_metric([of_api.api], buckets, of_api.total.total / SECOND_NS)
        for phase, found in of_api.phases.items():
            buckets = _buckets(found, PHASE_BITS, SECOND_NS)
            phases.add_metric([of_api.api, phase], buckets, found.total / SECOND_NS)
        received.add_metric([of_api.api], of_api.request_bytes)
        sent.add_metric([of_api.api], of_api.response_bytes)
    yield from (requests, errors, latency, phases, received, sent)


def _plain_families(snapshot: Snapshot) -> Iterator[Metric]:
    for name, text in COUNTERS.items():
        yield CounterMetricFamily(f"kawal_{name}", text, value=snapshot.counters[name])
    for name, text in GAUGES.items():
        yield GaugeMetricFamily(f"kawal_{name}", text, value=snapshot.gauges[name])
    closed = CounterMetricFamily("kawal_connections_closed", "Connections ended, by cause.", labels=["cause"])
    for cause, count in snapshot.closed.items():
        closed.add_metric([cause], count)
    yield closed
    yield from _quota_families(snapshot)
    yield from listener_families(snapshot)
    yield from login_families(snapshot.logins)
    yield from token_families(snapshot.tokens, snapshot.logins)
    software = GaugeMetricFamily(
        "kawal_connections_by_software",
        "Connections by the software that the client names.",
        labels=["software", "version"],
    )
    for pair, count in snapshot.software.items():
        software.add_metric(pair, count)
    yield software
    errors = CounterMetricFamily(
        "kawal_internal_errors",
        "Errors of our own, by the place that they ended; the server's log has their causes.",
        labels=["place"],
    )
    for place, count in snapshot.internal_errors.items():
        errors.add_metric([place], count)
    yield errors


def _quota_families(snapshot: Snapshot) -> Iterator[Metric]:
    throttled = CounterMetricFamily(
        "kawal_throttled_requests",
        "Requests whose clients were told to wait, and connections closed, by the quota that was exceeded.",
        labels=["quota"],
    )
    waited = CounterMetricFamily(
        "kawal_throttle_seconds", "The time that they were told to wait.", labels=["quota"]
    )
    for quota, (count, wait_ms) in snapshot.throttled.items():
        throttled.add_metric([quota], count)
        waited.add_metric([quota], wait_ms / 1_000)
    yield from (throttled, waited)


def _turn_families(snapshot: Snapshot) -> Iterator[Metric]:
    turns = HistogramMetricFamily("kawal_loop_turn_seconds", TURN_HELP, labels=["api"])
    slow = CounterMetricFamily("kawal_loop_turns_over_budget", OVER_BUDGET_HELP, labels=["api"])
    for counts in snapshot.turns:
        buckets = _buckets(counts.duration, DURATION_BITS, SECOND_NS)
        turns.add_metric([counts.work], buckets, counts.duration.total / SECOND_NS)
        slow.add_metric([counts.work], counts.over_budget)
    yield from (turns, slow)
    yield GaugeMetricFamily(
        "kawal_loop_turn_longest_seconds",
        "The longest turn of the event loop in the last one to two minutes.",
        value=snapshot.longest_turn_ns / SECOND_NS,
    )


def _vnode_families(snapshot: Snapshot) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "kawal_log_state",
        "1 for the present state of a write-ahead log.",
        labels=["log", "state", "durability"],
    )
    for vnode in snapshot.vnodes:
        state.add_metric([vnode.name, vnode.state, vnode.durability], 1)
    yield state
    columns = {
        "segments": ("Segment files of a write-ahead log.", "segment_count"),
        "bytes": ("Bytes written to the segments of a write-ahead log.", "size_bytes"),
        "streams": (
            "Partitions with data in a write-ahead log, and compacted copies.",
            "stream_count",
        ),
        "open_frame_bytes": ("Bytes that wait for the next commit.", "open_frame_bytes"),
    }
    yield from _table("kawal_log", columns, ["log"], [([vnode.name], vnode) for vnode in snapshot.vnodes])


def _partition_families(snapshot: Snapshot) -> Iterator[Metric]:
    columns = {
        "log_start_offset": ("First offset of a partition.", "log_start"),
        "high_watermark": ("Offset after the last record of a partition.", "high_watermark"),
        "bytes": ("Bytes of a partition's record batches.", "size_bytes"),
    }
    rows = [([state.topic, str(state.partition)], state) for state in snapshot.partitions]
    yield from _table("kawal_partition", columns, ["topic", "partition"], rows)


VIEW_COUNTERS: Final = {
    "scanned": ("kawal_view_records_scanned", "Records that a view evaluated."),
    "matched": ("kawal_view_records_matched", "Records among them that a view shows."),
    "unfit": ("kawal_view_records_unfit", "Records that do not fit the columns that a view reads."),
    "shown": ("kawal_view_batches_shown", "Batches handed out; several readers may get the same."),
}


def _view_families(snapshot: Snapshot) -> Iterator[Metric]:
    for attribute, (name, text) in VIEW_COUNTERS.items():
        family = CounterMetricFamily(name, text, labels=["topic"])
        for view in snapshot.views:
            family.add_metric([view.name], getattr(view, attribute))
        yield family


def _table(
    prefix: str, columns: dict[str, tuple[str, str]], labels: list[str], rows: list[tuple[list[str], Any]]
) -> Iterator[Metric]:
    """Yield a gauge for each column, with a value for each row."""
    for name, (text, attribute) in columns.items():
        family = GaugeMetricFamily(f"{prefix}_{name}", text, labels=labels)
        for values, row in rows:
            family.add_metric(values, getattr(row, attribute))
        yield family


def _disk_families(path: str) -> Iterator[Metric]:
    found = os.statvfs(path)
    free = GaugeMetricFamily("kawal_disk_free_bytes", "Free space of the data directory's file system.")
    free.add_metric([], found.f_bavail * found.f_frsize)
    size = GaugeMetricFamily("kawal_disk_bytes", "Size of the data directory's file system.")
    size.add_metric([], found.f_blocks * found.f_frsize)
    yield from (free, size)
