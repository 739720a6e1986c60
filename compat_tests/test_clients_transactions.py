"""Transactions of every client family that has them: outcomes, fencing, timeouts, offsets inside."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from compat_tests.broker import Broker
from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from compat_tests.confluent import make_producer, open_consumer
from compat_tests.topics import create_topic

pytestmark = pytest.mark.parametrize("client", list(COMMANDS), scope="module")

TIMEOUT_MS = 1_000
"""The least that librdkafka accepts."""

WAIT_MS = {"kawal": 5_000, "kafka": 13_000}
"""Kafka looks for overdue transactions every ten seconds."""


def committed_values(broker: Broker, topic: str) -> list[str]:
    """Read the committed records of partition 0, up to its last stable offset."""
    found: list[str] = []
    settings = {"isolation_level": "read_committed", "enable_partition_eof": True}
    with open_consumer(broker, **settings) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while (message := consumer.poll(60)) is not None and not message.error():
            found.append(message.value().decode())
    assert message is not None, f"{topic} has not been read to its end; so far {found}"
    assert message.error().code() == KafkaError._PARTITION_EOF
    return found


def ask(program: Program, broker: Broker, operation: str, topic: str, **fields: Any) -> Any:
    """Let the program do its part under a transactional id of the topic's name."""
    return program.ask(operation, bootstrap=broker.bootstrap, topic=topic, transactional_id=topic, **fields)


@pytest.mark.operation("commit and abort transactions")
def test_committed_records_are_read_and_aborted_ones_are_not(
    client: str, program: Program, broker: Broker, topic: str
) -> None:
    create_topic(broker, topic)
    ask(program, broker, "transact", topic, count=9)
    assert committed_values(broker, topic) == ["0", "1", "3", "4", "6", "7"]


@pytest.mark.operation("be fenced in a transaction")
def test_a_second_instance_fences_the_first(
    client: str, program: Program, broker: Broker, topic: str
) -> None:
    create_topic(broker, topic)
    assert ask(program, broker, "fence", topic)["refused"]
    assert committed_values(broker, topic) == ["young"]


@pytest.mark.operation("outlive a transaction's timeout")
def test_a_transaction_is_aborted_at_its_timeout_and_its_producer_learns_of_it(
    client: str, program: Program, broker: Broker, topic: str
) -> None:
    create_topic(broker, topic)
    assert ask(program, broker, "outlive", topic, timeout=TIMEOUT_MS, wait=WAIT_MS[broker.kind])["refused"]
    assert committed_values(broker, topic) == []


@pytest.mark.operation("copy in transactions")
def test_what_is_consumed_and_what_is_produced_are_committed_together(
    client: str, program: Program, group_broker: Broker, topic: str
) -> None:
    broker = group_broker
    create_topic(broker, topic)
    target, group = f"{topic}-copy", f"{topic}-group"
    create_topic(broker, target)
    feeder = make_producer(broker, transactional_id=f"{topic}-feeder")
    feeder.init_transactions(60)
    for number in range(4):
        feeder.begin_transaction()
        for value in range(5):
            feeder.produce(topic, f"{number}-{value}", partition=0)
        feeder.flush(60)
        feeder.abort_transaction(60) if number == 1 else feeder.commit_transaction(60)
    copied = ask(program, broker, "copy", topic, target=target, group=group, count=15)
    assert copied == {"copied": 15}
    expected = [f"{number}-{value}!" for number in (0, 2, 3) for value in range(5)]
    assert committed_values(broker, target) == expected
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    (progress,) = reader.committed([TopicPartition(topic, 0)], timeout=60)
    reader.close()
    # Past the last record; clients that go by their position are past its marker, too.
    assert progress.offset in (23, 24)
