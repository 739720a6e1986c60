"""Metadata: one node that leads everything, and topics that exist as soon as they are shown."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from broker.catalogue.topics import Topic
from broker.core import Broker
from broker.handlers import metadata
from broker.handlers.metadata import topic_answer
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from protocol.wire import ZERO_UUID
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, send
from wal.memory_faults import failing

SETTINGS = {"broker_rack": "r1"}


def request(*names: str, creates: bool = True) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=creates
    )


def ask(client: Client, *names: str, creates: bool = True, version: int = 12) -> Any:
    return client.call(request(*names, creates=creates), version)


@pytest.mark.parametrize("version", range(14))
def test_every_version_tells_of_node_and_partitions(client: Client, version: int) -> None:
    topic_id = create(client, "t", 3)
    answer = ask(client, "t", creates=True, version=version)
    (node,) = answer.brokers
    assert (node.node_id, node.host, node.port) == (1, "gateway", 9092)
    assert node.rack == ("r1" if version >= 1 else None)
    if version >= 1:
        assert answer.controller_id == 1
    if version >= 2:
        assert len(answer.cluster_id) == 22
    (topic,) = answer.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, "t", False)
    assert topic.topic_id == (topic_id if version >= 10 else ZERO_UUID)
    assert [part.partition_index for part in topic.partitions] == [0, 1, 2]
    for part in topic.partitions:
        assert (part.error_code, part.leader_id, part.replica_nodes, part.isr_nodes) == (0, 1, [1], [1])
        assert part.leader_epoch == (0 if version >= 7 else -1)
        assert part.offline_replicas == []


def test_null_means_all_and_empty_means_none_but_in_version_0_empty_means_all(client: Client) -> None:
    create(client, "a")
    create(client, "b")
    for version in range(1, 14):
        everything = client.call(MetadataRequest(topics=None), version)
        assert sorted(topic.name for topic in everything.topics) == ["a", "b"]
        assert client.call(MetadataRequest(topics=[]), version).topics == []
    assert len(client.call(MetadataRequest(topics=[]), 0).topics) == 2


def test_a_missing_topic_is_created_and_in_the_same_answer(gateway: Gateway, client: Client) -> None:
    (topic,) = ask(client, "new").topics
    assert (topic.error_code, len(topic.partitions)) == (0, 4)
    gateway.crash()
    assert ask(gateway.client(), "new", creates=False).topics[0].topic_id == topic.topic_id


@pytest.mark.parametrize("version", range(4))
def test_versions_without_the_choice_create(client: Client, version: int) -> None:
    assert ask(client, "new", version=version).topics[0].error_code == 0


@pytest.mark.parametrize("version", range(4, 14))
def test_a_client_may_forbid_creation(client: Client, version: int) -> None:
    (topic,) = ask(client, "new", creates=False, version=version).topics
    assert (topic.error_code, topic.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    assert client.call(MetadataRequest(topics=None), 12).topics == []


def test_the_server_may_forbid_creation() -> None:
    client = Gateway(auto_create_topics_enable=False).client()
    assert ask(client, "new").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_names_that_cannot_be_are_told_apart(client: Client) -> None:
    create(client, "a.b")
    topics = ask(client, "good", "bad name", "", "x" * 250, "a_b").topics
    assert [topic.error_code for topic in topics] == [
        0,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


def test_a_name_asked_twice_is_created_once(client: Client) -> None:
    assert {topic.error_code for topic in ask(client, "new", "new").topics} == {0}
    assert len(client.call(MetadataRequest(topics=None), 12).topics) == 1


def test_the_answer_waits_until_the_new_topic_is_durable(gateway: Gateway, client: Client) -> None:
    create(client, "old")
    client.send(request("new", "old"), 12)
    assert client.answers() == []
    gateway.settle()
    (answer,) = client.answers()
    assert [topic.error_code for topic in answer.topics] == [0, 0]
    assert send(client, "new", batch(b"a")).error_code == 0


def test_whoever_asks_for_a_topic_in_the_making_waits_for_it_too(gateway: Gateway) -> None:
    maker, other = gateway.client(), gateway.client()
    maker.send(CreateTopicsRequest(topics=[creation("t")]), 7)
    other.send(request("t", creates=False), 12)
    assert other.answers() == []
    gateway.settle()
    assert other.answers()[0].topics[0].error_code == 0


def test_a_topic_that_the_disk_loses_is_told_as_that(gateway: Gateway, client: Client) -> None:
    create(client, "old")
    client.send(request("lost", "old"), 12)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.settle()
    (answer,) = client.answers()
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
    assert answer.topics[0].partitions == []
    gateway.settle()
    assert len(client.call(MetadataRequest(topics=None), 12).topics) == 1


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_found_by_id_and_never_created_by_it(client: Client, version: int) -> None:
    topic_id = create(client, "t")
    asked = [
        MetadataRequestTopic(name=None, topic_id=topic_id),
        MetadataRequestTopic(name=None, topic_id=UUID(int=9)),
    ]
    known, unknown = client.call(MetadataRequest(topics=asked), version).topics
    assert (known.error_code, known.name, known.topic_id) == (0, "t", topic_id)
    assert (unknown.error_code, unknown.name, unknown.topic_id) == (
        ErrorCode.UNKNOWN_TOPIC_ID,
        None,
        UUID(int=9),
    )


def test_no_more_topics_than_the_node_may_hold() -> None:
    client = Gateway(kawal_max_partitions=6, num_partitions=4).client()
    first, second = ask(client, "one", "two").topics
    assert (first.error_code, second.error_code) == (0, ErrorCode.POLICY_VIOLATION)


def test_clients_are_told_the_address_they_came_to(gateway: Gateway) -> None:
    client = gateway.client()
    client.connection.advertised = ("elsewhere", 1)
    (node,) = ask(client).brokers
    assert (node.host, node.port) == ("elsewhere", 1)


def test_the_cluster_id_stays(gateway: Gateway, client: Client) -> None:
    before = ask(client).cluster_id
    gateway.crash()
    assert ask(gateway.client()).cluster_id == before


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with the topics that are described."""
    names: list[str] = []

    def counted(broker: Broker, topic: Topic, *rest: Any) -> MetadataResponseTopic:
        names.append(topic.name)
        return topic_answer(broker, topic, *rest)

    monkeypatch.setattr(metadata, "topic_answer", counted)
    monkeypatch.setattr(metadata, "TOPICS_PER_SLICE", 5)
    return names


def all_names(answer: Any) -> list[str]:
    return sorted(topic.name for topic in answer.topics)


def test_many_topics_are_described_once_until_one_changes(client: Client, described: list[str]) -> None:
    names = [f"t{number:02}" for number in range(40)]
    for name in names:
        create(client, name, 3)
    for version in (12, 12, 1, 12, 1):
        answer = client.call(MetadataRequest(topics=None), version)
        assert all_names(answer) == names
        assert [len(topic.partitions) for topic in answer.topics] == [3] * 40
    assert len(described) == 2 * 40
    create(client, "u")
    assert all_names(client.call(MetadataRequest(topics=None), 12)) == [*names, "u"]
    client.call(DeleteTopicsRequest(topic_names=["u", "t00"], timeout_ms=1_000), 5)
    assert all_names(client.call(MetadataRequest(topics=None), 12)) == names[1:]


def test_requests_that_come_together_share_one_answer(
    gateway: Gateway, client: Client, described: list[str]
) -> None:
    for number in range(40):
        create(client, f"t{number:02}")
    clients = [gateway.client() for _ in range(4)]
    for other in clients:
        other.send(MetadataRequest(topics=None), 12)
    clients[0].close()
    gateway.settle()
    assert [len(other.answers()[0].topics) for other in clients[1:]] == [40] * 3
    assert len(described) <= 2 * 40


def test_an_answer_is_not_older_than_its_request(
    gateway: Gateway, client: Client, described: list[str]
) -> None:
    for number in range(200):
        create(client, f"t{number:03}")
    early, late = gateway.client(), gateway.client()
    early.send(MetadataRequest(topics=None), 12)
    assert described
    maker = gateway.client()
    maker.send(CreateTopicsRequest(topics=[creation("new", 1)], timeout_ms=1_000), 7)
    while gateway.run_jobs():
        continue
    assert maker.answers()[0].topics[0].error_code == 0
    late.send(MetadataRequest(topics=None), 12)
    gateway.settle()
    assert "new" in all_names(late.answers()[0])
    assert len(early.answers()[0].topics) >= 200


def test_many_small_topics_on_several_nodes_are_made_in_many_steps() -> None:
    """All of them were one step, as none has enough partitions for a pause of its own."""
    count = 5_000
    topics = [SimpleNamespace(topic_id=UUID(int=number), partition_count=1) for number in range(count)]
    broker: Any = SimpleNamespace(
        nodes=SimpleNamespace(count=2, own_id=0, ids=[0, 1]),
        topics=SimpleNamespace(leader_epoch=1, leader=lambda _topic, index: (index, 1)),
    )
    steps = metadata._make_partitions(broker, [], cast("Any", topics))
    paused = sum(1 for _ in steps)
    assert paused == count // metadata.MADE_PER_STEP
