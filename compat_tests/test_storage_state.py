"""`__kawal_storage_state` with a client of Kafka: each log tells its storage."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import TopicPartition

from compat_tests.confluent import open_consumer, take
from compat_tests.conftest import StartBroker

pytestmark = pytest.mark.only_kawal("Apache Kafka has no such topic")

TOPIC = "__kawal_storage_state"


def test_any_client_reads_the_storage_of_each_log(start_broker: StartBroker) -> None:
    broker = start_broker(kawal_storage_state_topic="true")
    with open_consumer(broker, topic_metadata_refresh_interval_ms=500) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        states = {message.key().decode(): json.loads(message.value()) for message in take(consumer, 3)}

    assert sorted(states) == ["default/vnode-0", "default/vnode-1", "meta/vnode-0"]
    for name, state in states.items():
        assert state["log"] == name
        assert state["journal"]["next_sequence"] >= state["mark"]["sequence"]
        assert sum(state["segments"]["kept_for"].values()) == state["segments"]["count"]
