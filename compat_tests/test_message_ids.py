"""Ids of messages with real clients: ledgers are the leader epochs that they see, and no roll stalls them."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, take
from compat_tests.conftest import StartBroker
from compat_tests.java import java_command
from compat_tests.kawal_broker import KAWAL
from compat_tests.test_readme import BLOCK, printed
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal("Apache Kafka has no ids of messages")

DOCS = Path(__file__).parent.parent / "docs" / "messages.md"
PATIENCE_SECONDS = 120


def ledgered(broker: Broker, topic: str, *, entries: int) -> None:
    create_topic(broker, topic, 1, {"kawal.message.ids": "true", "kawal.ledger.max.entries": str(entries)})


def located(broker: Broker, topic: str, *messages: str) -> list[dict[str, object]]:
    """Return what `kawal messages locate` says."""
    command = [KAWAL, "messages", "locate", topic, *messages, "--json", "--bootstrap", broker.bootstrap]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True)
    found: list[dict[str, object]] = json.loads(ended.stdout)
    return found


def steady_rolls(broker: Broker, topic: str, count: int) -> threading.Thread:
    """Produce records one by one, each a batch of its own, over a few seconds."""

    def run() -> None:
        producer = make_producer(broker, linger_ms=0)
        for number in range(count):
            produce(producer, topic, [b"%d" % number])
            time.sleep(0.02)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_the_page_shows_what_happens(start_broker: StartBroker) -> None:
    broker = start_broker()
    blocks = BLOCK.findall(DOCS.read_text())
    assert len(blocks) == 6
    assert printed("sh", blocks[0][1], broker.bootstrap).endswith(blocks[1][1])
    assert printed("sh", blocks[2][1], broker.bootstrap) == blocks[3][1]
    assert "kawal.message.id.header = true" in printed("sh", blocks[4][1], broker.bootstrap)
    assert blocks[5][1].startswith("$ kawal consume __kawal_ledgers\n")  # see test_message_id_headers.py


def test_librdkafka_reads_on_over_rolls_and_sees_each_ledger(broker: Broker, topic: str) -> None:
    ledgered(broker, topic, entries=5)
    with open_consumer(broker, topic_metadata_refresh_interval_ms=500) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        writing = steady_rolls(broker, topic, 120)
        found = take(consumer, 120)
        writing.join(PATIENCE_SECONDS)

    epochs = [message.leader_epoch() for message in found]
    assert epochs == [offset // 5 for offset in range(120)]
    ids = located(broker, topic, *(f"0:{offset}" for offset in (0, 4, 5, 119)))
    assert [row["id"] for row in ids] == ["0:0:0:-1", "0:4:0:-1", "1:0:0:-1", "23:4:0:-1"]


def test_a_group_of_librdkafka_goes_on_from_offsets_with_epochs(
    start_broker: StartBroker, topic: str
) -> None:
    broker = start_broker()
    ledgered(broker, topic, entries=1)
    producer = make_producer(broker, linger_ms=0)
    for number in range(6):
        produce(producer, topic, [b"%d" % number])
    settings = {
        "bootstrap.servers": broker.bootstrap, "group.id": topic, "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }  # fmt: skip
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    first = take(consumer, 6)
    consumer.commit(message=first[3], asynchronous=False)
    consumer.close()
    produce(make_producer(broker, linger_ms=0), topic, [b"6"])

    consumer = Consumer(settings)
    consumer.subscribe([topic])
    again = take(consumer, 3)
    consumer.close()

    assert [(message.offset(), message.leader_epoch()) for message in again] == [(4, 4), (5, 5), (6, 6)]


def test_java_reads_on_over_rolls_and_commits_with_ledgers(broker: Broker, topic: str) -> None:
    ledgered(broker, topic, entries=4)
    source = str(Path(__file__).with_name("Epochs.java"))
    command = java_command(source, broker.bootstrap, topic, f"{topic}-group", "100")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as java:
        assert java.stdout is not None
        assert java.stderr is not None
        try:
            assert java.stdout.readline() == "ready\n"
            writing = steady_rolls(broker, topic, 100)
            out, err = java.communicate(timeout=PATIENCE_SECONDS)
            writing.join(PATIENCE_SECONDS)
        finally:
            java.kill()
    assert java.returncode == 0, err
    *rows, committed = out.splitlines()
    assert rows == [f"{offset} {offset // 4}" for offset in range(100)]
    assert committed == "committed 24"
    (longest,) = re.findall(r"longest wait (\d+) ms", err)
    assert int(longest) < 20_000, "a roll stalled the reader"
    # Once more, from the committed position on.
    produce(make_producer(broker, linger_ms=0), topic, [b"more"])
    command[-1] = "1"
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True)
    assert ended.stdout.splitlines()[1] == "100 25"


def test_ids_are_the_same_after_a_kill(start_broker: StartBroker, topic: str) -> None:
    broker = start_broker()
    ledgered(broker, topic, entries=3)
    produce(make_producer(broker, linger_ms=0), topic, [b"%d" % number for number in range(20)])
    asked = [f"0:{offset}" for offset in range(20)]
    before = located(broker, topic, *asked)
    broker.kill()
    broker.start()

    assert located(broker, topic, *asked) == before
    ids = [str(row["id"]) for row in before]
    assert [row["offset"] for row in located(broker, topic, *ids)] == list(range(20))
