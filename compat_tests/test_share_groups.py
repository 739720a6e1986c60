"""Share groups (KIP-932) with stock clients: confluent-kafka's ShareConsumer and Apache Kafka's own tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic
from compat_tests.groups import admin_of
from compat_tests.java import run_java
from compat_tests.waiting import eventually

TOOLS = "org.apache.kafka.tools"


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def configure(broker: Broker, group: str, **settings: str) -> None:
    """Give a group settings; underscores in their names stand for dots."""
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = admin_of(broker)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)


@contextmanager
def share_consumer(broker: Broker, group: str, *topics: str, explicit: bool = False) -> Iterator[Any]:
    """Open a member of a share group."""
    consumer = ShareConsumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit" if explicit else "implicit",
        }
    )
    consumer.subscribe(list(topics))
    try:
        yield consumer
    finally:
        consumer.close()


def poll(consumer: Any, count: int, seconds: int = 60) -> list[Any]:
    """Poll until so many records have come; in implicit mode each poll accepts the ones before."""
    found: list[Any] = []
    for _ in range(seconds * 2):
        for message in consumer.poll(0.5):
            assert message.error() is None, message.error()
            found.append(message)
        if len(found) >= count:
            return found
    raise AssertionError(f"{len(found)} of {count} records came in {seconds} s")


def values(messages: list[Any]) -> list[bytes]:
    return [message.value() for message in messages]


def numbered(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def earliest(broker: Broker, topic: str) -> None:
    """Let a group begin at the beginning, and keep records for longer than a slow machine needs for them."""
    configure(broker, topic, share_auto_offset_reset="earliest", share_record_lock_duration_ms="60000")


def test_records_are_delivered_and_accepted_by_the_next_poll(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    earliest(broker, topic)
    produce(make_producer(broker), topic, numbered(20))
    with share_consumer(broker, topic, topic) as consumer:
        assert values(poll(consumer, 20)) == numbered(20)
        consumer.commit_sync()
    produce(make_producer(broker), topic, [b"more"])
    with share_consumer(broker, topic, topic) as consumer:
        assert values(poll(consumer, 1)) == [b"more"]


def test_released_records_come_again_and_rejected_ones_do_not(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    earliest(broker, topic)
    produce(make_producer(broker), topic, numbered(3))
    with share_consumer(broker, topic, topic, explicit=True) as consumer:
        kinds = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)
        for message, kind in zip(poll(consumer, 3), kinds, strict=True):
            consumer.acknowledge(message, kind)
        (outcome,) = consumer.commit_sync().values()
        assert outcome is None
        (again,) = poll(consumer, 1)
        assert again.value() == b"1"
        consumer.acknowledge(again)
        consumer.commit_sync()


def test_members_share_the_records_of_one_partition(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    earliest(broker, topic)
    with (
        share_consumer(broker, topic, topic) as first,
        share_consumer(broker, topic, topic) as second,
    ):
        seen: list[list[bytes]] = [[], []]
        for number in range(40):
            produce(make_producer(broker), topic, [b"%d" % number])
            for index, consumer in enumerate((first, second)):
                seen[index] += values(list(consumer.poll(0.3)))

        def all_came() -> bool:
            for index, consumer in enumerate((first, second)):
                seen[index] += values(list(consumer.poll(0.5)))
            return sum(map(len, seen)) >= 40

        eventually(all_came, waiting_for="all records")
    assert sorted(seen[0] + seen[1]) == sorted(numbered(40))


def test_a_member_that_leaves_gives_back_what_it_has_not_acknowledged(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    earliest(broker, topic)
    produce(make_producer(broker), topic, numbered(2))
    with share_consumer(broker, topic, topic, explicit=True) as consumer:
        first, _ = poll(consumer, 2)
        consumer.acknowledge(first)
    with share_consumer(broker, topic, topic, explicit=True) as consumer:
        assert values(poll(consumer, 1)) == [b"1"]


def test_the_console_share_consumer_reads(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    earliest(broker, topic)
    produce(make_producer(broker), topic, numbered(3))
    printed = run_java(
        f"{TOOLS}.consumer.ConsoleShareConsumer", "--bootstrap-server", broker.bootstrap, "--topic", topic,
        "--group", topic, "--max-messages", "3", "--timeout-ms", "60000",
    ).stdout.splitlines()  # fmt: skip
    assert printed == ["0", "1", "2"]


def groups(broker: Broker, *arguments: str) -> list[list[str]]:
    """Run kafka-share-groups and return the words of its lines that are not empty."""
    command = f"{TOOLS}.consumer.group.ShareGroupCommand"
    lines = run_java(command, "--bootstrap-server", broker.bootstrap, *arguments).stdout.splitlines()
    return [line.split() for line in lines if line]


def test_groups_are_listed_described_reset_and_deleted(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    earliest(broker, topic)
    produce(make_producer(broker), topic, numbered(5))
    with share_consumer(broker, topic, topic) as consumer:
        poll(consumer, 5)
        consumer.commit_sync()
        assert [topic] in groups(broker, "--list")
        members = groups(broker, "--describe", "--group", topic, "--members")
        assert [row[0] for row in members[1:]] == [topic]

    def shown(*names: str) -> list[str]:
        head, row = groups(broker, "--describe", "--group", topic)
        columns = dict(zip(head, row, strict=True))
        return [columns[name] for name in names]

    # The start may lag behind: Kafka stores it with the next change.
    eventually(lambda: shown("LAG") == ["0"], waiting_for="the group to have finished")
    groups(broker, "--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest", "--execute")
    assert shown("TOPIC", "PARTITION", "START-OFFSET", "LAG") == [topic, "0", "0", "5"]
    with share_consumer(broker, topic, topic) as consumer:
        assert values(poll(consumer, 5)) == numbered(5)
        consumer.commit_sync()
    groups(broker, "--delete-offsets", "--group", topic, "--topic", topic)
    groups(broker, "--delete", "--group", topic)
    assert [topic] not in groups(broker, "--list")
