"""Settings by which a group reads, set by an admin client and felt by consumers of several libraries."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.conftest import StartBroker
from compat_tests.libraries import LIBRARIES, Settings
from compat_tests.topics import create_topic
from compat_tests.views import admin_client
from compat_tests.waiting import eventually

pytestmark = pytest.mark.only_kawal("Kafka's groups have no such settings")

KEYS = 5


def configure(broker: Broker, group_id: str, **configs: str) -> None:
    asking = admin_client(broker)
    entries = [
        ConfigEntry(f"kawal.{name.replace('_', '.')}", value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=entries)
    (altered,) = asking.incremental_alter_configs([resource]).values()
    altered.result(60)


def write(broker: Broker, topic: str, first: int, count: int) -> None:
    producer: Any = make_producer(broker)
    for number in range(first, first + count):
        producer.produce(topic, b"%d" % number, b"k%d" % (number % KEYS), partition=0)
    assert producer.flush(60) == 0


@pytest.mark.parametrize("library", ["kafka-python", "confluent", "confluent-848", "aiokafka"])
def test_a_group_begins_with_the_present_state_and_gets_all_that_follows(
    start_broker: StartBroker, library: str
) -> None:
    broker = start_broker(group_initial_rebalance_delay_ms="0")
    topic = create_topic(broker, "state", 1)
    write(broker, topic, 0, 500)
    configure(broker, "g", snapshot_enable="true")
    consumer = LIBRARIES[library](broker, "g", [topic], Settings())
    found: list[int] = []

    def read(count: int) -> bool:
        found.extend(message.offset for message in consumer.poll())
        return len(found) >= count

    eventually(lambda: read(KEYS), waiting_for="the last record of each key")
    write(broker, topic, 500, 20)
    eventually(lambda: read(KEYS + 20), waiting_for="every record after that")
    consumer.close()
    assert found == [*range(500 - KEYS, 520)]
