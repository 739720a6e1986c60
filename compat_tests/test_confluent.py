"""confluent-kafka (librdkafka 2.16): producing and consuming by assignment."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read, take
from compat_tests.conftest import MakeTopic
from compat_tests.times import START_MS, quickest, seconds_of
from compat_tests.waiting import eventually

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def first_error(consumer: Any) -> KafkaError:
    """Consume until an error comes and return it."""

    def error() -> KafkaError | None:
        message = consumer.poll(0.2)
        return message.error() if message is not None else None

    return eventually(error, waiting_for="an error")


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_round_trips_with_and_without_idempotence(
    broker: Broker, make_topic: MakeTopic, codec: str, idempotent: bool
) -> None:
    topic = make_topic()
    values = [f"{codec} {i} ".encode() * 40 for i in range(2_000)]
    producer = make_producer(broker, compression_type=codec, enable_idempotence=idempotent, linger_ms=20)
    assert produce(producer, topic, values) == list(range(2_000))
    with open_consumer(broker, check_crcs=True) as consumer:
        assert [m.value() for m in read(consumer, topic, 2_000)] == values


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks_setting_delivers(broker: Broker, make_topic: MakeTopic, acks: str) -> None:
    topic = make_topic()
    values = [f"{i}".encode() for i in range(500)]
    produce(make_producer(broker, acks=acks), topic, values)
    with open_consumer(broker) as consumer:
        assert [m.value() for m in read(consumer, topic, 500)] == values


@pytest.mark.parametrize("codec", CODECS)
def test_one_megabyte_records_round_trip(broker: Broker, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic(max_message_bytes="2000000")
    values = [bytes([seed]) + bytes(range(256)) * 4_096 for seed in range(3)]
    producer = make_producer(broker, compression_type=codec, message_max_bytes=2_000_000)
    assert produce(producer, topic, values) == [0, 1, 2]
    with open_consumer(broker, check_crcs=True) as consumer:
        assert [m.value() for m in read(consumer, topic, 3)] == values


def test_keys_values_headers_and_timestamps_come_back_as_sent(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    headers = [("trace", b"1"), ("trace", b"2"), ("empty", b""), ("null", None), ("ünï", b"\x00\xff")]
    pairs: list[tuple[bytes | None, bytes | None]] = [(b"k", b"v"), (None, b"v"), (b"k", None), (b"", b"")]
    producer = make_producer(broker)
    for i, (key, value) in enumerate(pairs):
        producer.produce(topic, value, key, partition=0, timestamp=START_MS + i, headers=headers)
    assert producer.flush(60) == 0
    with open_consumer(broker) as consumer:
        records = read(consumer, topic, 4)
    assert [(m.key(), m.value()) for m in records] == pairs
    assert [m.timestamp() for m in records] == [(1, START_MS + i) for i in range(4)]
    assert all(m.headers() == headers for m in records)
    assert {m.leader_epoch() for m in records} == {0}


def test_order_and_dense_offsets_hold_for_many_batches_in_flight(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=4)
    count = 40_000
    producer = make_producer(broker, enable_idempotence=True, batch_num_messages=200, linger_ms=1)
    for i in range(count):
        producer.produce(topic, b"%d" % i, partition=i % 4)
        if i % 1_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0
    with open_consumer(broker) as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(4)])
        records = take(consumer, count)
    for partition in range(4):
        ours = [m for m in records if m.partition() == partition]
        assert [m.offset() for m in ours] == list(range(count // 4))
        assert [int(m.value()) for m in ours] == list(range(partition, count, 4))


def test_two_producers_interleave_without_loss(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producers = [make_producer(broker, enable_idempotence=True, linger_ms=0) for _ in range(2)]
    for i in range(2_000):
        producers[i % 2].produce(topic, b"%d" % i, partition=0)
    assert [producer.flush(60) for producer in producers] == [0, 0]
    with open_consumer(broker) as consumer:
        values = [int(m.value()) for m in read(consumer, topic, 2_000)]
    assert [v for v in values if v % 2 == 0] == list(range(0, 2_000, 2))
    assert [v for v in values if v % 2 == 1] == list(range(1, 2_000, 2))


def test_assign_seek_beginning_and_end(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(make_producer(broker), topic, [b"%d" % i for i in range(100)])
    with open_consumer(broker) as consumer:
        assert read(consumer, topic, 1, offset=70)[0].offset() == 70
        consumer.seek(TopicPartition(topic, 0, 20))
        assert eventually(lambda: consumer.poll(1), waiting_for="the record sought").offset() == 20
        assert read(consumer, topic, 1, offset=OFFSET_BEGINNING)[0].offset() == 0
    with open_consumer(broker, enable_partition_eof=True) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
        assert first_error(consumer).code() == KafkaError._PARTITION_EOF
        produce(make_producer(broker), topic, [b"new"])
        assert take(consumer, 1)[0].value() == b"new"
        assert consumer.position([TopicPartition(topic, 0)])[0].offset == 101


def test_reading_from_inside_a_batch_starts_at_the_offset_asked(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    producer = make_producer(broker, compression_type="zstd", linger_ms=200)
    produce(producer, topic, [b"%d" % i for i in range(1_000)])
    with open_consumer(broker) as consumer:
        for offset in (1, 499, 500, 998, 999):
            assert read(consumer, topic, 1, offset=offset)[0].offset() == offset


def test_watermarks_and_the_end_of_a_partition_are_reported(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(make_producer(broker), topic, [b"v"] * 10)
    with open_consumer(broker, enable_partition_eof=True) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60) == (0, 10)
        read(consumer, topic, 10)
        assert first_error(consumer).code() == KafkaError._PARTITION_EOF
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), cached=True) == (0, 10)


def test_offsets_for_times_finds_the_first_record_at_or_after(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producer = make_producer(broker)
    for i in range(100):
        producer.produce(topic, b"v", partition=0, timestamp=START_MS + i * 10)
        if i % 10 == 9:
            assert producer.flush(60) == 0
    with open_consumer(broker) as consumer:
        found = {
            asked: consumer.offsets_for_times([TopicPartition(topic, 0, START_MS + asked)], timeout=30)[
                0
            ].offset
            for asked in (-1_000, 0, 1, 95, 500, 989, 990, 991)
        }
    assert found == {-1_000: 0, 0: 0, 1: 1, 95: 10, 500: 50, 989: 99, 990: 99, 991: OFFSET_END}


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_log_append_time_replaces_the_producers_timestamps(
    broker: Broker, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    producer = make_producer(broker, compression_type=codec)
    before_ms = time.time() * 1_000 - 1
    for value in (b"a", b"b"):
        producer.produce(topic, value * 500, partition=0, timestamp=1_000)
    assert producer.flush(60) == 0
    after_ms = time.time() * 1_000 + 1
    with open_consumer(broker, check_crcs=True) as consumer:
        records = read(consumer, topic, 2)
    assert [m.timestamp()[0] for m in records] == [2, 2]
    assert all(before_ms <= m.timestamp()[1] <= after_ms for m in records)


def test_an_offset_out_of_range_is_an_error_or_is_reset(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(make_producer(broker), topic, [b"v"] * 10)
    with open_consumer(broker) as consumer:
        consumer.assign([TopicPartition(topic, 0, 1_000)])
        assert first_error(consumer).code() == KafkaError._AUTO_OFFSET_RESET
    with open_consumer(broker, auto_offset_reset="earliest") as consumer:
        assert read(consumer, topic, 1, offset=1_000)[0].offset() == 0


def test_a_message_above_the_topics_limit_is_refused(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="5000")
    errors: list[Any] = []
    producer = make_producer(broker)
    producer.produce(topic, b"x" * 5_000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    assert [error.code() for error in errors] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert produce(producer, topic, [b"x" * 4_000]) == [0]


def test_producing_to_an_unknown_topic_creates_it_with_four_partitions(broker: Broker, topic: str) -> None:
    producer = make_producer(broker)
    assert produce(producer, topic, [b"first"], partition=3) == [0]
    assert sorted(producer.list_topics(topic, timeout=60).topics[topic].partitions) == [0, 1, 2, 3]


def test_a_consumer_asking_for_an_unknown_topic_does_not_create_it(broker: Broker, topic: str) -> None:
    with open_consumer(broker) as consumer:
        found = consumer.list_topics(topic, timeout=60).topics[topic]
        assert found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        assert topic not in consumer.list_topics(timeout=60).topics


def test_an_unknown_partition_is_refused(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    producer = make_producer(broker)
    produce(producer, topic, [b"v"], partition=1)
    with pytest.raises(KafkaException, match="Unknown partition"):
        producer.produce(topic, b"v", partition=2)


def test_a_consumer_waiting_at_the_end_gets_new_records_at_once(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    producer = make_producer(broker, linger_ms=0)
    produce(producer, topic, [b"first"])
    with open_consumer(broker, fetch_wait_max_ms=10_000) as consumer:
        read(consumer, topic, 1)

        def comes() -> None:
            produce(producer, topic, [b"more"])
            take(consumer, 1)

        quickest(partial(seconds_of, comes), below_seconds=0.5)


def test_small_fetch_limits_still_deliver_everything(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    producer = make_producer(broker)
    for partition in range(3):
        produce(producer, topic, [b"%d" % i + b"x" * 2_000 for i in range(200)], partition=partition)
    with open_consumer(
        broker, fetch_message_max_bytes=3_000, fetch_max_bytes=10_000, message_max_bytes=10_000
    ) as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(3)])
        records = take(consumer, 600)
    for partition in range(3):
        assert [m.offset() for m in records if m.partition() == partition] == list(range(200))
