"""`kawal databases restore` between two gateways, with real clients on both."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, take
from compat_tests.conftest import StartBroker
from compat_tests.groups import committed_of
from compat_tests.test_console import kawal
from compat_tests.topics import create_topic, delete_topic
from compat_tests.views import admin_client

pytestmark = pytest.mark.only_kawal("Apache Kafka has no databases")

STATEMENTS = """
CREATE DATABASE power VGROUPS 2;
ALTER DATABASE power tables.declare auto;
USE power;
CREATE STABLE meters (ts timestamp, v int) TAGS (place binary(16));
CREATE TABLE d1 USING meters TAGS ('north');
CREATE TABLE d2 USING meters TAGS ('south');
INSERT INTO d1 VALUES (NOW - 2s, 1) (NOW - 1s, 2);
INSERT INTO d2 VALUES (NOW, 3);
ALTER TABLE d1 SET TAG place = 'west';
"""

ASKED = "SELECT tbname, v, place FROM power.meters ORDER BY v"


def sql(broker: Broker, text: str) -> list[Any]:
    told = kawal(broker, "sql", text, "--format", "json").stdout.decode()
    return (
        [json.loads(line) for line in told.splitlines()] if told.startswith("{") else json.loads(told or "[]")
    )


def lived(broker: Broker) -> None:
    kawal(broker, "sql", stdin=STATEMENTS.encode())
    in_power = {"kawal.database": "power"}
    create_topic(broker, "plain", 3, in_power)
    create_topic(broker, "gone", 1, in_power)
    delete_topic(broker, "gone")
    for partition in range(3):
        for codec in ("none", "zstd"):
            values = [b"%d %d" % (partition, number) for number in range(200)]
            produce(make_producer(broker, compression_type=codec), "plain", values, partition=partition)
    asking = admin_client(broker)
    deleted = asking.delete_records([TopicPartition("plain", 1, 100)])
    assert next(iter(deleted.values())).result(60).low_watermark == 100


def read_values(broker: Broker, topic: str) -> list[bytes]:
    settings = {"group.id": f"reads-{topic}", "auto.offset.reset": "earliest"}
    with open_consumer(broker, **settings) as consumer:
        consumer.subscribe([topic])
        return sorted(message.value() for message in take(consumer, 2))


def test_a_database_is_made_again_on_another_gateway_and_is_the_same(start_broker: StartBroker) -> None:
    first, second = start_broker(), start_broker()
    lived(first)
    kawal(first, "sql", "CREATE TOPIC high AS SELECT v, place FROM power.meters WHERE v > 1")
    with open_consumer(first, **{"group.id": "steady"}) as consumer:
        consumer.commit(offsets=[TopicPartition("plain", 1, 150)], asynchronous=False)
    done = kawal(second, "databases restore", "power", "--from", first.bootstrap, "--json")
    outcome = json.loads(done.stdout)
    assert (outcome["views"], outcome["groups"], outcome["left_out"]) == (1, 1, {})
    with open_consumer(second) as consumer:
        start, _ = consumer.get_watermark_offsets(TopicPartition("plain", 1), timeout=60)
    # The first hundred records of the partition were deleted: the group has read fifty of the others.
    assert committed_of(second, "steady", "plain") == {1: start + 50}
    assert read_values(second, "high") == read_values(first, "high") != []
    assert (outcome["topics"], outcome["checked"]) == (3, 3 + 3 * 400 - 100 + 2)
    assert outcome["tables"] == 2
    assert sql(second, ASKED) == sql(first, ASKED)
    assert sql(second, "SHOW TABLES") == sql(first, "SHOW TABLES")
    # A group that leaves out restored records is shown what is written here, and nothing else.
    asking = admin_client(second)
    entry = ConfigEntry("kawal.consume.excluded", "true", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, "mirror", incremental_configs=[entry])
    (altered,) = asking.incremental_alter_configs([resource]).values()
    altered.result(60)
    produce(make_producer(second), "plain", [b"own"], partition=2)
    for group_id, count in (("mirror", 1), ("another", 1_101)):
        settings = {"group.id": group_id, "client.id": group_id, "auto.offset.reset": "earliest"}
        with open_consumer(second, **settings) as consumer:
            consumer.subscribe(["plain"])
            values = [message.value() for message in take(consumer, count)]
            assert consumer.poll(1) is None
        assert values.count(b"own") == 1


def test_a_restore_into_topics_that_exist_is_refused(start_broker: StartBroker) -> None:
    broker = start_broker()
    lived(broker)
    refused = kawal(broker, "databases restore", "power", "--as", "copy", code=1)
    assert b"has topics of these names already" in refused.stderr
    kawal(broker, "databases restore", "power", "--as", "copy", "--prefix", "copy.")
    assert "copy.meters" in admin_client(broker).list_topics(timeout=60).topics
