"""Broker settings under Kafka's names: defaults for topics, limits, and which topics may be created."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import StartBroker
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually


def created_partitions(broker: Broker, name: str) -> int:
    """Create a topic without a partition count and return how many it got."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name)])[name].result(60)

    def count() -> int:
        found = admin.list_topics(timeout=60).topics.get(name)
        return len(found.partitions) if found else 0

    return eventually(count, waiting_for=name)


def delivery_error(producer: Any, topic: str, value: bytes) -> int:
    """Produce one record and return the code of its delivery error, 0 for none."""
    codes: list[int] = []
    producer.produce(topic, value, on_delivery=lambda error, _: codes.append(error.code() if error else 0))
    assert producer.flush(60) == 0
    return codes[0]


def test_defaults_for_topics_come_from_the_broker(start_broker: StartBroker) -> None:
    broker = start_broker(
        num_partitions="2",
        auto_create_topics_enable="false",
        message_max_bytes="6000",
        log_message_timestamp_type="LogAppendTime",
    )
    assert created_partitions(broker, "defaulted") == 2
    producer = make_producer(broker, topic_metadata_propagation_max_ms=500, message_timeout_ms=30_000)
    assert delivery_error(producer, "defaulted", b"x" * 7_000) == KafkaError.MSG_SIZE_TOO_LARGE
    assert delivery_error(producer, "defaulted", b"x" * 5_000) == 0
    unknown = delivery_error(producer, "never-made", b"v")
    assert unknown in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._MSG_TIMED_OUT)
    assert "never-made" not in producer.list_topics(timeout=60).topics
    create_topic(
        broker, "generous", 1, {"max.message.bytes": "20000", "message.timestamp.type": "CreateTime"}
    )
    assert delivery_error(producer, "generous", b"x" * 7_000) == 0
    with open_consumer(broker) as consumer:
        assert read(consumer, "generous", 1)[0].timestamp()[0] == 1


@pytest.mark.only_kawal(reason="the switch is ours: Kafka never accepts more replicas than brokers")
def test_more_replicas_than_nodes_are_accepted_and_reported_honestly_when_asked(
    start_broker: StartBroker,
) -> None:
    broker = start_broker(kawal_accept_replication_factor="true")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("three", 1, 3)])["three"].result(60)
    (node,) = admin.list_topics(timeout=60).brokers
    assert admin.list_topics("three", timeout=60).topics["three"].partitions[0].replicas == [node]
    assert produce(make_producer(broker), "three", [b"v"]) == [0]


@pytest.mark.only_kawal(reason="the switch is ours: the message must name it")
def test_the_refusal_of_too_many_replicas_names_the_switch(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    with pytest.raises(KafkaException, match=r"kawal\.accept\.replication\.factor"):
        admin.create_topics([NewTopic("refused", 1, 3)])["refused"].result(60)


@pytest.mark.only_kawal(reason="durability classes are ours")
def test_durability_os_serves_the_same_records(start_broker: StartBroker) -> None:
    broker = start_broker(kawal_durability="os")
    create_topic(broker, "soft")
    assert produce(make_producer(broker), "soft", [b"%d" % i for i in range(1_000)]) == list(range(1_000))
    broker.stop()
    broker.restart()
    with open_consumer(broker) as consumer:
        assert [int(m.value()) for m in read(consumer, "soft", 1_000)] == list(range(1_000))


@pytest.mark.only_kawal(reason="the reserve is ours: Kafka stops when its disk is full")
def test_a_full_disk_refuses_writes_and_serves_reads_until_there_is_room(start_broker: StartBroker) -> None:
    broker = start_broker()
    create_topic(broker, "stored")
    produce(make_producer(broker), "stored", [b"v"] * 10)
    broker.stop()
    broker.settings["kawal.min.free.bytes"] = str(2**62)
    broker.restart()
    producer = make_producer(broker, message_timeout_ms=2_000, retries=0)
    assert delivery_error(producer, "stored", b"v") in (
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError._MSG_TIMED_OUT,
    )
    with open_consumer(broker) as consumer:
        assert len(read(consumer, "stored", 10)) == 10
    broker.stop()
    del broker.settings["kawal.min.free.bytes"]
    broker.restart()
    assert produce(make_producer(broker), "stored", [b"v"]) == [10]
