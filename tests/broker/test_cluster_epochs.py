"""Leader epochs on a cluster: each node tells those of all, and none that its leader does not have yet."""

from __future__ import annotations

import pytest

from broker.upkeep.following import RETRY_MS
from protocol.error_codes import ErrorCode
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.kawal_follow import KawalFollowRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.cluster import Cluster
from tests.broker.cluster_txn import index_on, leader, make, txn_cluster
from tests.broker.gateway import Client
from tests.broker.kit import batch, fetched, fetching, send

PARTITIONS = 4

NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH


def codes_of(client: Client, index: int, current: int) -> list[int]:
    """Return what Fetch, ListOffsets and OffsetForLeaderEpoch say to a client with this leader epoch."""
    data = fetched(client.call(fetching({("t", index): 0}, leader_epoch=current), 12))
    asked = ListOffsetsPartition(partition_index=index, timestamp=-1, current_leader_epoch=current)
    listing = ListOffsetsRequest(
        replica_id=-1, isolation_level=0, topics=[ListOffsetsTopic(name="t", partitions=[asked])]
    )
    item = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=0)
    ending = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=[item])]
    )
    return [
        data["t", index].error_code,
        client.call(listing, 9).topics[0].partitions[0].error_code,
        client.call(ending, 4).topics[0].partitions[0].error_code,
    ]


def epoch_told(cluster: Cluster, number: int, index: int) -> int:
    """Return the leader epoch of a partition in a node's Metadata."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    partitions = cluster[number].client().call(request, 12).topics[0].partitions
    return next(int(each.leader_epoch) for each in partitions if each.partition_index == index)


def told(cluster: Cluster, number: int) -> list[int]:
    """Return the leader epochs of all partitions in a node's Metadata."""
    return [epoch_told(cluster, number, index) for index in range(PARTITIONS)]


@pytest.mark.parametrize("number", [0, 1])
def test_a_client_that_knows_no_epoch_and_sends_0_is_served_by_the_leader(number: int) -> None:
    """As librdkafka 2.16 does: fenced, it pauses for 500 ms, and asks any node for Metadata again."""
    cluster = txn_cluster(2)
    index = index_on(cluster, number)
    client = cluster[number].client()
    assert send(client, "t", batch(b"a"), index).error_code == NONE
    assert codes_of(client, index, 0) == [NONE] * 3


def test_every_node_tells_the_epochs_that_the_leaders_have() -> None:
    cluster = txn_cluster(3)
    assert told(cluster, 0) == told(cluster, 1) == told(cluster, 2)
    for index, epoch in enumerate(told(cluster, 0)):
        node = cluster[leader(cluster, "t", index)]
        assert epoch == node.broker.topics.leader_epoch > 0
        assert codes_of(node.client(), index, epoch) == [NONE] * 3


def test_describe_topic_partitions_tells_the_same_epochs() -> None:
    cluster = txn_cluster(2)
    for node in cluster:
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")])
        (topic,) = cluster.call(node.client(), request, 0).topics
        assert [each.leader_epoch for each in topic.partitions] == told(cluster, 0)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_all_nodes_learn_of_the_epoch_of_a_node_that_starts_again_before_time_passes(number: int) -> None:
    cluster = txn_cluster(3)
    before = cluster[number].broker.topics.leader_epoch
    cluster.kill(number)
    cluster.advance(RETRY_MS)
    cluster.revive(number)
    cluster.advance(RETRY_MS)
    after = cluster[number].broker.topics.leader_epoch
    assert after > before
    for node in cluster:
        assert node.broker.nodes.epoch_of(number) == after
        assert told(cluster, node.number) == told(cluster, number)


def test_an_epoch_of_a_node_that_is_down_is_told_on_and_is_none_that_it_has_not_had() -> None:
    cluster = txn_cluster(3)
    before = told(cluster, 0)
    cluster.kill(2)
    assert told(cluster, 0) == told(cluster, 1) == before
    # A controller that starts again knows nothing of a node that is down.
    cluster.kill(0)
    cluster.settle()
    cluster.revive(0)
    cluster.advance(RETRY_MS)
    for index, epoch in enumerate(told(cluster, 0)):
        node = cluster[leader(cluster, "t", index)]
        assert epoch == (-1 if node.number == 2 else node.broker.topics.leader_epoch)
        assert epoch <= before[index] or node.number == 0


def test_a_node_ends_the_effect_of_a_request_of_its_last_life_that_has_come_late() -> None:
    cluster = txn_cluster(2)
    old = cluster[1].broker.nodes.epochs
    cluster.kill(1)
    cluster.revive(1)
    new = cluster[1].broker.topics.leader_epoch
    version = cluster[1].following.version
    cluster.ask(0, KawalFollowRequest(version=version, node_id=1, leader_epochs=old), 0)
    cluster.settle()
    assert new > old[1]
    assert [node.broker.nodes.epoch_of(1) for node in cluster] == [new, new]


def test_an_answer_about_all_topics_is_made_anew_when_a_node_has_another_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.handlers.metadata.TOPICS_PER_SLICE", 0)
    cluster = txn_cluster(2)
    index = index_on(cluster, 1)

    def epoch_of_all() -> int:
        topics = cluster.call(cluster[0].client(), MetadataRequest(topics=None), 12).topics
        (topic,) = (topic for topic in topics if topic.name == "t")
        return next(int(each.leader_epoch) for each in topic.partitions if each.partition_index == index)

    assert epoch_of_all() == cluster[1].broker.topics.leader_epoch
    cluster.kill(1)
    cluster.revive(1)
    assert epoch_of_all() == cluster[1].broker.topics.leader_epoch


def test_a_counted_partition_of_another_node_has_no_epoch_as_its_own_are_above_the_leaders() -> None:
    cluster = txn_cluster(2)
    make(cluster, "counted", PARTITIONS, kawal_message_ids="true")
    cluster.settle()
    request = MetadataRequest(topics=[MetadataRequestTopic(name="counted")])
    partitions = cluster.call(cluster[1].client(), request, 12).topics[0].partitions
    for each in partitions:
        assert (each.leader_epoch == -1) == (each.leader_id == 0)


def test_an_epoch_that_was_told_before_the_leader_started_again_is_fenced() -> None:
    cluster = txn_cluster(2)
    index = index_on(cluster, 1)
    before = epoch_told(cluster, 1, index)
    assert before > 0
    assert codes_of(cluster[1].client(), index, before) == [NONE] * 3
    cluster.kill(1)
    cluster.revive(1)
    assert epoch_told(cluster, 1, index) > before
    assert codes_of(cluster[1].client(), index, before) == [FENCED] * 3
