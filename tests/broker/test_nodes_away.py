"""Clients are told that a node of several machines is away: as in Kafka, it is not there."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.members import AWAY_MS
from broker.catalogue.topics import OFFSETS_TOPIC
from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.kawal_groups import KawalGroupsRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.cluster import Cluster
from tests.broker.kit import create

SILENCE_MS = AWAY_MS + 7_000


@pytest.fixture
def cluster() -> Cluster:
    """Return a cluster of three with topic t, of six partitions, and the internal topics."""
    cluster = Cluster(3, own_directories=True)
    client = cluster[0].client()
    create(client, "t", 6)
    client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
    cluster.advance(1_000)
    return cluster


def lose(cluster: Cluster, number: int) -> None:
    cluster.kill(number)
    for _ in range(SILENCE_MS // 500):
        cluster.advance(500)


def leaders(cluster: Cluster, number: int, version: int = 12) -> list[tuple[int, int, list[int]]]:
    answer = cluster.call(cluster[number].client(), MetadataRequest(topics=None), version)
    (topic,) = [topic for topic in answer.topics if topic.name == "t"]
    return [(item.error_code, item.leader_id, item.offline_replicas) for item in topic.partitions]


def brokers(cluster: Cluster, number: int) -> list[tuple[int, int]]:
    answer = cluster.call(cluster[number].client(), MetadataRequest(topics=[]), 12)
    return [(broker.node_id, broker.port) for broker in answer.brokers]


def test_all_nodes_are_in_metadata_at_their_own_addresses(cluster: Cluster) -> None:
    for number in range(3):
        assert brokers(cluster, number) == [(0, 9092), (1, 9093), (2, 9094)]
        assert {leader for _, leader, _ in leaders(cluster, number)} == {0, 1, 2}


def test_partitions_of_a_node_that_is_away_have_no_leader_until_it_is_back(cluster: Cluster) -> None:
    before = leaders(cluster, 0)
    lose(cluster, 2)
    for number in (0, 1):
        assert brokers(cluster, number) == [(0, 9092), (1, 9093)]
        for (_, leader, _), found in zip(before, leaders(cluster, number), strict=True):
            expected = (ErrorCode.LEADER_NOT_AVAILABLE, -1, [2]) if leader == 2 else (0, leader, [])
            assert found == expected
    cluster.revive(2)
    cluster.advance(500)
    assert [leaders(cluster, number) for number in range(3)] == [before] * 3


def test_the_shared_answer_about_all_topics_changes_with_the_nodes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.handlers.metadata.TOPICS_PER_SLICE", 0)
    before = leaders(cluster, 0)
    lose(cluster, 2)
    assert leaders(cluster, 0) != before
    cluster.revive(2)
    cluster.advance(500)
    assert leaders(cluster, 0) == before


def test_describe_cluster_and_describe_topic_partitions_say_the_same(cluster: Cluster) -> None:
    lose(cluster, 2)
    client = cluster[1].client()
    described = cluster.call(client, DescribeClusterRequest(include_cluster_authorized_operations=False), 0)
    assert [broker.broker_id for broker in described.brokers] == [0, 1]
    fenced = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    described = cluster.call(client, fenced, 2)
    found = [(broker.broker_id, broker.port, broker.is_fenced) for broker in described.brokers]
    assert found == [(0, 9092, False), (1, 9093, False), (2, 9094, True)]
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")])
    (topic,) = cluster.call(client, request, 0).topics
    found = [(item.error_code, item.leader_id, item.offline_replicas) for item in topic.partitions]
    assert found == leaders(cluster, 1)


def test_a_group_whose_coordinator_is_away_has_none(cluster: Cluster) -> None:
    topic = cluster[0].broker.catalogue.by_name[OFFSETS_TOPIC]
    names = [f"group-{number}" for number in range(20)]
    by_node: dict[int, str] = {}
    for name in names:
        found = cluster[0].broker.topics.coordinator(topic.name, name)
        assert found is not None
        by_node[found] = name
    lose(cluster, 2)
    answer: Any = cluster.call(
        cluster[1].client(), FindCoordinatorRequest(key_type=0, coordinator_keys=[by_node[2], by_node[0]]), 4
    )
    lost, kept = answer.coordinators
    assert (lost.error_code, lost.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert (kept.error_code, kept.node_id, kept.port) == (0, 0, 9092)


def test_lists_of_all_nodes_name_one_that_is_away_at_once(cluster: Cluster) -> None:
    lose(cluster, 2)
    answer = cluster.call(cluster[1].client(), KawalGroupsRequest(), 0)
    assert answer.silent_nodes == [2]


def test_while_the_controller_is_away_the_others_go_on_with_what_they_know(cluster: Cluster) -> None:
    before = leaders(cluster, 1)
    lose(cluster, 0)
    without = [led if led[1] else (ErrorCode.LEADER_NOT_AVAILABLE, -1, [0]) for led in before]
    assert [leaders(cluster, number) for number in (1, 2)] == [without] * 2
    cluster.revive(0)
    cluster.advance(500)
    assert [leaders(cluster, number) for number in range(3)] == [before] * 3
