"""Deleting records by offset: with clients that can, and what readers then see."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka import TopicPartition as PythonTopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.requests import fetch, list_offset
from compat_tests.topics import create_topic, wait_until_all_is_served
from compat_tests.wire import RawClient
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

EARLIEST = -2


def delete(raw: RawClient, *items: tuple[str, int, int], version: int = 2) -> dict[tuple[str, int], Any]:
    """Ask for deletions and return (error, low watermark) by topic and partition."""
    topics = [
        DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsPartition(partition_index=index, offset=offset)]
        )
        for name, index, offset in items
    ]
    answer = raw.call(DeleteRecordsRequest(topics=topics, timeout_ms=10_000), version)
    return {
        (topic.name, partition.partition_index): (partition.error_code, partition.low_watermark)
        for topic in answer.topics
        for partition in topic.partitions
    }


def test_confluent_deletes_and_its_consumer_starts_behind(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    produce(make_producer(broker), topic, [b"%d" % i for i in range(10)])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    wanted = [TopicPartition(topic, 0, 4), TopicPartition(topic, 1, -1)]
    deleted = {place.partition: future.result(60) for place, future in admin.delete_records(wanted).items()}
    assert {index: result.low_watermark for index, result in deleted.items()} == {0: 4, 1: 0}
    with open_consumer(broker, auto_offset_reset="earliest") as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60) == (4, 10)
        assert [m.value() for m in read(consumer, topic, 6, offset=0)] == [b"%d" % i for i in range(4, 10)]
    with pytest.raises(KafkaException) as caught:
        admin.delete_records([TopicPartition(topic, 0, 11)])[TopicPartition(topic, 0, 11)].result(60)
    assert caught.value.args[0].code() == KafkaError.OFFSET_OUT_OF_RANGE


def test_kafka_python_deletes(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(make_producer(broker), topic, [b"v"] * 10)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    try:
        partition = PythonTopicPartition(topic, 0)
        assert admin.delete_records({partition: 3})[partition]["low_watermark"] == 3
        assert admin.delete_records({partition: -1})[partition]["low_watermark"] == 10
    finally:
        admin.close()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_deletion_is_told_in_every_version(
    raw: RawClient, make_topic: MakeTopic, broker: Broker, version: int
) -> None:
    topic = make_topic()
    produce(make_producer(broker), topic, [b"v"] * 5)
    assert delete(raw, (topic, 0, 2), version=version) == {(topic, 0): (0, 2)}
    assert delete(raw, (topic, 0, 1), version=version) == {(topic, 0): (0, 2)}
    assert list_offset(raw, topic, EARLIEST).offset == 2
    behind = fetch(raw, topic, 1)
    assert (behind.error_code, behind.high_watermark, behind.log_start_offset) == (1, -1, -1)
    assert fetch(raw, topic, 2).log_start_offset == 2
    assert delete(raw, (topic, 0, -1), version=version) == {(topic, 0): (0, 5)}
    assert produce(make_producer(broker), topic, [b"v"]) == [5]


def test_each_partition_is_judged_on_its_own(raw: RawClient, broker: Broker, topic: str) -> None:
    create_topic(broker, topic)
    create_topic(broker, f"{topic}.compacted", configs={"cleanup.policy": "compact"})
    create_topic(broker, f"{topic}.both", configs={"cleanup.policy": "compact,delete"})
    create_topic(broker, f"{topic}.kept", configs={"cleanup.policy": ""})
    asked = [
        (topic, 0, 0),
        (topic, 7, 0),
        (f"{topic}.compacted", 0, 0),
        (f"{topic}.both", 0, 0),
        (f"{topic}.kept", 0, 0),
        ("never-made", 0, 0),
        ("bad name!", 0, 0),
    ]
    answers = delete(raw, *asked)
    codes = [answers[name, index][0] for name, index, _ in asked]
    assert codes == [0, 3, 44, 0, 0, 3, 3]
    assert answers["never-made", 0] == (3, -1)


@pytest.mark.parametrize("offset", [1, -2, 2**62])
def test_offsets_out_of_range_are_refused(raw: RawClient, make_topic: MakeTopic, offset: int) -> None:
    topic = make_topic()
    assert delete(raw, (topic, 0, offset)) == {(topic, 0): (1, -1)}


def test_what_was_deleted_stays_deleted_after_a_kill(start_broker: StartBroker) -> None:
    broker = start_broker()
    create_topic(broker, "cut")
    produce(make_producer(broker), "cut", [b"%d" % i for i in range(10)])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    partition = TopicPartition("cut", 0, 6)
    admin.delete_records([partition])[partition].result(60)
    broker.kill()
    broker.restart()
    wait_until_all_is_served(broker)
    with open_consumer(broker) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition("cut", 0), timeout=60)[1] == 10
        assert [m.value() for m in read(consumer, "cut", 4, offset=6)] == [b"6", b"7", b"8", b"9"]
