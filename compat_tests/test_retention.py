"""Retention by time and size: whole segments are deleted, the newest data stays, no offset is reused."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import TopicPartition

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import StartBroker
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SEGMENT_BYTES = 1_048_576
"""The smallest segment.bytes that Kafka 4 accepts."""

VALUE = b"x" * 65_000
BATCH_BYTES = 61 + 12 + len(VALUE)
"""A batch of one such record: the batch header; sizes, deltas and the null key of the record; the value."""

DAY_MS = 86_400_000


@pytest.fixture
def eager_broker(start_broker: StartBroker) -> Broker:
    """Start a broker that looks for expired segments several times a second."""
    return start_broker(log_retention_check_interval_ms="200")


def one_by_one(broker: Broker, topic: str, count: int, *, timestamp_ms: int) -> None:
    """Produce `count` batches of one large record each."""
    producer = make_producer(broker, linger_ms=0, batch_num_messages=1)
    for _ in range(count):
        producer.produce(topic, VALUE, partition=0, timestamp=timestamp_ms)
        assert producer.flush(60) == 0


def log_range(broker: Broker, topic: str) -> tuple[int, int]:
    with open_consumer(broker) as consumer:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
        return low, high


def test_retention_by_size_keeps_whole_segments_above_the_limit(eager_broker: Broker) -> None:
    limits = {"retention.bytes": str(2 * SEGMENT_BYTES), "segment.bytes": str(SEGMENT_BYTES)}
    create_topic(eager_broker, "sized", 1, limits)
    one_by_one(eager_broker, "sized", 100, timestamp_ms=int(time.time() * 1_000))
    per_segment = SEGMENT_BYTES // BATCH_BYTES
    segments = [min(per_segment, 100 - first) for first in range(0, 100, per_segment)]
    expected = 0
    while (sum(segments) - segments[0]) * BATCH_BYTES >= 2 * SEGMENT_BYTES:
        expected += segments.pop(0)
    eventually(
        lambda: log_range(eager_broker, "sized") == (expected, 100), waiting_for=f"log start {expected}"
    )
    with open_consumer(eager_broker, auto_offset_reset="earliest") as consumer:
        assert [m.offset() for m in read(consumer, "sized", 100 - expected)] == list(range(expected, 100))


def test_retention_by_time_drops_everything_old_and_goes_on_with_the_next_offset(
    eager_broker: Broker,
) -> None:
    now_ms = int(time.time() * 1_000)
    create_topic(eager_broker, "timed", 1, {"retention.ms": str(DAY_MS), "segment.bytes": str(SEGMENT_BYTES)})
    one_by_one(eager_broker, "timed", 40, timestamp_ms=now_ms - 2 * DAY_MS)
    eventually(lambda: log_range(eager_broker, "timed") == (40, 40), waiting_for="an empty log")
    assert produce(make_producer(eager_broker), "timed", [b"new"]) == [40]
    assert log_range(eager_broker, "timed") == (40, 41)


def test_a_segment_with_one_young_record_stays_whole(start_broker: StartBroker) -> None:
    broker = start_broker()
    now_ms = int(time.time() * 1_000)
    create_topic(broker, "mixed", 1, {"retention.ms": str(DAY_MS), "segment.bytes": str(SEGMENT_BYTES)})
    per_segment = SEGMENT_BYTES // BATCH_BYTES
    one_by_one(broker, "mixed", per_segment + 3, timestamp_ms=now_ms - 2 * DAY_MS)
    one_by_one(broker, "mixed", 1, timestamp_ms=now_ms)
    # Retention must not run before the young record is there.
    broker.stop()
    broker.settings["log.retention.check.interval.ms"] = "200"
    broker.restart()
    expected = (per_segment, per_segment + 4)
    eventually(lambda: log_range(broker, "mixed") == expected, waiting_for=f"the range {expected}")


def test_the_log_start_outlives_a_restart(eager_broker: Broker) -> None:
    now_ms = int(time.time() * 1_000)
    create_topic(eager_broker, "moved", 1, {"retention.ms": str(DAY_MS)})
    one_by_one(eager_broker, "moved", 5, timestamp_ms=now_ms - 2 * DAY_MS)
    eventually(lambda: log_range(eager_broker, "moved") == (5, 5), waiting_for="an empty log")
    eager_broker.kill()
    eager_broker.restart()
    assert log_range(eager_broker, "moved") == (5, 5)
    assert produce(make_producer(eager_broker), "moved", [b"new"]) == [5]


@pytest.mark.only_kawal(reason="important groups are Kawal's own")
def test_records_that_an_important_group_has_not_committed_stay(eager_broker: Broker) -> None:
    now_ms = int(time.time() * 1_000)
    alter_group(eager_broker, "slow", {"kawal.retention.important": "true"})
    limits = {"retention.ms": str(DAY_MS), "segment.bytes": str(SEGMENT_BYTES)}
    create_topic(eager_broker, "held", 1, limits)
    commit(eager_broker, "slow", "held", 0)
    one_by_one(eager_broker, "held", 40, timestamp_ms=now_ms - 2 * DAY_MS)
    create_topic(eager_broker, "free", 1, limits)
    one_by_one(eager_broker, "free", 1, timestamp_ms=now_ms - 2 * DAY_MS)
    eventually(lambda: log_range(eager_broker, "free") == (1, 1), waiting_for="retention to have run")
    assert log_range(eager_broker, "held") == (0, 40)
    commit(eager_broker, "slow", "held", 30)
    eventually(lambda: log_range(eager_broker, "held") == (30, 40), waiting_for="what was read to go")
    eager_broker.kill()
    eager_broker.restart()
    one_by_one(eager_broker, "free", 1, timestamp_ms=now_ms - 2 * DAY_MS)
    eventually(lambda: log_range(eager_broker, "free") == (2, 2), waiting_for="retention to have run again")
    assert log_range(eager_broker, "held") == (30, 40)


def alter_group(broker: Broker, group: str, configs: dict[str, str]) -> None:
    """Set configs of a group."""
    changes = [AlterableConfig(name=name, config_operation=0, value=value) for name, value in configs.items()]
    resource = AlterConfigsResource(resource_type=32, resource_name=group, configs=changes)
    with raw_client(broker) as client:
        answer = client.call(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    assert [response.error_code for response in answer.responses] == [0]


def commit(broker: Broker, group: str, topic: str, offset: int) -> None:
    """Commit an offset without being a member."""
    with open_consumer(broker, group_id=group) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
