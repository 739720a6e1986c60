"""The ends of transactions in partitions that other nodes lead."""

from __future__ import annotations

from typing import Any

import pytest

from groups.transactions.transaction import Transaction
from tests.broker.cluster import REPEATED, UNANSWERED, UNSENT, Cluster
from tests.broker.cluster_txn import (
    OFFSETS,
    TRANSACTIONS,
    ClusterProducer,
    coordinator,
    index_on,
    is_stable,
    leader,
    name_on,
    read_committed,
    revive,
    txn_cluster,
)
from tests.broker.groups import committed as offsets_of
from tests.broker.txn import TV1, TV2


def state_of(cluster: Cluster, name: str) -> str:
    """Return the state of a transaction that node 0 coordinates."""
    known = cluster[0].broker.transactions._machine.described(name)
    assert isinstance(known, Transaction), known
    return known.state.name


@pytest.mark.parametrize("protocol", [TV1, TV2])
@pytest.mark.parametrize("count", [2, 3])
def test_a_transaction_ends_on_all_nodes(count: int, protocol: int) -> None:
    cluster = txn_cluster(count, partitions=6)
    for number in range(count):
        producer = ClusterProducer(cluster, name_on(cluster, TRANSACTIONS, number), protocol=protocol)
        assert [producer.write("t", index, b"a%d" % number) for index in range(6)] == [0] * 6
        assert producer.commit() == 0
        assert [producer.write("t", index, b"b") for index in range(6)] == [0] * 6
        assert producer.abort() == 0
    for index in range(6):
        assert read_committed(cluster, "t", index) == [b"a%d" % number for number in range(count)]
        assert is_stable(cluster, "t", index)


def test_offsets_on_another_node_count_when_their_transaction_is_committed_there() -> None:
    cluster = txn_cluster(2)
    for number in range(2):
        producer = ClusterProducer(cluster, name_on(cluster, TRANSACTIONS, number))
        group = name_on(cluster, OFFSETS, 1 - number)
        client = cluster[1 - number].client()
        assert producer.commit_offset(7, group_id=group) == 0
        assert offsets_of(client, group) == {}
        assert producer.commit() == 0
        assert offsets_of(client, group) == {("t", 0): 7}
        assert producer.commit_offset(9, group_id=group) == 0
        assert producer.abort() == 0
        assert offsets_of(client, group) == {("t", 0): 7}


@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED, REPEATED])
@pytest.mark.parametrize("protocol", [TV1, TV2])
def test_markers_are_ordered_again_until_every_node_has_answered(mishap: str, protocol: int) -> None:
    cluster = txn_cluster(2)
    name, index = name_on(cluster, TRANSACTIONS, 0), index_on(cluster, 1)
    producer = ClusterProducer(cluster, name, protocol=protocol)
    assert producer.write("t", index, b"a") == 0
    cluster.mishaps.append(mishap)
    assert producer.commit() == 0
    assert not cluster.mishaps, "the marker was sent"
    assert is_stable(cluster, "t", index) is (mishap != UNSENT)
    cluster.advance(2_000)
    assert is_stable(cluster, "t", index)
    assert producer.write("t", index, b"b") == 0
    assert producer.abort() == 0
    assert read_committed(cluster, "t", index) == [b"a"]


def test_a_transaction_is_not_complete_before_a_node_that_was_down_has_its_marker() -> None:
    cluster = txn_cluster(2)
    name, index = name_on(cluster, TRANSACTIONS, 0), index_on(cluster, 1)
    producer = ClusterProducer(cluster, name)
    assert producer.write("t", index, b"a") == 0
    cluster.kill(1)
    assert producer.commit() == 0
    cluster.advance(10_000)
    assert state_of(cluster, name) == "PREPARE_COMMIT"
    revive(cluster, 1)
    cluster.advance(2_000)
    assert state_of(cluster, name) == "COMPLETE_COMMIT"
    assert read_committed(cluster, "t", index) == [b"a"]
    assert is_stable(cluster, "t", index)


def test_a_coordinator_that_starts_again_ends_what_it_had_decided() -> None:
    cluster = txn_cluster(2)
    name, index = name_on(cluster, TRANSACTIONS, 1), index_on(cluster, 0)
    producer = ClusterProducer(cluster, name)
    assert producer.write("t", index, b"a") == 0
    cluster.mishaps.append(UNSENT)
    assert producer.commit() == 0
    cluster.kill(1)
    revive(cluster, 1)
    assert read_committed(cluster, "t", index) == [b"a"]
    assert is_stable(cluster, "t", index)


def test_a_late_marker_of_the_coordinator_before_its_restart_does_not_end_a_later_transaction() -> None:
    """Of the first protocol: its producers keep their epoch, so only the coordinator's tells them apart."""
    cluster = txn_cluster(2)
    name, index = name_on(cluster, TRANSACTIONS, 0), index_on(cluster, 1)
    producer = ClusterProducer(cluster, name, protocol=TV1)
    assert producer.write("t", index, b"a") == 0
    client = producer.client
    client.send(producer.ending(commit=False), 4)
    while not cluster.sent:
        cluster[0].run_jobs()
        cluster[0].broker.scheduler.run()
    late, cluster.sent = cluster.sent, []
    cluster.kill(0)
    revive(cluster, 0)
    assert is_stable(cluster, "t", index), "the next process has ended it"
    assert producer.write("t", index, b"b") == 0
    cluster.sent += late
    cluster.settle()
    assert not is_stable(cluster, "t", index), "the transaction is still open"
    assert producer.commit() == 0
    cluster.settle()
    assert read_committed(cluster, "t", index) == [b"b"]


def test_many_partitions_of_a_node_are_sent_in_requests_of_limited_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = txn_cluster(2, partitions=8)
    sizes: list[int] = []
    name = name_on(cluster, TRANSACTIONS, 0)
    producer = ClusterProducer(cluster, name)
    mine = [index for index in range(8) if leader(cluster, "t", index) == 1]
    assert [producer.write("t", index, b"a") for index in mine] == [0] * len(mine)
    send = cluster[0].link.call

    def noted(node_id: int, request: Any, version: int, done: Any) -> None:
        sizes.append(sum(len(topic.partition_indexes) for topic in request.markers[0].topics))
        send(node_id, request, version, done)

    monkeypatch.setattr(cluster[0].link, "call", noted)
    monkeypatch.setattr("broker.coordinators.remote_markers.PLACES_PER_REQUEST", 3)
    assert producer.commit() == 0
    assert sizes == [3, 1]
    assert all(read_committed(cluster, "t", index) == [b"a"] for index in mine)
    assert coordinator(cluster, TRANSACTIONS, name) == 0
