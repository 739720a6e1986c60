"""Nodes that follow the controller: what it records takes effect on all, and each leads its vnodes."""

from __future__ import annotations

from broker.upkeep.following import RETRY_MS, Following
from broker.upkeep.retirement import PAUSE_MS
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.kawal_databases import DatabaseAction
from protocol.messages.kawal_follow import KawalFollowRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.cluster import Cluster
from tests.broker.databases import asking
from tests.broker.gateway import Client
from tests.broker.kit import batch, creation, send


def make(cluster: Cluster, name: str, partitions: int = 8) -> None:
    request = CreateTopicsRequest(topics=[creation(name, partitions)], timeout_ms=1000)
    answer = cluster.call(cluster[0].client(), request, 7)
    assert answer.topics[0].error_code == ErrorCode.NONE


def leaders(cluster: Cluster, client: Client, name: str) -> list[int]:
    answer = cluster.call(client, MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 12)
    assert [broker.port for broker in answer.brokers] == [9092 + node.number for node in cluster]
    assert answer.controller_id == 0
    return [partition.leader_id for partition in answer.topics[0].partitions]


def test_all_nodes_tell_the_same_leaders() -> None:
    cluster = Cluster(3)
    make(cluster, "t")
    seen = [leaders(cluster, node.client(), "t") for node in cluster]
    assert seen[0] == seen[1] == seen[2]
    assert set(seen[0]) == {0, 1, 2}


def test_a_partition_is_written_on_its_leader_alone() -> None:
    cluster = Cluster(2)
    make(cluster, "t")
    leading = leaders(cluster, cluster[1].client(), "t")
    for node in cluster:
        for index, leader in enumerate(leading):
            code = send(node.client(), "t", batch(b"x"), index).error_code
            here = leader == node.number
            assert code == (ErrorCode.NONE if here else ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_a_deleted_topic_leaves_no_stream_on_any_node() -> None:
    cluster = Cluster(2)
    make(cluster, "t")
    client = cluster[0].client()
    for node in cluster:
        for index, leader in enumerate(leaders(cluster, client, "t")):
            if leader == node.number:
                send(node.client(), "t", batch(b"x"), index)
    cluster.settle()
    cluster.call(client, DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 3)
    cluster.settle()
    for name in ("next", "last"):
        cluster.advance(PAUSE_MS)
        make(cluster, name)
    for node in cluster:
        assert "t" not in node.broker.catalogue.by_name
        assert not node.broker.catalogue.deleted_streams
        vnodes = node.broker.vnodes.every[1:]
        assert vnodes
        assert not [stream for vnode in vnodes for stream in vnode.log.streams()]


def test_a_node_that_was_away_finds_what_has_changed() -> None:
    cluster = Cluster(2)
    make(cluster, "old")
    cluster.kill(1)
    make(cluster, "new")
    cluster.call(cluster[0].client(), DeleteTopicsRequest(topic_names=["old"], timeout_ms=1000), 3)
    assert cluster[0].broker.catalogue.deleted_streams
    cluster.kill(0)
    cluster.revive(0)
    assert cluster[0].broker.catalogue.deleted_streams, "the other node has not dropped its own"
    cluster.revive(1)
    assert set(cluster[1].broker.catalogue.by_name) == {"new"}
    assert not cluster[1].broker.topics.orphans
    make(cluster, "next")
    assert not cluster[0].broker.catalogue.deleted_streams


def test_ids_in_the_logs_of_a_follower_are_not_given_out_again() -> None:
    cluster = Cluster(2)
    cluster[1].broker.catalogue.next_stream = 500
    cluster[1].broker.catalogue.reserve_producer_ids(7_000)
    make(cluster, "a")
    make(cluster, "b")
    assert cluster[0].broker.catalogue.by_name["b"].stream_id(0) >= 500
    assert cluster[0].broker.catalogue.next_producer_id >= 7_000


def test_only_nodes_of_the_cluster_are_given_the_catalogue() -> None:
    cluster = Cluster(2)
    answer = cluster.call(cluster[0].client(), KawalFollowRequest(version=-1), 0)
    assert (answer.error_code, answer.records) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])


def test_a_node_goes_on_when_the_controller_has_started_again() -> None:
    cluster = Cluster(2)
    make(cluster, "a")
    cluster.kill(0)
    cluster.settle()
    cluster.revive(0)
    make(cluster, "b")
    cluster.advance(RETRY_MS)
    assert cluster[1].broker.catalogue.by_name.keys() >= {"a", "b"}
    assert cluster[1].lost == []


def test_a_node_that_cannot_go_on_says_so_once() -> None:
    cluster = Cluster(2)
    broker, lost = cluster[1].broker, list[str]()
    Following(broker, broker, broker.nodes, 1 << 40, lost.append)
    cluster.settle()
    make(cluster, "a")
    assert lost == [f"the controller has no version {1 << 40} of the catalogue, or another one"]


def test_a_change_that_cannot_be_carried_out_ends_the_following() -> None:
    cluster = Cluster(2)
    cluster[1].break_things()
    cluster[1].broker.delete_topic = None  # type: ignore[assignment,method-assign]
    make(cluster, "a")
    cluster.call(cluster[0].client(), DeleteTopicsRequest(topic_names=["a"], timeout_ms=1000), 3)
    assert cluster[1].lost == ["a change of the catalogue could not be carried out"]


def test_databases_serve_on_the_nodes_that_lead_their_vnodes() -> None:
    cluster = Cluster(2)
    client = cluster[0].client()

    def served() -> list[list[int]]:
        return [[vnode.index for vnode in node.broker.vnodes.get("d", [])] for node in cluster]

    def change(action: DatabaseAction, **configs: str) -> None:
        answer = cluster.call(client, asking(action, "d", validate_only=False, **configs), 0)
        assert [result.error_code for result in answer.databases] == [0]

    change(DatabaseAction.CREATE, vnodes="3")
    assert served() == [[0, 2], [1]]
    change(DatabaseAction.SPLIT)
    assert served() == [[0, 2], [1, 3]]
    change(DatabaseAction.DROP)
    assert served() == [[], []]
    cluster.settle()
    assert not [path for path in cluster.disk.files() if "/db-" in path]


def test_a_new_directory_has_a_log_for_each_node() -> None:
    cluster = Cluster(3, kawal_vnodes=1)
    assert [[vnode.index for vnode in node.broker.vnodes["default"]] for node in cluster] == [[0], [1], [2]]
