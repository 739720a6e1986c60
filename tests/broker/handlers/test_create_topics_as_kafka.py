"""CreateTopics in odd cases; the codes are those of Apache Kafka 4.3.1."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.broker.gateway import Client

TOPICS = {"old": 1}


def attempt(client: Client, name: str, *assigned: int, config: str = "1", **fields: int) -> Any:
    topic = CreatableTopic(
        name=name,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in assigned],
        configs=[CreatableTopicConfig(name="flush.ms", value=config)],
        **{"num_partitions": -1, "replication_factor": -1, **fields},
    )
    return client.call(CreateTopicsRequest(topics=[topic], timeout_ms=0, validate_only=True), 7).topics[0]


def test_a_name_is_judged_before_configs_and_these_before_partitions(client: Client) -> None:
    codes = [
        attempt(client, "old", 0, 0, config="x", num_partitions=1).error_code,
        attempt(client, "a/b", 0, 0, config="x", num_partitions=1).error_code,
        attempt(client, "new", 0, 0, config="x", num_partitions=1).error_code,
        attempt(client, "new", config="x", num_partitions=0).error_code,
        attempt(client, "new", 0, 0, num_partitions=1).error_code,
        attempt(client, "new", 0, 0).error_code,
    ]
    assert codes == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ]


def test_a_partition_assigned_twice_is_named(client: Client) -> None:
    assert "partition 1" in attempt(client, "new", 0, 1, 1).error_message


def test_an_id_is_told_even_when_nothing_is_made(client: Client) -> None:
    told = attempt(client, "new").topic_id
    assert told != UUID(int=0)
    assert attempt(client, "new").topic_id != told
