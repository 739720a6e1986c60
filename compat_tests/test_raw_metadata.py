"""Metadata, DescribeCluster and FindCoordinator on the wire."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from compat_tests.broker import HOST, Broker
from compat_tests.conftest import MakeTopic
from compat_tests.requests import topic_id
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

UNKNOWN_TOPIC, INVALID_TOPIC, UNKNOWN_TOPIC_ID = 3, 17, 100
INVALID_REQUEST, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOADING = 42, 15, 14
NOT_REQUESTED = -(2**31)


def ask(raw: RawClient, version: int, *names: str, create: bool = False, **fields: Any) -> Any:
    topics = [MetadataRequestTopic(name=name) for name in names]
    # Before v4 a request always allows creation; the field is not on the wire.
    allow = {"allow_auto_topic_creation": create} if version >= 4 else {}
    return raw.call(MetadataRequest(topics=topics, **allow, **fields), version)


@pytest.mark.parametrize("version", range(14))
def test_every_version_describes_brokers_and_topics(
    broker: Broker, raw: RawClient, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic(partitions=2)
    answer = ask(raw, version, topic)
    (node,) = answer.brokers
    assert (node.host, node.port, node.rack) == (HOST, broker.port, None)
    assert answer.controller_id == (node.node_id if version >= 1 else -1)
    assert bool(answer.cluster_id) == (version >= 2)
    (described,) = answer.topics
    assert (described.error_code, described.name, described.is_internal) == (0, topic, False)
    assert bool(described.topic_id.int) == (version >= 10)
    assert described.topic_authorized_operations == NOT_REQUESTED
    assert sorted(
        (p.partition_index, p.error_code, p.leader_id, p.leader_epoch, *p.replica_nodes, *p.isr_nodes)
        for p in described.partitions
    ) == [(i, 0, node.node_id, 0 if version >= 7 else -1, node.node_id, node.node_id) for i in (0, 1)]
    assert all(p.offline_replicas == [] for p in described.partitions)


@pytest.mark.parametrize("version", range(14))
def test_all_topics_and_no_topics_are_different_questions(
    raw: RawClient, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic()
    listed = raw.call(MetadataRequest(topics=None if version >= 1 else []), version)
    assert topic in {entry.name for entry in listed.topics}
    if version >= 1:
        assert raw.call(MetadataRequest(topics=[]), version).topics == []


def test_topics_are_found_by_id_since_version_12(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity = topic_id(raw, topic)
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=identity, name=None)])
    (described,) = raw.call(request, 12).topics
    assert (described.error_code, described.name, described.topic_id) == (0, topic, identity)
    other = UUID(int=identity.int ^ 1)
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=other, name=None)])
    (unknown,) = raw.call(request, 12).topics
    assert (unknown.error_code, unknown.topic_id) == (UNKNOWN_TOPIC_ID, other)


@pytest.mark.parametrize("version", [4, 9, 12, 13])
def test_an_unknown_topic_is_created_only_when_asked(raw: RawClient, topic: str, version: int) -> None:
    (unknown,) = ask(raw, version, topic).topics
    assert (unknown.error_code, unknown.name, unknown.partitions) == (UNKNOWN_TOPIC, topic, [])
    ask(raw, version, topic, create=True)

    def created() -> int:
        (described,) = ask(raw, version, topic).topics
        return 0 if described.error_code else len(described.partitions)

    assert eventually(created, waiting_for="the topic") == 4


def test_an_invalid_name_is_told_apart_and_never_created(raw: RawClient, topic: str) -> None:
    for name in ("bad name", "", "..", "x" * 250):
        (described,) = ask(raw, 9, name, create=True).topics
        assert (described.error_code, described.name) == (INVALID_TOPIC, name)


def test_authorized_operations_are_told_when_asked(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    answer = ask(
        raw, 9, topic, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    )
    operations = {i for i in range(16) if answer.topics[0].topic_authorized_operations >> i & 1}
    assert operations == {3, 4, 5, 6, 7, 8, 10, 11}
    assert {i for i in range(16) if answer.cluster_authorized_operations >> i & 1} >= {5, 7, 8, 9, 10, 11}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_cluster_is_described(broker: Broker, raw: RawClient, version: int) -> None:
    answer = raw.call(DescribeClusterRequest(include_cluster_authorized_operations=False), version)
    assert answer.error_code == 0
    assert answer.cluster_id == raw.call(MetadataRequest(topics=[]), 9).cluster_id
    (node,) = answer.brokers
    assert (node.host, node.port, node.rack, node.is_fenced) == (HOST, broker.port, None, False)
    assert answer.controller_id == node.broker_id
    assert answer.cluster_authorized_operations == NOT_REQUESTED


@pytest.mark.parametrize("version", range(7))
def test_the_one_broker_coordinates_every_group(broker: Broker, raw: RawClient, version: int) -> None:
    request = (
        FindCoordinatorRequest(key="some-group")
        if version < 4
        else FindCoordinatorRequest(coordinator_keys=["some-group", "other-group"])
    )

    def coordinators() -> list[Any] | None:
        answer = raw.call(request, version)
        each = answer.coordinators if version >= 4 else [answer]
        waiting = {COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOADING}
        return None if any(answer.error_code in waiting for answer in each) else each

    each = eventually(coordinators, waiting_for="the coordinator")
    assert [(answer.error_code, answer.host, answer.port) for answer in each] == [
        (0, HOST, broker.port)
    ] * len(each)
    assert len(each) == (2 if version >= 4 else 1)


def test_an_unknown_kind_of_coordinator_is_an_invalid_request(raw: RawClient) -> None:
    answer = raw.call(FindCoordinatorRequest(key="k", key_type=9), 3)
    assert answer.error_code == INVALID_REQUEST
