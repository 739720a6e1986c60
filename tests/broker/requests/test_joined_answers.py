"""Kawal's own lists on a cluster: any node shows what all know, and names those that are silent."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.catalogue_records import AclAdded
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.handlers import JOINED
from broker.handlers import kawal_connections as connections_handler
from broker.requests.joined_answers import JOINS, WAIT_MS
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_connections import KawalConnectionsRequest
from protocol.messages.kawal_databases import DatabaseAction, KawalDatabasesRequest
from protocol.messages.kawal_groups import KawalGroupsRequest, PlaceReached
from protocol.messages.kawal_messages import KawalMessagesRequest, MessageOffset
from protocol.messages.kawal_producers import KawalProducersRequest
from tests.broker.cluster import Cluster
from tests.broker.cluster_txn import OFFSETS, index_on, leader, make, name_on, txn_cluster
from tests.broker.groups import commit
from tests.broker.guarded import ADMIN, ALICE, CLUSTER, TOPIC, rule
from tests.broker.kit import batch, send
from tests.broker.numbered import numbered

each_node = pytest.mark.parametrize("number", [0, 1, 2])


def test_every_api_that_is_joined_has_its_way() -> None:
    assert {*JOINS, ApiKey.KAWAL_CONNECTIONS} == JOINED


def grouped() -> tuple[Cluster, list[str]]:
    """Return a cluster in which each node coordinates a group with progress in all partitions of `t`."""
    cluster = txn_cluster(3, partitions=6)
    for index in range(6):
        send(cluster[leader(cluster, "t", index)].client(), "t", batch(b"a", b"b", b"c"), index)
    cluster.settle()
    groups = [name_on(cluster, OFFSETS, number) for number in range(3)]
    for number, group in enumerate(groups):
        for index in range(6):
            commit(cluster[number].client(), group, ("t", index, index % 3))
    return cluster, groups


def groups_at(cluster: Cluster, number: int, *names: str) -> Any:
    return cluster.call(cluster[number].client(), KawalGroupsRequest(group_ids=list(names) or None), 0)


@each_node
def test_any_node_shows_the_progress_of_all_groups_in_all_partitions(number: int) -> None:
    cluster, groups = grouped()
    answer = groups_at(cluster, number)
    found = {(row.group_id, row.partition): row for row in answer.subscriptions}
    assert len(found) == len(answer.subscriptions) == 18
    for (_, index), row in found.items():
        assert (row.offset, row.log_start, row.end_offset, row.lag) == (index % 3, 0, 3, 3 - index % 3)
        assert row.vnode.startswith("default/vnode-")
        assert row.lag_ms >= 0
    assert {group for group, _ in found} == set(groups)
    assert answer.silent_nodes == []
    assert {row.group_id for row in groups_at(cluster, number, groups[0]).subscriptions} == {groups[0]}


def test_a_node_that_is_down_is_named_and_what_it_knows_is_missing() -> None:
    cluster, groups = grouped()
    cluster.kill(2)
    answer = groups_at(cluster, 0)
    assert answer.silent_nodes == [2]
    found = {(row.group_id, leader(cluster, "t", row.partition)) for row in answer.subscriptions}
    assert found == {(group, node) for group in groups[:2] for node in (0, 1)}


def test_a_node_that_hangs_is_named_when_the_time_is_over() -> None:
    cluster, _ = grouped()
    client = cluster[0].client()
    client.send(KawalGroupsRequest(group_ids=None), 0)
    cluster[0].settle()
    hanging = [item for item in cluster.sent if item[0] == 1]
    assert hanging
    cluster.sent = [item for item in cluster.sent if item[0] != 1]
    cluster.settle()
    assert client.answers() == []
    cluster[0].advance(WAIT_MS + 1)
    cluster.settle()
    (answer,) = client.answers()
    assert answer.silent_nodes == [1]


def test_lags_are_told_to_nodes_and_not_to_clients() -> None:
    cluster, _ = grouped()
    index = index_on(cluster, 1)
    places = [
        PlaceReached(topic="t", partition=index, offset=1),
        PlaceReached(topic="x", partition=0, offset=0),
    ]
    request = KawalGroupsRequest(group_ids=[], places=places)
    assert cluster.call(cluster[1].client(), request, 0).lags == []
    known, unknown = cluster.ask(1, request, 0).lags
    assert (known.end_offset, known.lag, unknown.vnode) == (3, 2, "")


@each_node
def test_any_node_shows_all_logs_of_a_database_with_their_sizes(number: int) -> None:
    cluster, _ = grouped()
    request = KawalDatabasesRequest(action=DatabaseAction.DESCRIBE, databases=None, validate_only=False)
    answer = cluster.call(cluster[number].client(), request, 0)
    (database,) = answer.databases
    sizes = {vnode.name: vnode.log.usage()[1] for node in cluster for vnode in node.broker.vnodes["default"]}
    assert [state.name for state in database.vnode_states] == [f"default/vnode-{v}" for v in range(6)]
    assert {state.name: state.size_bytes for state in database.vnode_states} == sizes
    assert database.size_bytes == sum(sizes.values())


@each_node
def test_any_node_knows_the_last_numbers_of_producers_of_all_partitions(number: int) -> None:
    cluster = txn_cluster(3)
    make(cluster, "numbered", 6, kawal_dedup="seqno")
    cluster.settle()
    for node in range(3):
        index = index_on(cluster, node, "numbered")
        data = numbered(5 + node, name=b"p%d" % node)
        assert send(cluster[node].client(), "numbered", data, index).error_code == 0
    request = KawalProducersRequest(topic="numbered", names=None)
    answer = cluster.call(cluster[number].client(), request, 0)
    assert answer.error_code == 0, answer
    leaders = {index: leader(cluster, "numbered", index) for index in range(6)}
    found = {each.name: (each.last_seqno, leaders[each.partition]) for each in answer.producers}
    assert found == {b"p%d" % node: (5 + node, node) for node in range(3)}


@each_node
def test_any_node_finds_messages_in_partitions_of_all(number: int) -> None:
    cluster = txn_cluster(3)
    make(cluster, "counted", 6, kawal_message_ids="true")
    cluster.settle()
    for index in range(6):
        send(cluster[leader(cluster, "counted", index)].client(), "counted", batch(b"a", b"b"), index)
    cluster.settle()
    places = [MessageOffset(partition=index, offset=1) for index in range(6)]
    request = KawalMessagesRequest(topic="counted", offsets=places, ids=[])
    answer = cluster.call(cluster[number].client(), request, 0)
    assert [(each.error_code, each.partition_index, each.offset) for each in answer.messages] == [
        (0, index, 1) for index in range(6)
    ]


def test_what_a_node_that_is_down_leads_has_an_error_of_its_own() -> None:
    cluster = txn_cluster(2)
    make(cluster, "counted", 2, kawal_message_ids="true")
    cluster.settle()
    index = index_on(cluster, 1, "counted")
    cluster.kill(1)
    request = KawalMessagesRequest(
        topic="counted", offsets=[MessageOffset(partition=index, offset=0)], ids=[]
    )
    answer = cluster.call(cluster[0].client(), request, 0)
    assert answer.messages[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.silent_nodes == [1]


def connections_at(cluster: Cluster, number: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return node and id of all connections, page by page, and the nodes that are silent."""
    found, silent, after = list[tuple[int, int]](), list[int](), 0
    client = cluster[number].client()
    while after != -1:
        answer = cluster.call(client, KawalConnectionsRequest(after=after), 0)
        found += [(row.node_id, row.connection_id) for row in answer.connections]
        silent += answer.silent_nodes
        after = answer.next_after
    client.close()
    return found, silent


@each_node
def test_any_node_lists_the_connections_of_all_page_by_page(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections_handler, "ROWS_MAX", 2)
    cluster = Cluster(3)
    cluster.settle()
    clients = [node.client() for node in cluster for _ in range(5)]
    expected = {(node.number, key) for node in cluster for key in node.broker.connections}
    found, silent = connections_at(cluster, number)
    assert expected <= set(found)
    assert len(set(found)) == len(found)
    assert found == sorted(found)
    assert silent == []
    assert len(clients) == 15


def test_connections_of_a_node_that_is_down_are_missing_and_it_is_named() -> None:
    cluster = Cluster(3)
    clients = [node.client() for node in cluster]
    cluster.kill(1)
    found, silent = connections_at(cluster, 0)
    assert silent == [1]
    assert {node for node, _ in found} == {0, 2}
    assert len(clients) == 3


def test_a_client_sees_of_all_nodes_what_it_may_see_of_one() -> None:
    cluster = txn_cluster(2, authorizer_class_name=STANDARD_AUTHORIZER, super_users=f"{ADMIN};User:ANONYMOUS")
    make(cluster, "numbered", 4, kawal_dedup="seqno")
    cluster.settle()
    for number in range(2):
        client = cluster[number].client()
        client.connection.principal = ALICE
        for request in (
            KawalGroupsRequest(group_ids=None),
            KawalConnectionsRequest(after=0),
            KawalConnectionsRequest(after=(1 - number) << 48),
            KawalProducersRequest(topic="numbered", names=None),
        ):
            answer = cluster.call(client, request, 0)
            assert answer.error_code in (
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ), request
            assert answer.silent_nodes == []
    for acl in (
        rule(Operation.DESCRIBE, CLUSTER, "kafka-cluster"),
        rule(Operation.READ, TOPIC, "numbered"),
    ):
        cluster[0].broker.metadata_log.append(AclAdded(**acl._asdict()), cluster[0].now_ms)
    cluster.settle()
    for number in range(2):
        client = cluster[number].client()
        client.connection.principal = ALICE
        answer = cluster.call(client, KawalConnectionsRequest(after=(1 - number) << 48), 0)
        assert (answer.error_code, {row.node_id for row in answer.connections}) == (0, {1 - number})
        request = KawalProducersRequest(topic="numbered", names=None)
        assert cluster.call(client, request, 0).error_code == 0
