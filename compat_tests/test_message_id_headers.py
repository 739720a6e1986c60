"""Ids in a header of each record, and the topic of ledgers, with clients that know nothing of either."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, take
from compat_tests.conftest import StartBroker
from compat_tests.test_groups_java import tool
from compat_tests.test_message_ids import DOCS, located
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal("Apache Kafka has no ids of messages")

LEDGERS = "__kawal_ledgers"
SHOWING = {"kawal.message.ids": "true", "kawal.message.id.header": "true", "kawal.ledger.max.entries": "4"}


def fill(broker: Broker, topic: str) -> None:
    """Write batches of every codec, and of transactions of which one is aborted."""
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        for size in (1, 3):
            produce(
                make_producer(broker, linger_ms=200, compression_type=codec),
                topic,
                [b"%s %d" % (codec.encode(), number) * 20 for number in range(size)],
            )
    writer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    writer.init_transactions()
    for outcome in (writer.abort_transaction, writer.commit_transaction):
        writer.begin_transaction()
        writer.produce(topic, outcome.__name__.encode(), partition=0)
        writer.flush()
        outcome()


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_librdkafka_sees_the_ids_that_look_ups_give(broker: Broker, topic: str, isolation: str) -> None:
    create_topic(broker, topic, 1, SHOWING)
    fill(broker, topic)
    count = 21 if isolation == "read_committed" else 22
    with open_consumer(broker, isolation_level=isolation, check_crcs=True) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = take(consumer, count)
    ids = {message.offset(): dict(message.headers())["kawal-message-id"].decode() for message in found}
    rows = located(broker, topic, *(f"0:{offset}" for offset in ids))

    assert ids == {row["offset"]: row["id"] for row in rows}
    assert b"commit_transaction" in [message.value() for message in found]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_java_sees_the_ids_and_the_ledgers(start_broker: StartBroker, topic: str, isolation: str) -> None:
    broker = start_broker(kawal_ledgers_topic="true")
    create_topic(broker, topic, 1, SHOWING)
    fill(broker, topic)
    count = 21 if isolation == "read_committed" else 22
    printed = tool(
        broker, "consumer.ConsoleConsumer", "--topic", topic, "--partition", "0", "--offset", "0",
        "--max-messages", str(count), "--timeout-ms", "60000", "--isolation-level", isolation,
        "--formatter-property", "print.headers=true", "--formatter-property", "print.offset=true",
    )  # fmt: skip
    ids = {}
    for line in printed:
        offset, message_id = re.match(r"Offset:(\d+)\tkawal-message-id:(\S+)\t", line).groups()  # type: ignore[union-attr]
        ids[int(offset)] = message_id
    assert ids == {row["offset"]: row["id"] for row in located(broker, topic, *(f"0:{at}" for at in ids))}
    assert len(ids) == count

    ledgers = 1 + max(int(message_id.split(":")[0]) for message_id in ids.values())
    rows = tool(
        broker, "consumer.ConsoleConsumer", "--topic", LEDGERS, "--partition", "0", "--offset", "0",
        "--max-messages", str(ledgers), "--timeout-ms", "60000",
        "--formatter-property", "print.key=true",
    )  # fmt: skip
    told = dict(row.split("\t") for row in rows)
    assert sorted(told) == sorted(f"{topic}:0:{ledger}" for ledger in range(ledgers))
    for key, value in told.items():
        row = json.loads(value)
        inside = [at for at, text in ids.items() if text.split(":")[0] == key.split(":")[2]]
        end = row["end_offset"]
        assert all(row["first_offset"] <= at and (end is None or at < end) for at in inside)


def test_the_page_shows_what_the_topic_of_ledgers_has(start_broker: StartBroker, topic: str) -> None:
    broker = start_broker(kawal_ledgers_topic="true")
    create_topic(broker, topic, 1, {"kawal.message.ids": "true"})
    produce(make_producer(broker), topic, [b"a"])
    with open_consumer(broker, topic_metadata_refresh_interval_ms=500) as consumer:
        consumer.assign([TopicPartition(LEDGERS, 0, 0)])
        (message,) = take(consumer, 1)
    shown = re.findall(r'^\{"topic": .*?\}$', Path(DOCS).read_text(), re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    for text in shown:
        assert list(json.loads(text)) == list(json.loads(message.value() or b""))
