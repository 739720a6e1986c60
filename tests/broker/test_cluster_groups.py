"""Groups on a cluster: each is served by the node that leads its partition of __consumer_offsets."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.list_groups import ListGroupsRequest
from tests.broker.cluster import Cluster
from tests.broker.cluster_txn import (
    OFFSETS,
    coordinator,
    leader,
    make,
    name_on,
    read_committed,
    revive,
    txn_cluster,
)
from tests.broker.gateway import Client
from tests.broker.groups import beating, codes, commit, committed, committing, join, joining
from tests.broker.kit import batch, send

COUNTS = pytest.mark.parametrize("count", [2, 3])


def groups_of(cluster: Cluster) -> dict[int, str]:
    """Return a group for each node that coordinates it."""
    return {node.number: name_on(cluster, OFFSETS, node.number) for node in cluster}


def others(cluster: Cluster, number: int) -> list[Client]:
    return [node.client() for node in cluster if node.number != number]


def cluster_of(count: int) -> Cluster:
    return txn_cluster(count, group_initial_rebalance_delay_ms=0)


@COUNTS
def test_everyone_names_the_node_that_serves_a_group(count: int) -> None:
    cluster = cluster_of(count)
    for number, group in groups_of(cluster).items():
        for node in cluster:
            request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
            (found,) = node.client().call(request, 4).coordinators
            assert (found.error_code, found.node_id, found.port) == (0, number, 9092 + number)


@COUNTS
def test_offsets_are_committed_on_the_coordinator_alone(count: int) -> None:
    cluster = cluster_of(count)
    for number, group in groups_of(cluster).items():
        for client in others(cluster, number):
            answer = client.call(committing(group, ("t", 0, 5)), 9)
            assert codes(answer) == [ErrorCode.NOT_COORDINATOR]
        commit(cluster[number].client(), group, ("t", 0, 7), ("t", 1, 8))
        assert committed(cluster[number].client(), group) == {("t", 0): 7, ("t", 1): 8}


@COUNTS
def test_classic_members_join_on_the_coordinator_alone(count: int) -> None:
    cluster = cluster_of(count)
    for number, group in groups_of(cluster).items():
        for client in others(cluster, number):
            assert client.call(joining(group), 4).error_code == ErrorCode.NOT_COORDINATOR
        member = join(cluster[number].client(), group)
        commit(cluster[number].client(), group, ("t", 0, 3), member=member)
        assert committed(cluster[number].client(), group) == {("t", 0): 3}


@COUNTS
def test_members_of_the_new_protocol_join_on_the_coordinator_and_are_given_partitions_of_all_nodes(
    count: int,
) -> None:
    cluster = cluster_of(count)
    for number, group in groups_of(cluster).items():
        for client in others(cluster, number):
            assert client.call(beating(group, "m", topics=["t"]), 0).error_code == ErrorCode.NOT_COORDINATOR
        answer = cluster[number].client().call(beating(group, "m", topics=["t"]), 0)
        assert answer.error_code == 0
        (given,) = answer.assignment.topic_partitions
        assert sorted(given.partitions) == [0, 1, 2, 3]
        assert {leader(cluster, "t", index) for index in given.partitions} == set(range(count))


def test_a_member_reads_what_each_leader_has() -> None:
    cluster = cluster_of(2)
    for index in range(4):
        client = cluster[leader(cluster, "t", index)].client()
        assert send(client, "t", batch(b"v%d" % index), index).error_code == 0
    assert [read_committed(cluster, "t", index) for index in range(4)] == [[b"v0"], [b"v1"], [b"v2"], [b"v3"]]


@pytest.mark.parametrize("number", [0, 1])
def test_offsets_are_there_after_the_restart_of_either_node(number: int) -> None:
    cluster = cluster_of(2)
    names = groups_of(cluster)
    for node, group in names.items():
        commit(cluster[node].client(), group, ("t", node, 5 + node))
    cluster.kill(number)
    if number:
        assert committed(cluster[0].client(), names[0]) == {("t", 0): 5}
    revive(cluster, number)
    for node, group in names.items():
        assert committed(cluster[node].client(), group) == {("t", node): 5 + node}
        answer = cluster[1 - node].client().call(committing(group, ("t", 0, 5)), 9)
        assert codes(answer) == [ErrorCode.NOT_COORDINATOR]


def test_each_node_lists_and_describes_its_own_groups() -> None:
    cluster = cluster_of(2)
    names = groups_of(cluster)
    for node, group in names.items():
        commit(cluster[node].client(), group, ("t", 0, 1))
    for node, group in names.items():
        client = cluster[node].client()
        assert [found.group_id for found in client.call(ListGroupsRequest(), 4).groups] == [group]
        answer: Any = client.call(DescribeGroupsRequest(groups=list(names.values())), 5)
        found = {each.group_id: each.error_code for each in answer.groups}
        assert found == {group: 0, names[1 - node]: ErrorCode.NOT_COORDINATOR}


def test_the_deletion_of_a_topic_removes_its_offsets_on_every_coordinator() -> None:
    cluster = cluster_of(2)
    make(cluster, "u", 2)
    names = groups_of(cluster)
    for node, group in names.items():
        commit(cluster[node].client(), group, ("t", 0, 1), ("u", 1, 2))
    cluster[0].client().call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 3)
    for node, group in names.items():
        assert committed(cluster[node].client(), group) == {("u", 1): 2}
    cluster.kill(1)
    revive(cluster, 1)
    assert committed(cluster[1].client(), names[1]) == {("u", 1): 2}


def test_a_topic_that_is_made_again_while_a_coordinator_is_away_has_none_of_the_old_offsets_there() -> None:
    cluster = cluster_of(2)
    group = groups_of(cluster)[1]
    commit(cluster[1].client(), group, ("t", 0, 5))
    cluster.kill(1)
    cluster[0].client().call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 3)
    make(cluster, "t", 4)
    revive(cluster, 1)
    client = cluster[1].client()
    assert committed(client, group) == {}
    commit(client, group, ("t", 0, 1))
    cluster.kill(1)
    revive(cluster, 1)
    assert committed(cluster[1].client(), group) == {("t", 0): 1}


def test_what_is_committed_in_a_topic_that_was_made_again_is_there_with_any_number_of_workers() -> None:
    cluster = cluster_of(2)
    names = groups_of(cluster)
    for node, group in names.items():
        commit(cluster[node].client(), group, ("t", 0, 5), ("t", 1, 5))
    cluster[0].client().call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 3)
    make(cluster, "t", 4)
    for node, group in names.items():
        commit(cluster[node].client(), group, ("t", 1, 7))
    for count in (3, 1, 2):
        cluster.settle()
        for number in range(cluster.count):
            cluster.kill(number)
        cluster.disk.locks.clear()
        cluster = Cluster(count, disk=cluster.disk, offsets_topic_num_partitions=6)
        cluster.advance(10)
        for group in names.values():
            client = cluster[coordinator(cluster, OFFSETS, group)].client()
            assert committed(client, group) == {("t", 1): 7}


def test_a_coordinator_that_was_used_before_its_topic_was_made_serves_only_its_part_of_it() -> None:
    cluster = Cluster(2, offsets_topic_num_partitions=6)
    make(cluster, "t", 2)
    for node in cluster:
        assert node.client().call(ListGroupsRequest(), 4).groups == []
    make(cluster, OFFSETS, 6, cleanup_policy="compact")
    for number, group in groups_of(cluster).items():
        for client in others(cluster, number):
            assert codes(client.call(committing(group, ("t", 0, 5)), 9)) == [ErrorCode.NOT_COORDINATOR]
        commit(cluster[number].client(), group, ("t", 0, 7))


def test_no_node_serves_a_group_before_the_topic_of_groups_is_there() -> None:
    # Who coordinates it is not known before; the client looks for the coordinator again.
    cluster = Cluster(2, offsets_topic_num_partitions=6)
    make(cluster, "t", 2)
    for node in cluster:
        client = node.client()
        client.send(committing("g", ("t", 0, 5)), 9)
        cluster.settle()
        (answer,) = client.answers()
        assert codes(answer)[0] in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_node_that_does_not_coordinate_a_group_answers_as_kafkas_brokers_do() -> None:
    """The checks of the request come first, and nothing is told of a member or a state."""
    cluster = txn_cluster(2)
    group = name_on(cluster, OFFSETS, 1)
    client = cluster[0].client()
    request = joining(group, member_id="known")
    answer = cluster.call(client, request, 5)
    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    request.session_timeout_ms = 1 << 30
    answer = cluster.call(client, request, 5)
    assert (answer.error_code, answer.member_id) == (ErrorCode.INVALID_SESSION_TIMEOUT, "known")
    (described,) = cluster.call(client, DescribeGroupsRequest(groups=[group]), 4).groups
    assert (described.error_code, described.group_state) == (ErrorCode.NOT_COORDINATOR, "")
