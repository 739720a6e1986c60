"""kafka-python 3: topic administration."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, OffsetSpec
from kafka.errors import (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.times import START_MS
from compat_tests.waiting import eventually


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Iterator[Any]:
    made = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield made
    made.close()


def create(admin: Any, name: str, **options: Any) -> dict[str, Any]:
    """Create one topic and return the broker's answer for it."""
    answer: dict[str, Any] = admin.create_topics({name: options}, wait_for_metadata=True)["topics"][0]
    return answer


def partition_count(admin: Any, name: str) -> int:
    return len(admin.describe_topics([name])[0]["partitions"])


def test_created_topics_are_listed_and_described_with_their_ids_and_leaders(admin: Any, topic: str) -> None:
    answer = create(admin, topic, num_partitions=3, replication_factor=1, configs={"retention.ms": "1000000"})
    assert (answer["num_partitions"], answer["replication_factor"]) == (3, 1)
    assert uuid.UUID(answer["topic_id"]).int
    assert answer["configs"]["retention.ms"]["value"] == "1000000"
    assert answer["configs"]["retention.ms"]["config_source"] == "DYNAMIC_TOPIC_CONFIG"
    assert topic in admin.list_topics()
    described = admin.describe_topics([topic])[0]
    node = admin.describe_cluster()["brokers"][0]["broker_id"]
    assert (described["error_code"], described["is_internal"]) == (0, False)
    assert described["topic_id"] == answer["topic_id"]
    assert [
        (p["partition_index"], p["leader_id"], p["leader_epoch"], p["replica_nodes"], p["isr_nodes"])
        for p in sorted(described["partitions"], key=lambda p: p["partition_index"])
    ] == [(i, node, 0, [node], [node]) for i in range(3)]


def test_partition_count_and_replication_factor_default_to_the_brokers(admin: Any, topic: str) -> None:
    answer = create(admin, topic)
    assert (answer["num_partitions"], answer["replication_factor"]) == (4, 1)


def test_the_cluster_names_its_one_broker_as_controller(admin: Any, broker: Broker) -> None:
    cluster = admin.describe_cluster()
    assert [(b["host"], b["port"], b["rack"]) for b in cluster["brokers"]] == [
        ("127.0.0.1", broker.port, None)
    ]
    assert cluster["controller_id"] == cluster["brokers"][0]["broker_id"]
    assert cluster["cluster_id"]


def test_an_existing_topic_is_not_created_again(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with pytest.raises(TopicAlreadyExistsError, match=f"Topic '{topic}' already exists"):
        create(admin, topic)


@pytest.mark.parametrize("name", ["bad name", "..", "", "a" * 250, "slash/ed", "ümlaut"])
def test_names_against_kafkas_rules_are_refused(admin: Any, name: str) -> None:
    with pytest.raises(InvalidTopicError):
        create(admin, name)


def test_names_that_differ_only_in_dot_and_underscore_collide(admin: Any, topic: str) -> None:
    create(admin, f"{topic}.x")
    with pytest.raises(InvalidTopicError, match="collides"):
        create(admin, f"{topic}_x")


def test_more_replicas_than_brokers_are_refused(admin: Any, topic: str) -> None:
    with pytest.raises(InvalidReplicationFactorError):
        create(admin, topic, replication_factor=3, num_partitions=1)
    assert topic not in admin.list_topics()


@pytest.mark.parametrize("replicas", [-1, 1, 3])
def test_zero_partitions_are_refused(admin: Any, topic: str, replicas: int) -> None:
    with pytest.raises(InvalidPartitionsError):
        create(admin, topic, num_partitions=0, replication_factor=replicas)


def test_zero_replicas_are_refused_before_zero_partitions(admin: Any, topic: str) -> None:
    with pytest.raises(InvalidReplicationFactorError):
        create(admin, topic, num_partitions=0, replication_factor=0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such.key", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("cleanup.policy", "shred"),
        ("message.timestamp.type", "Sometime"),
        ("segment.bytes", "0"),
        ("max.message.bytes", "-1"),
    ],
)
def test_unknown_config_keys_and_bad_values_are_refused(admin: Any, topic: str, key: str, value: str) -> None:
    with pytest.raises(InvalidConfigurationError, match=key):
        create(admin, topic, configs={key: value})
    assert topic not in admin.list_topics()


def test_validate_only_creates_nothing(admin: Any, topic: str) -> None:
    answer = admin.create_topics({topic: {"num_partitions": 2}}, validate_only=True)["topics"][0]
    assert (answer["error_code"], answer["num_partitions"]) == (0, 2)
    assert topic not in admin.list_topics()


def test_partitions_grow_and_never_shrink(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    admin.create_partitions({topic: 5})
    eventually(lambda: partition_count(admin, topic) == 5, waiting_for="five partitions")
    for count in (5, 3):
        with pytest.raises(InvalidPartitionsError):
            admin.create_partitions({topic: count})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.create_partitions({f"{topic}-unknown": 5})
    assert partition_count(admin, topic) == 5


def test_new_partitions_take_records(admin: Any, broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    admin.create_partitions({topic: 2})
    eventually(lambda: partition_count(admin, topic) == 2, waiting_for="the second partition")
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap)) as producer:
        assert producer.send(topic, b"v", partition=1).get(60).offset == 0


def test_deleted_topics_go_and_come_back_empty_with_another_id(
    admin: Any, broker: Broker, topic: str
) -> None:
    first = create(admin, topic, num_partitions=1)
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap)) as producer:
        producer.send(topic, b"v").get(60)
    assert admin.delete_topics([topic])["topics"][0]["topic_id"] == first["topic_id"]
    eventually(lambda: topic not in admin.list_topics(), waiting_for="the topic to go")
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])
    second = create(admin, topic, num_partitions=1)
    assert second["topic_id"] != first["topic_id"]
    partition = TopicPartition(topic, 0)
    assert admin.list_partition_offsets({partition: OffsetSpec.LATEST})[partition].offset == 0


def test_topic_configs_are_described_with_values_sources_types_and_synonyms(
    admin: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic(retention_ms="123456", max_message_bytes="5000")
    described = admin.describe_configs(
        [ConfigResource("TOPIC", topic)], config_filter="all", include_synonyms=True
    )["topic"][topic]
    assert {key for key, entry in described.items() if entry["config_source"] == "DYNAMIC_TOPIC_CONFIG"} == {
        "retention.ms",
        "max.message.bytes",
    }
    retention = described["retention.ms"]
    assert (retention["value"], retention["config_type"], retention["read_only"]) == ("123456", "LONG", False)
    assert retention["synonyms"][0] == {
        "name": "retention.ms",
        "value": "123456",
        "source": "DYNAMIC_TOPIC_CONFIG",
    }
    assert (described["cleanup.policy"]["value"], described["cleanup.policy"]["config_type"]) == (
        "delete",
        "LIST",
    )
    assert described["segment.bytes"]["value"] == "1073741824"
    assert described["message.timestamp.type"]["config_source"] == "DEFAULT_CONFIG"


def test_named_config_keys_are_described_alone(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    resource = ConfigResource("TOPIC", topic, configs={"retention.ms": None, "segment.ms": None})
    described = admin.describe_configs([resource], config_filter="all")["topic"][topic]
    assert {key: entry["value"] for key, entry in described.items()} == {
        "retention.ms": "604800000",
        "segment.ms": "604800000",
    }


def test_broker_configs_are_described(admin: Any) -> None:
    node = str(admin.describe_cluster()["brokers"][0]["broker_id"])
    described = admin.describe_configs([ConfigResource("BROKER", node)], config_filter="all")["broker"][node]
    assert described["num.partitions"]["value"] == "4"
    assert described["num.partitions"]["config_type"] == "INT"
    assert described["auto.create.topics.enable"]["value"] == "true"


def test_offsets_are_listed_by_every_special_timestamp_and_by_time(
    admin: Any, broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    partition = TopicPartition(topic, 0)
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=50)) as producer:
        for after_ms in (500, 200, 900, 300):
            producer.send(topic, b"v", timestamp_ms=START_MS + after_ms)
    asked = {
        "latest": OffsetSpec.LATEST,
        "earliest": OffsetSpec.EARLIEST,
        "max timestamp": OffsetSpec.MAX_TIMESTAMP,
        "earliest local": OffsetSpec.EARLIEST_LOCAL,
        "latest tiered": OffsetSpec.LATEST_TIERED,
        "at 400": START_MS + 400,
        "at 501": START_MS + 501,
        "past the end": START_MS + 901,
    }
    found = {name: admin.list_partition_offsets({partition: spec})[partition] for name, spec in asked.items()}
    assert {name: (result.offset, result.timestamp) for name, result in found.items()} == {
        "latest": (4, -1),
        "earliest": (0, -1),
        "max timestamp": (2, START_MS + 900),
        "earliest local": (0, -1),
        "latest tiered": (-1, -1),
        "at 400": (0, START_MS + 500),
        "at 501": (2, START_MS + 900),
        "past the end": (-1, -1),
    }


def test_unknown_partitions_have_no_offsets(admin: Any, make_topic: MakeTopic) -> None:
    partition = TopicPartition(make_topic(), 7)
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.list_partition_offsets({partition: OffsetSpec.LATEST}, timeout_ms=2_000)


def test_the_version_table_lets_the_client_recognise_a_modern_broker(admin: Any) -> None:
    ranges = {int(key): (low, high) for key, (low, high) in admin.api_versions().items()}
    assert ranges[0][0] == 0
    assert ranges[0][1] >= 13
    assert ranges[1][1] >= 17
    assert ranges[18] == (0, 4)
