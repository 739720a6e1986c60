"""Answers of a node that does not lead a partition: they name the leader, with its epoch and address."""

from __future__ import annotations

from typing import Any

import pytest

from broker.requests import leader_hints
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.cluster import Cluster
from tests.broker.cluster_txn import index_on, txn_cluster
from tests.broker.kit import batch, fetching

NOT_LEADER, FENCED = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH


def produced(cluster: Cluster, number: int, indexes: list[int], version: int) -> Any:
    """Return a node's answer to a batch for each of these partitions of `t`."""
    topic = cluster[0].broker.find_topic("t")
    data = [PartitionProduceData(index=index, records=batch(b"a")) for index in indexes]
    asked = TopicProduceData(name="t", topic_id=topic.topic_id, partition_data=data)
    request = ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[asked])
    return cluster.call(cluster[number].client(), request, version)


def fetch(cluster: Cluster, number: int, index: int, version: int, epoch: int = -1) -> Any:
    """Return a node's answer to a fetch of one partition of `t`."""
    topic = cluster[0].broker.find_topic("t")
    key = ("t" if version < 13 else topic.topic_id, index)
    return cluster.call(cluster[number].client(), fetching({key: 0}, leader_epoch=epoch), version)


def leader_of(partition: Any) -> tuple[int, int] | None:
    found = partition.current_leader
    return None if found is None else (found.leader_id, found.leader_epoch)


@pytest.mark.parametrize("version", [9, 10, 12, 13])
def test_a_produce_to_another_node_names_the_leader_since_version_10(version: int) -> None:
    cluster = txn_cluster(3)
    own, other, third = (index_on(cluster, number) for number in (0, 1, 2))
    answer = produced(cluster, 0, [own, other, third], version)
    written, *refused = answer.responses[0].partition_responses
    assert (written.error_code, written.current_leader) == (ErrorCode.NONE, None)
    assert [each.error_code for each in refused] == [NOT_LEADER] * 2
    expected = [(number, cluster[number].broker.topics.leader_epoch) for number in (1, 2)]
    assert [leader_of(each) for each in refused] == (expected if version >= 10 else [None] * 2)
    addresses = [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints]
    assert addresses == ([(n, "gateway", 9092 + n, None) for n in (1, 2)] if version >= 10 else [])


@pytest.mark.parametrize("version", [12, 15, 16, 18])
def test_a_fetch_from_another_node_names_the_leader_since_version_16(version: int) -> None:
    cluster = txn_cluster(2)
    answer = fetch(cluster, 0, index_on(cluster, 1), version)
    ((partition,),) = [topic.partitions for topic in answer.responses]
    assert partition.error_code == NOT_LEADER
    epoch = cluster[1].broker.topics.leader_epoch
    assert leader_of(partition) == ((1, epoch) if version >= 16 else None)
    addresses = [(node.node_id, node.host, node.port) for node in answer.node_endpoints]
    assert addresses == ([(1, "gateway", 9093)] if version >= 16 else [])


def test_a_fetch_with_an_old_epoch_names_the_epoch_of_now() -> None:
    cluster = txn_cluster(2)
    before = cluster[1].broker.topics.leader_epoch
    cluster.kill(1)
    cluster.revive(1)
    answer = fetch(cluster, 1, index_on(cluster, 1), 16, epoch=before)
    ((partition,),) = [topic.partitions for topic in answer.responses]
    assert partition.error_code == FENCED
    assert leader_of(partition) == (1, cluster[1].broker.topics.leader_epoch)
    assert [node.node_id for node in answer.node_endpoints] == [1]


@pytest.mark.parametrize(
    ("records", "version", "code"),
    [
        (b"", 12, ErrorCode.INVALID_RECORD),
        (None, 12, ErrorCode.INVALID_RECORD),
        (b"garbage that is no batch at all, but long enough to be one: 61 bytes and more", 12, 2),
        (batch(b"a") + batch(b"b"), 12, ErrorCode.INVALID_RECORD),
        (batch(b"a" * 50, codec=Codec.ZSTD), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (batch(b"a"), 12, NOT_LEADER),
    ],
    ids=["empty", "null", "garbage", "two batches", "zstd too early", "a batch"],
)
def test_what_is_no_batch_is_refused_before_the_leader_is_looked_for(
    records: bytes | None, version: int, code: int
) -> None:
    """Kafka checks the records of a request before it looks for their partition."""
    cluster = txn_cluster(2)
    data = [PartitionProduceData(index=index_on(cluster, 1), records=records)]
    request = ProduceRequest(
        acks=-1, timeout_ms=1_000, topic_data=[TopicProduceData(name="t", partition_data=data)]
    )
    answer = cluster.call(cluster[0].client(), request, version)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == code
    assert bool(answer.node_endpoints) == (code == NOT_LEADER)


def test_an_answer_without_refusals_has_no_hint() -> None:
    cluster = txn_cluster(2)
    answer = fetch(cluster, 1, index_on(cluster, 1), 16)
    assert answer.node_endpoints == []
    assert [leader_of(each) for topic in answer.responses for each in topic.partitions] == [None]


def test_a_partition_that_does_not_exist_has_no_leader() -> None:
    cluster = txn_cluster(2)
    answer = produced(cluster, 0, [99], 10)
    (partition,) = answer.responses[0].partition_responses
    assert (partition.error_code, leader_of(partition)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)


def test_in_a_wide_answer_the_first_partitions_alone_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_hints, "HINTS_MAX", 2)
    cluster = txn_cluster(2, partitions=8)
    others = [index for index in range(8) if cluster[0].broker.topics.leader(topic(cluster), index)[0] == 1]
    answer = produced(cluster, 0, others, 10)
    named = [leader_of(each) is not None for each in answer.responses[0].partition_responses]
    assert named == [True, True, *[False] * (len(others) - 2)]


def topic(cluster: Cluster) -> Any:
    return cluster[0].broker.find_topic("t")
