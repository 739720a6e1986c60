"""kafka-python 3: producing and consuming without a group."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import MessageSizeTooLargeError

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.times import START_MS

CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture(scope="module")
def producer(broker: Broker) -> Iterator[Any]:
    """Open a producer with kafka-python's defaults: idempotent, acks=all."""
    made = KafkaProducer(bootstrap_servers=broker.bootstrap)
    yield made
    made.close()


@pytest.fixture
def consumer(broker: Broker) -> Iterator[Any]:
    """Open a consumer without a group."""
    made = KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=None, auto_offset_reset="earliest")
    yield made
    made.close()


def read(consumer: Any, partition: TopicPartition, count: int, *, offset: int | None = 0) -> list[Any]:
    """Assign, seek and poll until `count` records have come; fail after 60 s."""
    consumer.assign([partition])
    if offset is not None:
        consumer.seek(partition, offset)
    records: list[Any] = []
    deadline = time.monotonic() + 60
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records after 60 s"
        records.extend(consumer.poll(timeout_ms=500).get(partition, []))
    return records


def test_records_come_back_in_order_with_keys_values_headers_and_timestamps(
    producer: Any, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    headers = [("trace", b"1"), ("trace", b"2"), ("empty", b"")]
    sent = [
        producer.send(
            topic,
            key=f"k{i}".encode(),
            value=f"v{i}".encode(),
            headers=headers,
            timestamp_ms=START_MS + i,
        )
        for i in range(1_000)
    ]
    metadata = [future.get(60) for future in sent]
    assert [record.offset for record in metadata] == list(range(1_000))
    records = read(consumer, TopicPartition(topic, 0), 1_000)
    assert [(r.offset, r.key, r.value, r.timestamp) for r in records] == [
        (i, f"k{i}".encode(), f"v{i}".encode(), START_MS + i) for i in range(1_000)
    ]
    assert all(list(r.headers) == headers and r.timestamp_type == 0 for r in records)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_round_trips(
    broker: Broker, consumer: Any, make_topic: MakeTopic, codec: str | None
) -> None:
    topic = make_topic()
    values = [f"{codec} {i} ".encode() * 50 for i in range(500)]
    with closing(
        KafkaProducer(bootstrap_servers=broker.bootstrap, compression_type=codec, linger_ms=20)
    ) as producer:
        for value in values:
            producer.send(topic, value)
    assert [r.value for r in read(consumer, TopicPartition(topic, 0), 500)] == values


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks_setting_delivers_without_idempotence(
    broker: Broker, consumer: Any, make_topic: MakeTopic, acks: int | str
) -> None:
    topic = make_topic()
    with closing(
        KafkaProducer(bootstrap_servers=broker.bootstrap, acks=acks, enable_idempotence=False)
    ) as producer:
        futures = [producer.send(topic, f"{i}".encode()) for i in range(100)]
        offsets = [future.get(60).offset for future in futures]
    assert acks == 0 or offsets == list(range(100))
    assert [r.value for r in read(consumer, TopicPartition(topic, 0), 100)] == [
        f"{i}".encode() for i in range(100)
    ]


def test_null_keys_null_values_and_empty_ones_stay_apart(
    producer: Any, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    pairs = [(None, b"v"), (b"k", None), (b"", b""), (b"k", b"")]
    for key, value in pairs:
        producer.send(topic, value, key)
    producer.flush()
    assert [(r.key, r.value) for r in read(consumer, TopicPartition(topic, 0), 4)] == pairs


def test_a_record_of_nearly_one_megabyte_round_trips(
    broker: Broker, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    value = bytes(range(256)) * 4_095
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap)) as producer:
        assert producer.send(topic, value).get(60).offset == 0
    assert read(consumer, TopicPartition(topic, 0), 1)[0].value == value


def test_a_batch_above_the_topics_max_message_bytes_is_refused_and_a_smaller_one_is_not(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(max_message_bytes="5000")
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=False)) as producer:
        with pytest.raises(MessageSizeTooLargeError):
            producer.send(topic, b"x" * 5_000).get(60)
        assert producer.send(topic, b"x" * 4_000).get(60).offset == 0


def test_partitioning_by_key_keeps_one_key_in_one_partition(
    producer: Any, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=4)
    placed: dict[bytes, set[int]] = {}
    for i in range(200):
        key = f"key-{i % 20}".encode()
        placed.setdefault(key, set()).add(producer.send(topic, b"v", key).get(60).partition)
    assert all(len(partitions) == 1 for partitions in placed.values())
    assert consumer.partitions_for_topic(topic) == {0, 1, 2, 3}


def test_seek_position_beginning_and_end(producer: Any, consumer: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    partition = TopicPartition(topic, 0)
    for i in range(50):
        producer.send(topic, f"{i}".encode())
    producer.flush()
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 50}
    assert [r.offset for r in read(consumer, partition, 10, offset=40)] == list(range(40, 50))
    assert consumer.position(partition) == 50
    consumer.seek_to_beginning(partition)
    assert consumer.position(partition) == 0
    consumer.seek_to_end(partition)
    assert consumer.position(partition) == 50
    consumer.seek(partition, 25)
    assert consumer.poll(timeout_ms=60_000)[partition][0].offset == 25
    assert consumer.highwater(partition) == 50


def test_offsets_for_times_finds_the_first_record_at_or_after(
    producer: Any, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    partition = TopicPartition(topic, 0)
    for i in range(20):
        producer.send(topic, b"v", timestamp_ms=START_MS + i * 1_000)
    producer.flush()
    found = {
        asked: consumer.offsets_for_times({partition: START_MS + asked})[partition]
        for asked in (-5, 0, 1, 1_000, 18_500, 19_001)
    }
    offsets = {
        asked: result and (result.offset, result.timestamp - START_MS) for asked, result in found.items()
    }
    assert offsets == {
        -5: (0, 0),
        0: (0, 0),
        1: (1, 1_000),
        1_000: (1, 1_000),
        18_500: (19, 19_000),
        19_001: None,
    }


def test_log_append_time_replaces_the_producers_timestamps(
    producer: Any, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before_ms = time.time() * 1_000 - 1
    metadata = producer.send(topic, b"v", timestamp_ms=1_000).get(60)
    after_ms = time.time() * 1_000 + 1
    record = read(consumer, TopicPartition(topic, 0), 1)[0]
    assert record.timestamp_type == 1
    assert before_ms <= record.timestamp <= after_ms
    assert metadata.timestamp == record.timestamp


def test_producing_to_an_unknown_topic_creates_it_with_four_partitions(
    producer: Any, consumer: Any, topic: str
) -> None:
    assert producer.send(topic, b"first").get(60).topic == topic
    assert producer.partitions_for(topic) == {0, 1, 2, 3}
    assert consumer.partitions_for_topic(topic) == {0, 1, 2, 3}


def test_a_poll_waits_for_data_that_comes_later(producer: Any, consumer: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    assert consumer.poll(timeout_ms=200) == {}
    producer.send(topic, b"late").get(60)
    assert consumer.poll(timeout_ms=60_000)[partition][0].value == b"late"


def test_several_partitions_are_consumed_together(
    producer: Any, consumer: Any, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=3)
    for i in range(300):
        producer.send(topic, f"{i}".encode(), partition=i % 3)
    producer.flush()
    consumer.assign([TopicPartition(topic, p) for p in range(3)])
    consumer.seek_to_beginning()
    values: dict[int, list[int]] = {0: [], 1: [], 2: []}
    deadline = time.monotonic() + 60
    while sum(map(len, values.values())) < 300 and time.monotonic() < deadline:
        for partition, records in consumer.poll(timeout_ms=500).items():
            values[partition.partition].extend(int(r.value) for r in records)
    assert values == {p: list(range(p, 300, 3)) for p in range(3)}
