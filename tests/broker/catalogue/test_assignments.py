"""Partitions that clients place: on several nodes as the rule has them, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.assignments import check_replicas
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.create_topics import CreatableReplicaAssignment, CreateTopicsRequest
from tests.broker.cluster import Cluster
from tests.broker.cluster_txn import leader, make
from tests.broker.kit import creation

REFUSED = ErrorCode.INVALID_REPLICA_ASSIGNMENT


def placing(cluster: Cluster, name: str, *replicas: list[int], number: int = 1, **configs: str) -> Any:
    """Create a topic with these replicas, through a node."""
    asked = creation(name, -1, **configs)
    asked.replication_factor = -1
    asked.assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
        for index, ids in enumerate(replicas)
    ]
    request = CreateTopicsRequest(topics=[asked], timeout_ms=1000)
    (answer,) = cluster.call(cluster[number].client(), request, 7).topics
    return answer


def growing(cluster: Cluster, name: str, count: int, *replicas: list[int]) -> Any:
    """Add partitions with these replicas to a topic."""
    assignments = [CreatePartitionsAssignment(broker_ids=ids) for ids in replicas]
    wider = CreatePartitionsTopic(name=name, count=count, assignments=assignments)
    request = CreatePartitionsRequest(topics=[wider], timeout_ms=1000, validate_only=False)
    (answer,) = cluster.call(cluster[1].client(), request, 3).results
    return answer


@pytest.mark.parametrize("order", [(0, 1, 0, 1, 0), (1, 0, 1, 0, 1), (0,), (1,)])
def test_partitions_in_turn_are_where_the_client_wants_the_first_one(order: tuple[int, ...]) -> None:
    cluster = Cluster(2)
    for name in ("a", "b"):
        answer = placing(cluster, name, *([number] for number in order))
        assert (answer.error_code, answer.num_partitions) == (ErrorCode.NONE, len(order)), answer
        assert tuple(leader(cluster, name, index) for index in range(len(order))) == order


def test_partitions_that_are_not_in_turn_are_refused_with_an_order_that_is_possible() -> None:
    cluster = Cluster(2)
    answer = placing(cluster, "t", [0], [0])
    assert answer.error_code == REFUSED
    assert "ask for an order like 0, 1, 0, 1" in answer.error_message
    assert cluster[0].broker.catalogue.find("t") is None


@pytest.mark.parametrize(
    ("replicas", "why"),
    [
        ([], "an empty replica list"),
        ([1, 1], "the broker 1 more than once"),
        ([7], "includes broker 7, but no such broker is registered"),
        ([0, 1], "partitions have one replica, and 2 were asked for"),
    ],
)
def test_a_replica_list_other_than_one_node_is_refused(replicas: list[int], why: str) -> None:
    with pytest.raises(RequestError, match=why) as refused:
        check_replicas([replicas], range(2))
    assert refused.value.code == REFUSED


def test_new_partitions_can_be_asked_for_on_the_nodes_that_they_come_to() -> None:
    cluster = Cluster(2)
    make(cluster, "t", 3)
    cluster.settle()
    first = leader(cluster, "t", 0)
    due = [(first + index) % 2 for index in (3, 4)]
    refused = growing(cluster, "t", 5, *([1 - number] for number in due))
    assert refused.error_code == REFUSED
    assert "'t' cannot be on these nodes" in refused.error_message
    assert growing(cluster, "t", 5, *([number] for number in due)).error_code == ErrorCode.NONE
    assert [leader(cluster, "t", index) for index in (3, 4)] == due


def test_a_topic_that_does_not_grow_is_refused_before_its_assignments() -> None:
    cluster = Cluster(2)
    make(cluster, "t", 3)
    cluster.settle()
    assert growing(cluster, "t", 3, [7]).error_code == ErrorCode.INVALID_PARTITIONS


def test_the_partitions_of_a_view_cannot_be_placed() -> None:
    cluster = Cluster(2)
    make(cluster, "t", 2)
    cluster.settle()
    answer = placing(cluster, "v", [0], [1], kawal_sql="SELECT * FROM t")
    assert answer.error_code == REFUSED
    assert "a view is where that of its source is" in answer.error_message
