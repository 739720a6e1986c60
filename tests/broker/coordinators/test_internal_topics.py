"""The controller of several nodes makes the topics of coordinators, so that one node serves each group."""

from __future__ import annotations

import errno
from typing import Any

from broker.catalogue.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker.coordinators.internal_topics import AGAIN_MS
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_fetch import OffsetFetchRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from wal.memory_faults import failing

GROUPS = [f"group-{number}" for number in range(20)]
MADE = {OFFSETS_TOPIC, TRANSACTIONS_TOPIC}


def coordinators(cluster: Cluster, number: int) -> list[Any]:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=GROUPS)
    return list(cluster.call(cluster[number].client(), request, 6).coordinators)


def fetch_code(cluster: Cluster, number: int, group: str) -> int:
    answer = cluster.call(cluster[number].client(), OffsetFetchRequest(group_id=group, topics=None), 7)
    return int(answer.error_code)


def test_both_topics_are_made_at_the_start_and_known_to_all() -> None:
    cluster = Cluster(3)
    assert not [node for node in cluster if MADE & node.broker.catalogue.by_name.keys()]
    cluster.advance(0)
    for node in cluster:
        assert node.broker.catalogue.by_name.keys() >= MADE


def test_a_node_that_is_alone_makes_none_before_they_are_needed() -> None:
    gateway = Gateway()
    gateway.advance(10_000)
    assert not MADE & gateway.broker.catalogue.by_name.keys()


def test_until_then_no_node_coordinates_anything() -> None:
    cluster = Cluster(2)
    for number in range(2):
        found = coordinators(cluster, number)
        assert {item.error_code for item in found} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert fetch_code(cluster, number, "group-1") == ErrorCode.NOT_COORDINATOR


def test_all_nodes_name_the_same_coordinator_and_it_alone_serves_the_group() -> None:
    cluster = Cluster(2)
    for number in range(2):
        # Its coordinator is there before the topic is.
        assert fetch_code(cluster, number, "group-1") == ErrorCode.NOT_COORDINATOR
    cluster.advance(0)
    cluster.advance(100)
    seen = [[item.node_id for item in coordinators(cluster, number)] for number in range(2)]
    assert seen[0] == seen[1]
    assert set(seen[0]) == {0, 1}
    for group, leader in zip(GROUPS, seen[0], strict=True):
        codes = [fetch_code(cluster, number, group) for number in range(2)]
        assert codes[leader] == ErrorCode.NONE
        assert codes[1 - leader] == ErrorCode.NOT_COORDINATOR


def test_a_start_that_cannot_record_them_tries_again() -> None:
    cluster = Cluster(2)
    cluster[0].disk.faults.append(failing("sync", errno.EIO, path="meta"))
    cluster.advance(0)
    assert not MADE & cluster[0].broker.catalogue.by_name.keys()
    cluster.advance(AGAIN_MS)
    assert cluster[1].broker.catalogue.by_name.keys() >= MADE


def test_they_cannot_be_deleted_while_there_are_several_nodes() -> None:
    cluster = Cluster(2)
    cluster.advance(0)
    for node in cluster:
        request = DeleteTopicsRequest(topic_names=[OFFSETS_TOPIC, TRANSACTIONS_TOPIC], timeout_ms=1000)
        answer = cluster.call(node.client(), request, 5)
        assert {item.error_code for item in answer.responses} == {ErrorCode.INVALID_REQUEST}
    assert cluster[0].broker.catalogue.by_name.keys() >= MADE
