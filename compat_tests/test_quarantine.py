"""Records that do not fit their columns, read by kcat, kafka-python, librdkafka and groups, over kill -9."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from kafka import KafkaConsumer
from kafka.structs import TopicPartition as Place

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, produce, read, take
from compat_tests.conftest import StartBroker
from compat_tests.groups import group_consumer
from compat_tests.kawal_broker import KAWAL
from compat_tests.kcat import kcat
from compat_tests.test_views import read_to_the_ends
from compat_tests.times import START_MS
from compat_tests.topics import create_topic
from compat_tests.views import admin_client, make_view

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

COLUMNS: Final = "id bigint, carrier varchar(3), delay int, city varchar(6) tag"
PARTITIONS: Final = 2
COUNT: Final = 3_000
BAD: Final = {
    b'{"id":1,"delay":"late"}': "delay: expected int, got a string",
    b'{"delay":2147483648}': "delay: 2147483648 is beyond int, which goes from -2147483648 to 2147483647",
    b'{"id":12345678901234567890}': "id: 12345678901234567890 is beyond bigint, which goes"
    " from -9223372036854775808 to 9223372036854775807",
    b'{"carrier":"Lufthansa"}': "carrier: a string of 9 characters is too long for varchar(3)",
    b'{"id":1,"more":%s%s}' % (b"[" * 50_000, b"]" * 50_000): "nested too deeply",
    b"delay 5": "not JSON: invalid character (byte 0)",
    b"": "not JSON: the value is empty",
    b"[1]": "expected an object, got an array",
}
"""Values that do not fit, and why."""
EVERY: Final = 31
"""One record in this many does not fit, with the values of `BAD` in turn."""


class Bad(NamedTuple):
    """A record that does not fit."""

    partition: int
    offset: int
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


class World(NamedTuple):
    """A broker with a topic, its quarantine, and what must be in it."""

    broker: Broker
    quarantine: str
    bad: list[Bad]


def fill(broker: Broker, topic: str, count: int = COUNT, partitions: int = PARTITIONS) -> list[Bad]:
    """Produce records of which some do not fit; return those."""
    producer = make_producer(broker, linger_ms=20, batch_num_messages=400, compression_type="lz4")
    bad: list[Bad] = []
    values = list(BAD.items())
    for number in range(count):
        partition, offset = number % partitions, number // partitions
        key, value = b"k%d" % (number % 7), b'{"id":%d,"carrier":"TP","delay":5}' % number
        own = (("n", b"%d" % number),)
        if number % EVERY == EVERY - 1:
            value, reason = values[number // EVERY % len(values)]
            bad.append(Bad(partition, offset, key, value, (*own, ("kawal.unfit", reason.encode()))))
        producer.produce(topic, value, key, partition=partition, timestamp=START_MS + number, headers=[*own])
        producer.poll(0)
    assert producer.flush(60) == 0
    return sorted(bad)


@pytest.fixture(scope="module")
def world(group_broker: Broker) -> World:
    configs = {"kawal.columns": COLUMNS, "kawal.quarantine": "gates.unfit"}
    create_topic(group_broker, "gates", PARTITIONS, configs)
    return World(group_broker, "gates.unfit", fill(group_broker, "gates"))


def test_kcat_reads_what_does_not_fit_with_its_reasons(world: World) -> None:
    arguments = ("-C", "-q", "-e", "-t", world.quarantine, "-o", "beginning", "-f", "%p|%o|%k|%S|%T|%h\n")
    printed = kcat(world.broker, *arguments).stdout.decode().splitlines()
    found = sorted(printed, key=lambda line: tuple(map(int, line.split("|")[:2])))
    assert found == [
        f"{record.partition}|{record.offset}|{record.key.decode()}|{len(record.value)}"
        f"|{START_MS + record.offset * PARTITIONS + record.partition}"
        f"|{','.join(f'{name}={text.decode()}' for name, text in record.headers)}"
        for record in world.bad
    ]


def test_a_group_of_kafka_python_reads_it_to_its_end(world: World) -> None:
    consumer: Any = KafkaConsumer(
        bootstrap_servers=world.broker.bootstrap,
        group_id="menders",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    try:
        found = read_to_the_ends(consumer, world.quarantine)
        assert found == [
            (record.partition, record.offset, record.key.decode(), record.value.decode())
            for record in world.bad
        ]
        consumer.commit()
        places = [Place(world.quarantine, partition) for partition in range(PARTITIONS)]
        assert [consumer.committed(place) for place in places] == [COUNT // PARTITIONS] * PARTITIONS
    finally:
        consumer.close()


def test_librdkafka_gets_every_record_byte_for_byte(world: World) -> None:
    with open_consumer(world.broker) as consumer:
        for partition in range(PARTITIONS):
            wanted = [record for record in world.bad if record.partition == partition]
            found = read(consumer, world.quarantine, len(wanted), partition=partition)
            assert [
                Bad(
                    message.partition(),
                    message.offset(),
                    message.key(),
                    message.value() or b"",
                    tuple(message.headers()),
                )
                for message in found
            ] == wanted


def test_a_query_over_the_same_columns_has_the_rest(world: World) -> None:
    sql = "SELECT * FROM gates WHERE id >= 0 AND carrier IS NOT NULL AND delay >= 0 AND city IS NULL"
    rest = make_view(world.broker, "gates.fit", sql)
    shown = kcat(world.broker, "-C", "-q", "-e", "-t", rest, "-o", "beginning", "-f", "%p|%o\n")
    offsets = {(int(p), int(o)) for p, o in (line.split(b"|") for line in shown.stdout.splitlines())}
    assert len(offsets) == COUNT - len(world.bad)
    assert offsets.isdisjoint((record.partition, record.offset) for record in world.bad)


def alter(broker: Broker, topic: str, quarantine: str) -> None:
    """Set a topic's quarantine as any admin client does."""
    entry = ConfigEntry("kawal.quarantine", quarantine, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = admin_client(broker)
    (future,) = admin.incremental_alter_configs([resource]).values()
    future.result(timeout=60)


def test_a_quarantine_made_later_survives_kill_and_goes_on_where_its_group_was(
    start_broker: StartBroker,
) -> None:
    own = start_broker(group_initial_rebalance_delay_ms="0")
    create_topic(own, "gates", 1, {"kawal.columns": COLUMNS})
    before = [record.offset for record in fill(own, "gates", 600, partitions=1)]
    alter(own, "gates", "bad")
    with group_consumer(own, "g", "bad") as consumer:
        found = take(consumer, 5)
        assert [message.offset() for message in found] == before[:5]
        consumer.commit(offsets=[TopicPartition("bad", 0, found[4].offset() + 1)], asynchronous=False)
    own.kill()
    own.restart()
    (new,) = produce(make_producer(own), "gates", [b"after the kill"])
    rest = [*before[5:], new]
    with group_consumer(own, "g", "bad") as consumer:
        assert [message.offset() for message in take(consumer, len(rest))] == rest
    other = create_topic(own, "gates-2")
    with pytest.raises(KafkaException, match="there is a topic of that name, which is not UNFIT"):
        alter(own, "gates", other)


def test_the_example_of_the_page_is_right(start_broker: StartBroker) -> None:
    page = Path(__file__).parent.parent / "docs" / "views.md"
    text = page.read_text().split("\n## What does not fit: quarantine\n")[1].split("\n## ")[0]
    blocks = dict(re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL))
    broker = start_broker()
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", blocks["sh"].replace("127.0.0.1:9092", broker.bootstrap)],
        env={"PATH": f"{Path(KAWAL).parent}:/usr/bin:/bin", "KAWAL_BOOTSTRAP": broker.bootstrap},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith(blocks[""]), ran.stdout
