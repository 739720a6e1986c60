"""Dead letters (KIP-1191) as stock clients see them; Apache Kafka has them since 4.4."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import AcknowledgeType
from confluent_kafka.admin import NewTopic

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic
from compat_tests.groups import admin_of
from compat_tests.java import run_java
from compat_tests.test_share_groups import configure, poll, share_consumer, values

pytestmark = pytest.mark.only_kawal(reason="Kafka has dead letters since 4.4")

TOOLS = "org.apache.kafka.tools"


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def letters_topic(broker: Broker, name: str) -> str:
    """Create a topic for dead letters."""
    letters = f"dlq.{name}"
    config = {"errors.deadletterqueue.group.enable": "true"}
    admin = admin_of(broker)
    new = NewTopic(letters, num_partitions=1, replication_factor=1, config=config)
    for future in admin.create_topics([new]).values():
        future.result(60)
    return letters


def test_a_rejected_record_comes_out_of_the_dead_letter_topic(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    letters = letters_topic(broker, topic)
    configure(
        broker,
        topic,
        share_auto_offset_reset="earliest",
        errors_deadletterqueue_topic_name=letters,
        errors_deadletterqueue_copy_record_enable="true",
    )
    configure(broker, letters, share_auto_offset_reset="earliest")
    produce(make_producer(broker), topic, [b"good", b"bad"])
    with share_consumer(broker, topic, topic, explicit=True) as consumer:
        for message in poll(consumer, 2):
            bad = message.value() == b"bad"
            consumer.acknowledge(message, AcknowledgeType.REJECT if bad else AcknowledgeType.ACCEPT)
        consumer.commit_sync()
    with share_consumer(broker, letters, letters) as reader:
        (letter,) = poll(reader, 1)
    assert values([letter]) == [b"bad"]
    headers = dict(letter.headers())
    assert {name.removeprefix("__dlq.errors."): text.decode() for name, text in headers.items()} == {
        "topic": topic,
        "partition": "0",
        "offset": "1",
        "group": topic,
        "delivery.count": "1",
        "message": "Offset rejected by client.",
    }


def test_kafkas_tool_changes_share_version(broker: Broker) -> None:
    def tool(*arguments: str) -> str:
        return run_java(f"{TOOLS}.FeatureCommand", "--bootstrap-server", broker.bootstrap, *arguments).stdout

    shown = re.compile(r"share.version\s+SupportedMinVersion: 0\s+SupportedMaxVersion: 2\s+Final\w+: (\d)")
    assert shown.findall(tool("describe")) == ["2"]
    try:
        assert "share.version was downgraded to 1." in tool("downgrade", "--feature", "share.version=1")
        assert shown.findall(tool("describe")) == ["1"]
    finally:
        assert "share.version was upgraded to 2." in tool("upgrade", "--feature", "share.version=2")
