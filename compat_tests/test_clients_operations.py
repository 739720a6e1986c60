"""The everyday work of every client family: topics, records in and out, offsets, configs.

Each claim is tried with the client's own program (compat_tests/clients), and checked with another client or
on the wire.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec

from compat_tests.batches import CODECS
from compat_tests.broker import Broker
from compat_tests.clients.matrix import MatrixPlugin
from compat_tests.clients.program import CannotError, Program
from compat_tests.clients.registry import (
    COMMANDS,
    EMPTY_READ_AS_NULL,
    GROUPS_ONLY,
    NOT_PINNED,
    OWN_TIMESTAMPS,
)
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.requests import fetched_batches
from compat_tests.times import START_MS
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client

pytestmark = pytest.mark.parametrize("client", list(COMMANDS), scope="module")

LARGE = "0123456789" * 90_000

ODD_RECORDS: list[dict[str, Any]] = [
    {"key": "key", "value": "value", "headers": [["a", "1"], ["a", "2"], ["b", ""]], "timestamp": START_MS},
    {"key": None, "value": "no key", "headers": [], "timestamp": START_MS + 1},
    {"key": "no value", "value": None, "headers": [["ä", "ö"]], "timestamp": START_MS + 2},
    {"key": "", "value": "", "headers": [], "timestamp": START_MS + 3},
]
"""Headers of one name twice and empty, nulls, empty texts, letters of two bytes."""


def plain(*values: str) -> list[dict[str, Any]]:
    return [{"key": "k", "value": value, "headers": [], "timestamp": START_MS} for value in values]


def produced(program: Program, broker: Broker, topic: str, records: Any, **options: Any) -> Any:
    """Let the program produce to partition 0 and return the offsets it reports."""
    asked = {"codec": "none", "acks": "all", "idempotent": False, "partition": 0, **options}
    return program.ask("produce", bootstrap=broker.bootstrap, topic=topic, records=records, **asked)[
        "offsets"
    ]


def stored(broker: Broker, topic: str, count: int) -> list[dict[str, Any]]:
    """Read partition 0 with another client, in the shape of the contract."""
    with open_consumer(broker, check_crcs=True) as consumer:
        return [
            {
                "key": text(message.key()),
                "value": text(message.value()),
                "headers": [[name, text(value)] for name, value in message.headers() or []],
                "timestamp": message.timestamp()[1],
            }
            for message in read(consumer, topic, count)
        ]


def assert_stored(program: Program, broker: Broker, topic: str, records: list[dict[str, Any]]) -> None:
    """Check that partition 0 holds just these records, with their times if the client's user may set them."""
    found = stored(broker, topic, len(records))
    if program.name in OWN_TIMESTAMPS:
        assert all(record.pop("timestamp") > START_MS - 1_000 for record in found)
        records = [{name: record[name] for name in record if name != "timestamp"} for record in records]
    assert found == records


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})


def config(broker: Broker, topic: str, name: str) -> str | None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    asking = admin(broker)  # its answers do not come once it is collected
    value: str | None = asking.describe_configs([resource])[resource].result(60)[name].value
    return value


def values(answer: Any) -> list[Any]:
    return [record["value"] for record in answer["records"]]


def test_the_version_is_the_one_that_is_written_down(
    client: str, program: Program, pytestconfig: pytest.Config
) -> None:
    matrix = pytestconfig.pluginmanager.get_plugin("client-matrix")
    assert isinstance(matrix, MatrixPlugin)
    matrix.saw_version(client, program.ask("version")["version"], pinned=client not in NOT_PINNED)


@pytest.mark.operation("create a topic")
def test_a_created_topic_has_its_partitions_and_configs(
    group_broker: Broker, program: Program, topic: str
) -> None:
    configs = {"retention.ms": "7654321"}
    program.ask("create_topic", bootstrap=group_broker.bootstrap, topic=topic, partitions=3, configs=configs)
    listed = admin(group_broker).list_topics(timeout=60).topics
    assert len(listed[topic].partitions) == 3
    assert config(group_broker, topic, "retention.ms") == "7654321"


@pytest.mark.operation("delete a topic")
def test_a_deleted_topic_is_gone(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    program.ask("delete_topic", bootstrap=group_broker.bootstrap, topic=topic)
    eventually(
        lambda: topic not in admin(group_broker).list_topics(timeout=60).topics, waiting_for="the topic to go"
    )


@pytest.mark.operation("produce uncompressed")
def test_keys_values_headers_and_nulls_are_stored_as_sent(
    group_broker: Broker, program: Program, topic: str
) -> None:
    create_topic(group_broker, topic)
    assert produced(program, group_broker, topic, ODD_RECORDS) in (None, [0, 1, 2, 3])
    assert_stored(program, group_broker, topic, ODD_RECORDS)


@pytest.mark.parametrize("codec", list(CODECS))
@pytest.mark.operation("produce with {codec}")
def test_compressed_batches_are_stored_compressed(
    group_broker: Broker, program: Program, topic: str, codec: str
) -> None:
    create_topic(group_broker, topic)
    records = plain(*(f"{codec} {i} " * 40 for i in range(50)))
    assert produced(program, group_broker, topic, records, codec=codec) in (None, list(range(50)))
    assert_stored(program, group_broker, topic, records)
    with raw_client(group_broker) as raw:
        assert {batch.codec for batch in fetched_batches(raw, topic)} == {CODECS[codec]}


@pytest.mark.parametrize("acks", ["0", "1"])
@pytest.mark.operation("produce with acks={acks}")
def test_records_arrive_with_fewer_acks(
    group_broker: Broker, program: Program, topic: str, acks: str
) -> None:
    create_topic(group_broker, topic)
    produced(program, group_broker, topic, plain("a", "b", "c"), acks=acks)
    assert_stored(program, group_broker, topic, plain("a", "b", "c"))


@pytest.mark.operation("produce idempotently")
def test_an_idempotent_producer_has_an_id(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    produced(program, group_broker, topic, plain("a", "b", "c"), idempotent=True)
    assert_stored(program, group_broker, topic, plain("a", "b", "c"))
    with raw_client(group_broker) as raw:
        assert all(batch.producer_id >= 0 for batch in fetched_batches(raw, topic))


@pytest.mark.operation("produce a record of 900 KB")
def test_a_large_record_goes_there_and_back(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    produced(program, group_broker, topic, plain(LARGE))
    assert_stored(program, group_broker, topic, plain(LARGE))
    answer = program.ask(
        "consume", bootstrap=group_broker.bootstrap, topic=topic, partition=0, offset=0, count=1
    )
    assert values(answer) == [LARGE]


def fill(broker: Broker, topic: str) -> None:
    """Produce the odd records to partition 1 of 2."""
    create_topic(broker, topic, 2)
    producer = make_producer(broker)
    for record in ODD_RECORDS:
        headers = [(name, value.encode()) for name, value in record["headers"]]
        producer.produce(
            topic, record["value"], record["key"], partition=1, timestamp=record["timestamp"], headers=headers
        )
    assert producer.flush(60) == 0


@pytest.mark.operation("consume by assignment")
def test_records_are_read_as_they_are_stored(group_broker: Broker, program: Program, topic: str) -> None:
    fill(group_broker, topic)
    answer = program.ask(
        "consume", bootstrap=group_broker.bootstrap, topic=topic, partition=1, offset=0, count=None
    )
    wanted = [{**record, "partition": 1, "offset": i} for i, record in enumerate(ODD_RECORDS)]
    if program.name in EMPTY_READ_AS_NULL:
        wanted = json.loads(json.dumps(wanted).replace('""', "null"))
    assert answer["records"] == wanted
    if program.name in GROUPS_ONLY:
        raise CannotError(GROUPS_ONLY[program.name])


@pytest.mark.operation("consume from an offset")
def test_reading_begins_at_an_offset_and_ends_at_the_end(
    group_broker: Broker, program: Program, topic: str
) -> None:
    create_topic(group_broker, topic)
    produce(make_producer(group_broker), topic, [b"%d" % i for i in range(100)])
    asked = {"bootstrap": group_broker.bootstrap, "topic": topic, "partition": 0}
    assert values(program.ask("consume", offset=97, count=None, **asked)) == ["97", "98", "99"]
    assert values(program.ask("consume", offset=100, count=None, **asked)) == []
    assert values(program.ask("consume", offset=40, count=2, **asked))[:2] == ["40", "41"]


@pytest.mark.operation("consume from a timestamp")
def test_reading_begins_at_a_timestamp(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    producer = make_producer(group_broker)
    for i in range(10):
        producer.produce(topic, b"%d" % i, partition=0, timestamp=START_MS + 1_000 * i)
        assert producer.flush(60) == 0
    answer = program.ask(
        "consume_from_timestamp",
        bootstrap=group_broker.bootstrap,
        topic=topic,
        partition=0,
        timestamp=START_MS + 6_500,
    )
    assert values(answer) == ["7", "8", "9"]


@pytest.mark.operation("consume every codec")
def test_batches_of_every_codec_are_read(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    for codec in ("none", *CODECS):
        produce(make_producer(group_broker, compression_codec=codec), topic, [codec.encode() * 100] * 3)
    answer = program.ask(
        "consume", bootstrap=group_broker.bootstrap, topic=topic, partition=0, offset=0, count=None
    )
    assert values(answer) == [codec * 100 for codec in ("none", *CODECS) for _ in range(3)]


@pytest.mark.operation("consume in a group")
def test_a_group_goes_on_where_it_committed(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic, 2)
    asked = {"bootstrap": group_broker.bootstrap, "topic": topic, "group": f"group-of-{topic}"}
    for start in (0, 20):
        for partition in (0, 1):
            numbers = [b"%d" % i for i in range(start + 10 * partition, start + 10 * partition + 10)]
            produce(make_producer(group_broker), topic, numbers, partition=partition)
        answer = program.ask("consume_group", count=20, **asked)
        assert sorted(int(value) for value in values(answer)) == list(range(start, start + 20))
    assert {(record["partition"], record["offset"]) for record in answer["records"]} == {
        (partition, offset) for partition in (0, 1) for offset in range(10, 20)
    }


@pytest.mark.operation("list offsets")
def test_the_ends_of_a_partition_are_told(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    produce(make_producer(group_broker), topic, [b"v"] * 7)
    answer = program.ask("list_offsets", bootstrap=group_broker.bootstrap, topic=topic, partition=0)
    assert answer == {"earliest": 0, "latest": 7}


@pytest.mark.operation("describe a config")
def test_a_config_is_described(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic, 1, {"max.message.bytes": "54321"})
    asked = {"bootstrap": group_broker.bootstrap, "topic": topic}
    assert program.ask("describe_config", name="max.message.bytes", **asked) == {"value": "54321"}
    assert program.ask("describe_config", name="segment.bytes", **asked) == {"value": "1073741824"}


@pytest.mark.operation("alter a config")
def test_a_config_is_altered(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    program.ask(
        "alter_config", bootstrap=group_broker.bootstrap, topic=topic, name="retention.ms", value="1234567"
    )
    eventually(
        lambda: config(group_broker, topic, "retention.ms") == "1234567", waiting_for="the new retention"
    )


@pytest.mark.operation("delete records")
def test_deleted_records_are_gone(group_broker: Broker, program: Program, topic: str) -> None:
    create_topic(group_broker, topic)
    produce(make_producer(group_broker), topic, [b"v"] * 7)
    program.ask("delete_records", bootstrap=group_broker.bootstrap, topic=topic, partition=0, before=5)
    there = TopicPartition(topic, 0)
    asking = admin(group_broker)
    earliest = asking.list_offsets({there: OffsetSpec.earliest()})[there].result(60)
    assert earliest.offset == 5
