"""CreateTopics, DeleteTopics, CreatePartitions and DescribeConfigs on the wire, version by version."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.requests import topic_id
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.metadata import MetadataRequest

UNKNOWN_TOPIC, INVALID_TOPIC, TOPIC_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION = 3, 17, 36, 37, 38
INVALID_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 39, 40, 42, 100
TOPIC, BROKER = 2, 4


def new_topic(name: str, partitions: int = 1, replicas: int = 1, **fields: Any) -> CreatableTopic:
    values = {"assignments": [], "configs": [], **fields}
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, **values)


def create(
    raw: RawClient, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> dict[str, int]:
    """Create topics; return the error code of each."""
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=validate_only)
    return {topic.name: topic.error_code for topic in raw.call(request, version).topics}


def names(raw: RawClient) -> set[str]:
    return {topic.name for topic in raw.call(MetadataRequest(topics=None), 9).topics}


@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_creates_a_topic(raw: RawClient, topic: str, version: int) -> None:
    config = CreatableTopicConfig(name="retention.ms", value="1000")
    request = CreateTopicsRequest(topics=[new_topic(topic, 3, configs=[config])], timeout_ms=10_000)
    (made,) = raw.call(request, version).topics
    assert (made.name, made.error_code, made.error_message) == (topic, 0, None)
    if version >= 5:
        assert (made.num_partitions, made.replication_factor, made.topic_config_error_code) == (3, 1, 0)
        assert {c.name: c.value for c in made.configs}["retention.ms"] == "1000"
    assert bool(made.topic_id.int) == (version >= 7)
    eventually(lambda: topic in names(raw), waiting_for="the topic")


def test_each_topic_of_a_request_is_judged_alone(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert create(
        raw,
        new_topic(topic),
        new_topic("not/legal"),
        new_topic(f"{topic}-replicas", replicas=2),
        new_topic(f"{topic}-partitions", partitions=0),
        new_topic(f"{topic}-both", partitions=0, replicas=0),
        new_topic(f"{topic}-config", configs=[CreatableTopicConfig(name="retention.ms", value="x")]),
        new_topic(f"{topic}-good"),
    ) == {
        topic: TOPIC_EXISTS,
        "not/legal": INVALID_TOPIC,
        f"{topic}-replicas": INVALID_REPLICATION,
        f"{topic}-partitions": INVALID_PARTITIONS,
        f"{topic}-both": INVALID_REPLICATION,
        f"{topic}-config": INVALID_CONFIG,
        f"{topic}-good": 0,
    }


def test_a_topic_named_twice_is_not_created(raw: RawClient, topic: str) -> None:
    assert create(raw, new_topic(topic), new_topic(topic, 2)) == {topic: INVALID_REQUEST}
    assert topic not in names(raw)


def test_assignments_are_checked(raw: RawClient, topic: str) -> None:
    node = raw.call(MetadataRequest(topics=[]), 9).brokers[0].node_id

    def assigned(name: str, *partitions: tuple[int, list[int]], count: int = -1, replicas: int = -1) -> Any:
        assignments = [CreatableReplicaAssignment(partition_index=i, broker_ids=ids) for i, ids in partitions]
        return new_topic(name, count, replicas, assignments=assignments)

    assert create(
        raw,
        assigned(f"{topic}-right", (0, [node]), (1, [node])),
        assigned(f"{topic}-stranger", (0, [node + 5])),
        assigned(f"{topic}-hole", (0, [node]), (2, [node])),
        assigned(f"{topic}-twice", (0, [node, node])),
        assigned(f"{topic}-both", (0, [node]), count=1, replicas=1),
    ) == {
        f"{topic}-right": 0,
        f"{topic}-stranger": INVALID_ASSIGNMENT,
        f"{topic}-hole": INVALID_ASSIGNMENT,
        f"{topic}-twice": INVALID_ASSIGNMENT,
        f"{topic}-both": INVALID_REQUEST,
    }


def test_a_config_given_twice_and_an_empty_cleanup_policy_are_accepted(raw: RawClient, topic: str) -> None:
    twice = [CreatableTopicConfig(name="retention.ms", value=value) for value in ("1", "2")]
    empty = [CreatableTopicConfig(name="cleanup.policy", value="")]
    made = create(raw, new_topic(f"{topic}-a", configs=twice), new_topic(f"{topic}-b", configs=empty))
    assert made == {f"{topic}-a": 0, f"{topic}-b": 0}


def test_a_config_without_a_value_is_refused(raw: RawClient, topic: str) -> None:
    nothing = [CreatableTopicConfig(name="retention.ms", value=None)]
    assert create(raw, new_topic(topic, configs=nothing)) == {topic: INVALID_CONFIG}


@pytest.mark.parametrize("version", range(1, 7))
def test_every_version_deletes_a_topic(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic()
    asked = [topic, f"{topic}-unknown", "not/legal"]
    request = (
        DeleteTopicsRequest(topic_names=asked, timeout_ms=10_000)
        if version < 6
        else DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in asked], timeout_ms=10_000)
    )
    answer = raw.call(request, version)
    assert {response.name: response.error_code for response in answer.responses} == {
        topic: 0,
        f"{topic}-unknown": UNKNOWN_TOPIC,
        "not/legal": UNKNOWN_TOPIC,
    }
    eventually(lambda: topic not in names(raw), waiting_for="the topic to go")


def test_topics_are_deleted_by_id(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity = topic_id(raw, topic)
    other = UUID(int=identity.int ^ 1)
    states = [DeleteTopicState(name=None, topic_id=topic_id) for topic_id in (identity, other)]
    answer = raw.call(DeleteTopicsRequest(topics=states, timeout_ms=10_000), 6)
    found = {response.topic_id: (response.name, response.error_code) for response in answer.responses}
    assert found == {identity: (topic, 0), other: (None, UNKNOWN_TOPIC_ID)}
    eventually(lambda: topic not in names(raw), waiting_for="the topic to go")


@pytest.mark.parametrize("version", range(4))
def test_every_version_adds_partitions(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic()

    def grow(name: str, count: int, *, validate_only: bool = False) -> int:
        topics = [CreatePartitionsTopic(name=name, count=count, assignments=None)]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=10_000, validate_only=validate_only)
        code: int = raw.call(request, version).results[0].error_code
        return code

    assert grow(topic, 9, validate_only=True) == 0
    assert grow(topic, 3) == 0
    assert grow(topic, 3) == INVALID_PARTITIONS
    assert grow(topic, 2) == INVALID_PARTITIONS
    assert grow(f"{topic}-unknown", 2) == UNKNOWN_TOPIC


def describe(
    raw: RawClient, kind: int, name: str, keys: list[str] | None, version: int = 4, **fields: Any
) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    return raw.call(DescribeConfigsRequest(resources=[resource], **fields), version).results[0]


@pytest.mark.parametrize("version", range(1, 5))
def test_every_version_describes_configs(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic(retention_ms="77")
    result = describe(raw, TOPIC, topic, ["retention.ms", "no.such.key"], version, include_synonyms=True)
    assert (result.error_code, result.resource_type, result.resource_name) == (0, TOPIC, topic)
    (entry,) = result.configs
    assert (entry.name, entry.value, entry.config_source, entry.read_only) == ("retention.ms", "77", 1, False)
    assert (entry.synonyms[0].name, entry.synonyms[0].value, entry.synonyms[0].source) == (
        "retention.ms",
        "77",
        1,
    )
    assert entry.config_type == (5 if version >= 3 else 0)


def test_documentation_comes_when_asked(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    (entry,) = describe(raw, TOPIC, topic, ["retention.ms"], include_documentation=True).configs
    assert len(entry.documentation) > 20
    (entry,) = describe(raw, TOPIC, topic, ["retention.ms"]).configs
    assert entry.documentation is None


def test_an_empty_list_of_keys_means_all_of_them(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    everything = {entry.name for entry in describe(raw, TOPIC, topic, None).configs}
    assert {entry.name for entry in describe(raw, TOPIC, topic, []).configs} == everything
    assert {"cleanup.policy", "retention.ms", "segment.bytes", "min.insync.replicas"} <= everything


def test_unknown_resources_have_their_own_errors(broker: Broker, raw: RawClient, topic: str) -> None:
    assert describe(raw, TOPIC, topic, None).error_code == UNKNOWN_TOPIC
    assert describe(raw, TOPIC, "not/legal", None).error_code == INVALID_TOPIC
    assert describe(raw, BROKER, "4711", None).error_code == INVALID_REQUEST
    assert describe(raw, BROKER, "one", None).error_code == INVALID_REQUEST
    assert describe(raw, 99, "x", None).error_code == INVALID_REQUEST
