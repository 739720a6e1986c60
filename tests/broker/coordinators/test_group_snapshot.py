"""A snapshot of groups has their counts and lags, and is bounded."""

from __future__ import annotations

from broker.coordinators.group_snapshot import GROUPS_PER_STEP, GroupPartitionState, GroupSnapshot
from tests.broker.gateway import START_MS, Gateway
from tests.broker.groups import beating, commit
from tests.broker.kit import batch, create, send


def taken(gateway: Gateway) -> tuple[GroupSnapshot, int]:
    """Return a snapshot and the number of steps that made it."""
    snapshot = GroupSnapshot()
    broker = gateway.broker
    return snapshot, len(list(snapshot.steps(broker.groups, broker, broker.clock, gateway.now_ms)))


def test_progress_and_lag_are_told_by_group_topic_and_partition() -> None:
    gateway = Gateway(kawal_vnodes=1)
    client = gateway.client()
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a", b"b", b"c", timestamp_ms=START_MS - 7_000))
    commit(client, "g", ("t", 0, 1))
    snapshot, _ = taken(gateway)
    assert snapshot.partitions == [
        GroupPartitionState("g", "t", 0, 1, 2, 7_000),
        GroupPartitionState("g", "t", 1, -1, 0, 0),
    ]
    assert snapshot.counts["offsets"] == 1


def test_members_are_counted() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_rebalance_interval_ms=0)
    client = gateway.client()
    create(client, "t")
    assert client.call(beating("g", "m", topics=["t"]), 1).error_code == 0
    snapshot, _ = taken(gateway)
    assert snapshot.counts["members"] == 1


def test_rows_are_bounded_and_groups_left_out_are_counted() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_metrics_group_partitions_max=GROUPS_PER_STEP + 5)
    client = gateway.client()
    create(client, "t")
    for number in range(3 * GROUPS_PER_STEP):
        commit(client, f"g{number:03}", ("t", 0, 0))
    snapshot, steps = taken(gateway)
    assert len(snapshot.partitions) == GROUPS_PER_STEP + 5
    assert snapshot.groups_left_out == 2 * GROUPS_PER_STEP - 5
    assert steps == 1


def test_a_topic_that_is_gone_has_no_rows() -> None:
    gateway = Gateway(kawal_vnodes=1)
    snapshot, steps = taken(gateway)
    assert (snapshot.partitions, steps) == ([], 0)
