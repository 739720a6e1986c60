"""The exposition that Prometheus reads: names, labels, seconds and bytes, and buckets that add up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker.coordinators.group_snapshot import GroupSnapshot
from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.fetching.share_snapshot import ShareSnapshot
from broker.loop.histogram import BITS, Histogram
from broker.loop.slices import run_here
from broker.server.audit_setup import make_trail
from broker.server.exposition import render
from broker.snapshot import Snapshot
from broker.upkeep.heartbeat import Heartbeat
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, send
from tests.broker.upkeep.copies import copy_of
from wal.memory_objects import MemoryObjects
from wal.remote.heartbeat import Heart, Places

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """Return every sample by its name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


@pytest.fixture
def gateway() -> Gateway:
    """Return a gateway that has done some work."""
    gateway = Gateway(kawal_vnodes=2, delegation_token_secret_key="k")
    make_trail(gateway.broker, gateway.config, lambda _batch, done: done(None))
    copy_of(gateway, MemoryObjects())
    gateway.advance(1_500)
    client = gateway.client()
    create(client, "orders", partitions=2)
    send(client, "orders", batch(b"v" * 100), 1)
    send(client, "missing", batch(b"v"))
    client.call(ApiVersionsRequest(), 2)
    return gateway


@pytest.fixture
def rendered(gateway: Gateway) -> Samples:
    """Return the samples of its metrics."""
    return samples(text_of(gateway))


def text_of(gateway: Gateway) -> str:
    snapshot = Snapshot.take(gateway.broker)
    snapshot.data_directory = "/"  # the simulated directory is on no file system
    groups = GroupSnapshot(held_partitions=gateway.broker.retention.held_partitions)
    broker = gateway.broker
    list(groups.steps(broker.groups, broker, broker.clock, gateway.now_ms))
    body, content_type = render(snapshot, groups, TransactionSnapshot(), "", ShareSnapshot())
    assert content_type.startswith("text/plain")
    return body.decode()


def test_requests_errors_and_latencies_are_exposed(rendered: Samples) -> None:
    assert value(rendered, "kawal_requests_total", api="produce", version="9") == 2
    error = value(
        rendered, "kawal_request_errors_total", api="produce", version="9", error="UNKNOWN_TOPIC_OR_PARTITION"
    )
    assert error == 1
    assert value(rendered, "kawal_request_seconds_count", api="api_versions") == 1


def test_sizes_and_offsets_of_partitions_are_exposed(rendered: Samples) -> None:
    assert value(rendered, "kawal_partition_high_watermark", topic="orders", partition="1") == 1
    assert value(rendered, "kawal_partition_bytes", topic="orders", partition="0") == 0
    assert value(rendered, "kawal_partitions_without_metrics") == 0


def test_logs_disk_and_process_are_exposed(rendered: Samples) -> None:
    assert value(rendered, "kawal_log_state", log="default/vnode-0", state="open", durability="disk") == 1
    assert value(rendered, "kawal_disk_free_bytes") > 0
    assert value(rendered, "process_resident_memory_bytes") > 0
    assert value(rendered, "process_cpu_seconds_total") > 0


def test_what_views_do_is_exposed(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "big", partitions=-1, kawal_sql="SELECT _offset FROM orders WHERE _offset >= 0")
    fetch(client, "big", partition=1)
    found = samples(text_of(gateway))
    counts = {
        name: value(found, f"kawal_view_{name}_total", topic="big")
        for name in ("records_scanned", "records_matched", "records_unfit", "batches_shown")
    }
    assert counts == {
        "records_scanned": 1,
        "records_matched": 1,
        "records_unfit": 0,
        "batches_shown": 1,
    }
    assert value(found, "kawal_view_cache_bytes") > 0


def test_names_of_topics_are_escaped(gateway: Gateway) -> None:
    snapshot = Snapshot.take(gateway.broker)
    snapshot.data_directory = "/"
    snapshot.partitions[0] = snapshot.partitions[0]._replace(topic='odd"\n\\name')
    body, _ = render(snapshot, GroupSnapshot(), TransactionSnapshot(), "")
    found = samples(body.decode())
    assert value(found, "kawal_partition_bytes", topic='odd"\n\\name', partition="0") == 0


def test_buckets_are_cumulative_and_in_seconds(gateway: Gateway) -> None:
    latency = gateway.broker.stats.apis[0].total_ns
    for duration_ns in (10_000, 1_000_000, 1_000_000, 3_000_000_000, 2**BITS - 1):
        latency.add(duration_ns)
    found = samples(text_of(gateway))
    name = "kawal_request_seconds_bucket"
    assert value(found, name, api="produce", le="1.6384e-05") == 3  # two answers of the fixture took no time
    assert value(found, name, api="produce", le="0.001048576") == 5
    assert value(found, name, api="produce", le="4.294967296") == 6
    assert value(found, name, api="produce", le="+Inf") == 7


def test_a_scraper_may_ask_for_openmetrics(gateway: Gateway) -> None:
    snapshot = Snapshot.take(gateway.broker)
    snapshot.data_directory = "/"
    body, content_type = render(
        snapshot, GroupSnapshot(), TransactionSnapshot(), "application/openmetrics-text; version=1.0.0"
    )
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_commits_are_exposed_with_their_syncs_batches_and_failures(gateway: Gateway) -> None:
    stats = gateway.broker.stats
    stats.commit_batches = Histogram()
    stats.committed(duration_ns=3_000_000, sync_ns=2_000_000, batches=3, size_bytes=4096)
    stats.commits_failed += 2
    found = samples(text_of(gateway))
    assert value(found, "kawal_commit_seconds_sum") == 0.003
    assert value(found, "kawal_sync_seconds_sum") == 0.002
    assert value(found, "kawal_commit_batches_sum") == 3
    assert value(found, "kawal_commit_batches_bucket", le="1.0") == 0
    assert value(found, "kawal_commit_batches_bucket", le="3.0") == 1
    assert value(found, "kawal_commit_bytes_sum") == 4096
    assert value(found, "kawal_commits_failed_total") == 2


def test_events_of_the_audit_log_are_counted(rendered: Samples) -> None:
    # The making of a topic that the fixture asked for, and of one that it produced to.
    assert value(rendered, "kawal_audit_events_total", outcome="written") >= 1
    assert value(rendered, "kawal_audit_failing") == 0


def test_the_manual_names_every_metric_and_none_that_there_is_not(gateway: Gateway) -> None:
    waiting = Gateway(kawal_durability="remote", kawal_remote_store="s3://bucket/p")
    remote = copy_of(waiting, MemoryObjects())
    heart = Heart(MemoryObjects(), prefix="c", incarnation="a", interval_ms=1_000, places=Places("h:1"))
    remote.heartbeat = Heartbeat(
        waiting.broker, heart, interval_ms=1_000, epoch=lambda: None, submit=run_here, lost=print
    )
    text = text_of(gateway) + text_of(waiting)
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE kawal_")}
    manual = (Path(__file__).parents[3] / "docs/operations.md").read_text()
    written = set(re.findall(r"kawal_[a-z_]+", manual))
    endings = [
        part for line in re.findall(r"`kawal_[^|]*\|", manual) for part in re.findall(r"`(_[a-z_]+)`", line)
    ]
    unknown = {
        name
        for name in written
        if not any(family.startswith(name.removesuffix("_bucket")) for family in families)
    }
    # Only several workers have these (test_joined_pages.py).
    of_workers = {"kawal_workers", "kawal_workers_without_metrics"}
    # Likewise several nodes (test_node_exposition.py).
    of_nodes = {name for name in unknown if name.startswith("kawal_node_")}
    assert unknown - {"kawal_pytest"} - of_workers - of_nodes == set()
    missing = {
        name
        for name in families
        if name not in written
        and not name.startswith(("kawal_view_", "kawal_group", "kawal_retention_"))
        and not any(name.endswith(ending) for ending in endings)
    }
    assert missing == set()


@pytest.mark.parametrize("version", ["x", "1.x", "1.0.0rc1", "²", "1.0.0-ÿ"])
@pytest.mark.parametrize("kind", ["text/plain", "application/openmetrics-text"])
def test_a_version_that_is_none_gets_the_plain_format(kind: str, version: str, gateway: Gateway) -> None:
    snapshot = Snapshot.take(gateway.broker)
    snapshot.data_directory = "/"
    _, content_type = render(
        snapshot, GroupSnapshot(held_partitions=0), TransactionSnapshot(), f"{kind};version={version}"
    )
    assert content_type.startswith("text/plain; version=0.0.4")
