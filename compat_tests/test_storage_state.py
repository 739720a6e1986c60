"""`__kawal_storage_state` with a client of Kafka: each log tells its storage, and again as it changes."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import TopicPartition

from compat_tests.confluent import make_producer, open_consumer, produce, take
from compat_tests.conftest import StartBroker
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal("Apache Kafka has no such topic")

TOPIC = "__kawal_storage_state"


def test_any_client_reads_the_storage_of_each_log(start_broker: StartBroker, topic: str) -> None:
    broker = start_broker(kawal_storage_state_topic="true", kawal_segment_bytes="1048576")
    create_topic(broker, topic, 1)
    with open_consumer(broker, topic_metadata_refresh_interval_ms=500) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        first = take(consumer, 3)
        names = sorted(message.key().decode() for message in first)
        assert names == ["default/vnode-0", "default/vnode-1", "meta/vnode-0"]
        produce(make_producer(broker), topic, [bytes(500_000)] * 12)
        # Other logs may change, too.
        states = (json.loads(take(consumer, 1)[0].value()) for _ in range(10))
        state = next(state for state in states if state["segments"]["count"] > 3)

    assert state["log"].startswith("default/")
    assert state["journal"]["synced_below"] > 3
