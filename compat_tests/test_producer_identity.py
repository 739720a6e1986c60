"""kawal.dedup=seqno with real clients: producers that start again, on a server that starts again."""

from __future__ import annotations

import json
import random
import struct
import subprocess
from typing import Any

import kafka
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal("Apache Kafka knows producers by the ids that it gives them")


def headers(name: str, seqno: int) -> list[tuple[str, bytes]]:
    return [("kawal-producer-id", name.encode()), ("kawal-seqno", struct.pack(">q", seqno))]


def send(producer: Any, topic: str, name: str, numbers: range, partition: int) -> list[int | None]:
    """Produce these numbers and return the code of each delivery error, None for none."""
    outcomes: list[int | None] = []

    def delivered(error: KafkaError | None, _message: Any) -> None:
        outcomes.append(error.code() if error else None)

    for number in numbers:
        producer.produce(
            topic,
            b"%d" % number,
            partition=partition,
            headers=headers(name, number),
            on_delivery=delivered,
        )
    assert producer.flush(60) == 0
    return outcomes


def values(broker: Broker, topic: str, partition: int, **settings: Any) -> list[int]:
    """Read a partition to its end, which may lie after offsets without records."""
    found: list[int] = []
    with open_consumer(broker, enable_partition_eof=True, **settings) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0)])
        while (message := consumer.poll(60)) is not None and not message.error():
            found.append(int(message.value()))
    assert message is not None
    assert message.error().code() == KafkaError._PARTITION_EOF
    return found


def last_seqno(broker: Broker, topic: str, name: str) -> tuple[int | None, int | None]:
    """Ask, as a program that starts again does, for a producer's last number and its partition."""
    command = [KAWAL, "producers", "describe", topic, name, "--json", "--bootstrap", broker.bootstrap]
    (row,) = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    return row["last_seqno"], row["partition"]


@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_producers_that_send_again_what_they_are_not_sure_of_store_everything_once(
    start_broker: StartBroker, idempotent: bool
) -> None:
    """Each life of a producer ends anywhere and goes back some way; the server is killed in between."""
    seeded = random.Random(7)
    broker = start_broker()
    create_topic(broker, "t", 2, {"kawal.dedup": "seqno"})
    reached = {"a": 0, "b": 0}
    for life in range(6):
        if life in (2, 4):
            broker.kill()
            broker.restart()
        producer = make_producer(
            broker, enable_idempotence=idempotent, compression_type=seeded.choice(["none", "lz4", "zstd"])
        )
        for partition, name in enumerate(reached):
            first = max(0, reached[name] - seeded.randrange(150))
            end = reached[name] + seeded.randrange(1, 400)
            assert set(send(producer, "t", name, range(first, end), partition)) == {None}
            reached[name] = end
    assert [values(broker, "t", partition) for partition in (0, 1)] == [
        list(range(end)) for end in reached.values()
    ]


def test_a_restarted_producer_asks_where_to_go_on_and_a_bound_one_is_kept_on_its_partition(
    start_broker: StartBroker,
) -> None:
    broker = start_broker()
    create_topic(broker, "t", 4, {"kawal.dedup": "seqno", "kawal.routing": "producer-bind"})
    assert last_seqno(broker, "t", "a") == (None, None)
    send(make_producer(broker), "t", "a", range(10), 3)
    broker.kill()
    broker.restart()
    last, partition = last_seqno(broker, "t", "a")
    assert (last, partition) == (9, 3)
    assert last is not None
    producer = make_producer(broker)
    assert send(producer, "t", "a", range(last + 1, last + 6), 3) == [None] * 5
    assert set(send(producer, "t", "a", range(15, 18), 0)) == {KafkaError.POLICY_VIOLATION}
    assert values(broker, "t", 3) == list(range(15))


def test_numbers_of_transactions_follow_their_outcome(start_broker: StartBroker) -> None:
    broker = start_broker()
    create_topic(broker, "t", 1, {"kawal.dedup": "seqno"})
    producer = make_producer(broker, transactional_id="tx")
    producer.init_transactions(60)
    for attempt in range(3):
        producer.begin_transaction()
        assert send(producer, "t", "a", range(5), 0) == [None] * 5
        producer.abort_transaction(60) if attempt == 0 else producer.commit_transaction(60)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("t", 0, 0)])
    found = []
    while (message := consumer.poll(60)) is not None and not message.error():
        found.append(int(message.value()))
    consumer.close()
    assert found == list(range(5))


def test_records_without_numbers_and_codecs_that_are_not_allowed_are_refused(
    start_broker: StartBroker,
) -> None:
    broker = start_broker()
    create_topic(broker, "t", 1, {"kawal.dedup": "seqno", "kawal.codecs.allowed": "none,zstd"})
    codes: list[int] = []
    make = {"compression.type": "lz4"}
    for settings, marks in (({}, None), (make, headers("a", 1))):
        producer = make_producer(broker, **settings)
        # Large enough that librdkafka keeps what it has compressed.
        producer.produce(
            "t", bytes(500), headers=marks, on_delivery=lambda error, _message: codes.append(error.code())
        )
        assert producer.flush(60) == 0
    assert codes == [KafkaError.INVALID_RECORD, KafkaError.UNSUPPORTED_COMPRESSION_TYPE]


@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
def test_readers_pass_over_very_many_batches_of_nothing_but_repetitions(
    start_broker: StartBroker, transactional: bool
) -> None:
    """They are no empty data batches: of answers with nothing else librdkafka 2.16 makes errors."""
    broker = start_broker()
    create_topic(broker, "t", 1, {"kawal.dedup": "seqno"})
    identity = {"transactional_id": "tx"} if transactional else {"enable_idempotence": True}
    producer = make_producer(broker, batch_num_messages=1, **identity)
    if transactional:
        producer.init_transactions(60)
        producer.begin_transaction()
    assert send(producer, "t", "a", range(1), 0) == [None]
    for _ in range(3_000):
        producer.produce("t", b"0", partition=0, headers=headers("a", 0))
    assert producer.flush(60) == 0
    assert send(producer, "t", "a", range(1, 3), 0) == [None, None]
    if transactional:
        producer.commit_transaction(60)
    for settings in (
        {},
        {"fetch_max_bytes": 1_000, "message_max_bytes": 1_000, "fetch_message_max_bytes": 100},
    ):
        assert values(broker, "t", 0, **settings) == [0, 1, 2]
    reader = kafka.KafkaConsumer(bootstrap_servers=broker.bootstrap, max_partition_fetch_bytes=100)
    place = kafka.TopicPartition("t", 0)
    reader.assign([place])
    reader.seek_to_beginning(place)
    (end,) = reader.end_offsets([place]).values()
    found: list[int] = []
    while reader.position(place) < end:
        found += [int(record.value) for record in reader.poll(1_000).get(place, ())]
    reader.close()
    assert found == [0, 1, 2]
