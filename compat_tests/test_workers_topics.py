"""The topics that tell of a server of two workers: its logs, and its ledgers, whichever worker has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from compat_tests.confluent import make_producer, open_consumer, take
from compat_tests.groups import admin_of
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.workers import WorkersBroker

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has neither")

LEDGERS, STORAGE = "__kawal_ledgers", "__kawal_storage_state"
PARTITIONS = 4
LOGS = [f"default/vnode-{index}" for index in range(4)] + ["meta/vnode-0"]


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersBroker]:
    """Start a gateway of two workers that tells of itself."""
    settings = {"kawal.ledgers.topic": "true", "kawal.storage.state.topic": "true"}
    broker = WorkersBroker(tmp_path_factory.mktemp("telling"), 2, **settings)
    broker.start()
    yield broker
    assert broker.stop()[0] == 0


def newest(broker: Any, topic: str) -> dict[str, Any]:
    """Return the newest value of each key of a topic; nothing if there is no topic yet."""
    if topic not in admin_of(broker).list_topics(timeout=60).topics:
        return {}
    with open_consumer(broker) as consumer:
        place = TopicPartition(topic, 0, 0)
        try:
            count = consumer.get_watermark_offsets(place, 60)[1]
        except KafkaException as error:
            if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                raise
            return {}  # the node that was asked has just learnt of the topic, and knows no leader yet
        consumer.assign([place])
        found = {message.key().decode(): message.value() for message in take(consumer, count)}
    return {key: json.loads(value) for key, value in found.items() if value is not None}


def write(broker: Any, topic: str) -> None:
    """Write a batch to each partition."""
    producer = make_producer(broker)
    for index in range(PARTITIONS):
        producer.produce(topic, b"x", partition=index)
    assert producer.flush(60) == 0


def ledgers_of(broker: Any, topic: str) -> list[list[int]]:
    """Return the first offsets of the ledgers that are told, by partition."""
    rows = [row for row in newest(broker, LEDGERS).values() if row["topic"] == topic]
    return [
        sorted(row["first_offset"] for row in rows if row["partition"] == index)
        for index in range(PARTITIONS)
    ]


def test_ledgers_and_logs_of_both_workers_are_told_whichever_of_them_dies(
    telling: WorkersBroker, topic: str
) -> None:
    create_topic(telling, topic, PARTITIONS, {"kawal.message.ids": "true", "kawal.ledger.max.entries": "1"})
    write(telling, topic)
    eventually(lambda: ledgers_of(telling, topic) == [[0]] * PARTITIONS, waiting_for="the ledgers of both")
    eventually(lambda: sorted(newest(telling, STORAGE)) == LOGS, waiting_for="the logs of both")
    assert {log["node"] for log in newest(telling, STORAGE).values()} == set(telling.ids)
    for number, pid in enumerate(telling.children()):
        telling.kill_worker(pid, number)
        write(telling, topic)
    told = [[0, 1, 2]] * PARTITIONS
    eventually(
        lambda: ledgers_of(telling, topic) == told, waiting_for="the ledgers of both, after their deaths"
    )
    assert sorted(newest(telling, STORAGE)) == LOGS
