"""confluent-kafka (librdkafka 2.16): topic administration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic
from compat_tests.times import START_MS
from compat_tests.waiting import eventually


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Any:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})


def error_code(call: Callable[[], Any]) -> int:
    """Call and return the code of the Kafka error that comes, 0 when none does."""
    try:
        call()
    except KafkaException as error:
        code: int = error.args[0].code()
        return code
    return 0


def create(admin: Any, new: NewTopic, **options: Any) -> int:
    return error_code(lambda: admin.create_topics([new], **options)[new.topic].result(60))


def test_the_cluster_has_an_id_a_controller_and_one_broker(admin: Any, broker: Broker) -> None:
    metadata = admin.list_topics(timeout=60)
    assert [(b.host, b.port) for b in metadata.brokers.values()] == [("127.0.0.1", broker.port)]
    assert metadata.controller_id in metadata.brokers
    described = admin.describe_cluster().result(60)
    assert described.cluster_id == metadata.cluster_id
    assert described.controller.id == metadata.controller_id
    assert [(n.host, n.port) for n in described.nodes] == [("127.0.0.1", broker.port)]


def test_topics_are_created_described_and_deleted(admin: Any, topic: str) -> None:
    assert create(admin, NewTopic(topic, num_partitions=3, replication_factor=1)) == 0
    eventually(lambda: topic in admin.list_topics(timeout=60).topics, waiting_for="the topic")
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(60)
    assert (described.name, described.is_internal, len(described.partitions)) == (topic, False, 3)
    assert [p.id for p in described.partitions] == [0, 1, 2]
    assert {
        (p.leader.id, *(n.id for n in p.replicas), *(n.id for n in p.isr)) for p in described.partitions
    } == {(described.partitions[0].leader.id,) * 3}
    assert error_code(lambda: admin.delete_topics([topic])[topic].result(60)) == 0
    eventually(lambda: topic not in admin.list_topics(timeout=60).topics, waiting_for="the topic to go")


def test_each_topic_of_a_request_has_its_own_answer(admin: Any, topic: str) -> None:
    good, bad = NewTopic(f"{topic}-good", 1, 1), NewTopic(f"{topic}-bad", 1, 9)
    futures = admin.create_topics([good, bad, NewTopic("no/slash", 1, 1)])
    assert {name: error_code(partial(future.result, 60)) for name, future in futures.items()} == {
        good.topic: 0,
        bad.topic: KafkaError.INVALID_REPLICATION_FACTOR,
        "no/slash": KafkaError.TOPIC_EXCEPTION,
    }


def test_existing_and_unknown_topics_are_told_apart(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert create(admin, NewTopic(topic, 1, 1)) == KafkaError.TOPIC_ALREADY_EXISTS
    unknown = f"{topic}-unknown"
    assert (
        error_code(lambda: admin.delete_topics([unknown])[unknown].result(60))
        == KafkaError.UNKNOWN_TOPIC_OR_PART
    )
    described = admin.describe_topics(TopicCollection([unknown]))[unknown]
    assert error_code(lambda: described.result(60)) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_validate_only_checks_and_creates_nothing(admin: Any, topic: str) -> None:
    assert create(admin, NewTopic(topic, 2, 1), validate_only=True) == 0
    assert create(admin, NewTopic(topic, 2, 5), validate_only=True) == KafkaError.INVALID_REPLICATION_FACTOR
    assert topic not in admin.list_topics(timeout=60).topics


def test_manual_assignment_to_the_one_broker_works_and_to_others_does_not(admin: Any, topic: str) -> None:
    node = next(iter(admin.list_topics(timeout=60).brokers))
    assert create(admin, NewTopic(topic, num_partitions=2, replica_assignment=[[node], [node]])) == 0
    code = create(admin, NewTopic(f"{topic}-x", num_partitions=1, replica_assignment=[[node + 77]]))
    assert code == KafkaError.INVALID_REPLICA_ASSIGNMENT


def test_unknown_keys_and_bad_values_of_configs_are_refused(admin: Any, topic: str) -> None:
    for config in ({"no.such.key": "1"}, {"retention.ms": "soon"}, {"cleanup.policy": "shred"}):
        assert create(admin, NewTopic(topic, 1, 1, config=config)) == KafkaError.INVALID_CONFIG


def test_partitions_grow_and_never_shrink(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)

    def grow(name: str, count: int, **options: Any) -> int:
        return error_code(
            lambda: admin.create_partitions([NewPartitions(name, count)], **options)[name].result(60)
        )

    assert grow(topic, 4, validate_only=True) == 0
    assert grow(topic, 3) == 0
    eventually(
        lambda: len(admin.list_topics(timeout=60).topics[topic].partitions) == 3, waiting_for="partition 2"
    )
    assert grow(topic, 3) == KafkaError.INVALID_PARTITIONS
    assert grow(topic, 1) == KafkaError.INVALID_PARTITIONS
    assert grow(f"{topic}-unknown", 3) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_topic_configs_are_described(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="123456", cleanup_policy="delete")
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource].result(60)
    retention = entries["retention.ms"]
    assert (retention.value, retention.is_default, retention.is_read_only, retention.is_sensitive) == (
        "123456",
        False,
        False,
        False,
    )
    assert retention.source == 1
    assert entries["segment.bytes"].value == "1073741824"
    assert entries["segment.bytes"].is_default
    assert {"cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas"} <= set(entries)


def test_broker_configs_are_described_and_those_of_unknown_things_are_not(admin: Any, topic: str) -> None:
    node = str(next(iter(admin.list_topics(timeout=60).brokers)))
    resource = ConfigResource(ConfigResource.Type.BROKER, node)
    entries = admin.describe_configs([resource])[resource].result(60)
    assert entries["num.partitions"].value == "4"
    assert entries["log.retention.hours"].value == "168"
    unknown = ConfigResource(ConfigResource.Type.TOPIC, topic)
    code = error_code(lambda: admin.describe_configs([unknown])[unknown].result(60))
    assert code == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_offsets_are_listed_by_every_specification(admin: Any, broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producer = make_producer(broker)
    for after_ms in (500, 200, 900, 300):
        producer.produce(topic, b"v", partition=0, timestamp=START_MS + after_ms)
        assert producer.flush(60) == 0
    partition = TopicPartition(topic, 0)

    def listed(spec: Any) -> tuple[int, int]:
        found = admin.list_offsets({partition: spec}, request_timeout=60)[partition].result(60)
        return found.offset, found.timestamp

    assert listed(OffsetSpec.earliest()) == (0, -1)
    assert listed(OffsetSpec.latest()) == (4, -1)
    assert listed(OffsetSpec.max_timestamp()) == (2, START_MS + 900)
    assert listed(OffsetSpec.for_timestamp(START_MS + 501)) == (2, START_MS + 900)
    assert listed(OffsetSpec.for_timestamp(START_MS + 901)) == (-1, -1)


def test_a_topic_made_again_starts_empty(admin: Any, broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(make_producer(broker), topic, [b"old"] * 10)
    admin.delete_topics([topic])[topic].result(60)
    eventually(lambda: topic not in admin.list_topics(timeout=60).topics, waiting_for="the topic to go")
    make_topic()
    assert produce(make_producer(broker), topic, [b"new"]) == [0]
