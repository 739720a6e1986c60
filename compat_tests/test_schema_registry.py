"""Values framed for a schema registry: checked when they are produced, and shown by `kawal consume`."""

from __future__ import annotations

import json
import struct
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.confluent import make_producer, open_consumer, read, take
from compat_tests.conftest import StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.requests import produce
from compat_tests.schema_registry import SchemaRegistry
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client
from tests.registry.descriptors import field, file, message, part

pytestmark = pytest.mark.only_kawal(reason="Apache Kafka has no check of values")

INVALID_RECORD, REQUEST_TIMED_OUT = 87, 7
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "item", "type": "string"}]}
PAGES: dict[str, Any] = {
    "schemas/ids/1": {"schemaType": "JSON", "schema": "{}"},
    "schemas/ids/2": {"schema": json.dumps(ORDER)},
    "schemas/ids/3": {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3"; …'},
    "schemas/ids/3?format=serialized": {
        "schemaType": "PROTOBUF",
        "schema": b64encode(file(message("Order", field(1, "item", 9)))).decode(),
    },
    "schemas/ids/4": {"schemaType": "JSON", "schema": "{}"},
}
JSON, AVRO, PROTOBUF = b'{"item":"tea"}', b"\x06tea", b"\0" + part(1, "tea")


def framed(identity: int, payload: bytes) -> bytes:
    return struct.pack(">bi", 0, identity) + payload


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    made = SchemaRegistry(PAGES)
    yield made
    made.close()


@pytest.fixture
def checked(start_broker: StartBroker, registry: SchemaRegistry) -> Broker:
    """Return a broker with the registry, and the topics `checked` and `plain`."""
    broker = start_broker(kawal_schema_registry_url=registry.url, kawal_schema_registry_timeout_ms="4000")
    create_topic(broker, "checked", 1, {"kawal.schema.validation": "registry"})
    create_topic(broker, "plain", 1)
    return broker


def refused(raw: RawClient, *values: bytes, topic: str = "checked") -> list[int]:
    part = produce(raw, topic, Batch(values=list(values)))
    assert part.error_code == (INVALID_RECORD if part.record_errors else 0)
    return [error.batch_index for error in part.record_errors or ()]


def test_values_of_three_kinds_are_checked_and_each_schema_is_asked_for_once(
    checked: Broker, registry: SchemaRegistry
) -> None:
    good = [framed(1, JSON), framed(2, AVRO), framed(3, PROTOBUF)]
    with raw_client(checked) as raw:
        for _ in range(3):
            assert refused(raw, *good) == []
        wrong = [framed(2, b"\x08tea"), framed(3, b"\x09")]
        assert refused(raw, b"tea", *good, *wrong) == [0, 4, 5]
        assert refused(raw, *good, framed(9, JSON)) == [3]
    assert sorted(registry.asked) == sorted(
        [f"/{path}" for path in PAGES if "4" not in path] + ["/schemas/ids/9"]
    )


def test_a_producer_of_librdkafka_learns_which_record_is_refused(checked: Broker) -> None:
    codes: dict[bytes, int] = {}
    producer = make_producer(checked, linger_ms=200)
    for value in (framed(1, JSON), framed(1, b"{")):
        producer.produce(
            "checked",
            value,
            on_delivery=lambda error, told: codes.update({told.value(): error.code() if error else 0}),
        )
    assert producer.flush(60) == 0
    assert codes[framed(1, b"{")] == KafkaError.INVALID_RECORD


def test_a_registry_that_does_not_answer_holds_up_those_alone_that_need_it(
    checked: Broker, registry: SchemaRegistry
) -> None:
    with raw_client(checked) as raw, raw_client(checked) as other:
        assert refused(raw, framed(1, JSON)) == []
        registry.goes_on.clear()
        answers: list[Any] = []
        waiting = threading.Thread(
            target=lambda: answers.append(produce(raw, "checked", Batch(values=[framed(4, JSON)])))
        )
        waiting.start()
        eventually(lambda: "/schemas/ids/4" in registry.asked, waiting_for="the lookup")
        assert refused(other, framed(1, JSON)) == []
        assert produce(other, "plain", Batch(values=[b"tea"])).error_code == 0
        waiting.join(60)
        assert [(answer.error_code, answer.base_offset) for answer in answers] == [(REQUEST_TIMED_OUT, -1)]
        registry.goes_on.set()
        eventually(
            lambda: produce(raw, "checked", Batch(values=[framed(4, JSON)])).error_code == 0,
            waiting_for="the registry",
        )


def test_a_server_ends_while_a_registry_does_not_answer(checked: Broker, registry: SchemaRegistry) -> None:
    registry.goes_on.clear()
    with raw_client(checked) as raw:
        produce(raw, "checked", Batch(values=[framed(4, JSON)]))
        code, _ = checked.stop()
    assert code == 0


def test_values_are_checked_against_columns(start_broker: StartBroker) -> None:
    broker = start_broker()
    columns = {"kawal.columns": "delay int", "kawal.schema.validation": "columns"}
    create_topic(broker, "checked", 1, columns)
    with raw_client(broker) as raw:
        assert refused(raw, b'{"delay":1}', b'{"delay":"x"}', b"{}", b"no", b'{"delay":NaN}') == [1, 3, 4]
        assert refused(raw, b'{"delay":1}') == []


def test_consume_shows_all_kinds_as_json(checked: Broker, registry: SchemaRegistry) -> None:
    with raw_client(checked) as raw:
        for value in (framed(1, JSON), framed(2, AVRO), framed(3, PROTOBUF)):
            assert refused(raw, value, topic="plain") == []
    command = [KAWAL, "consume", "plain", "--registry", registry.url, "--bootstrap", checked.bootstrap]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert ended.stdout == (JSON + b"\n") * 3


def test_a_view_reads_all_kinds_and_goes_on_when_the_registry_is_back(
    checked: Broker, registry: SchemaRegistry
) -> None:
    create_topic(
        checked, "drinks", 1, {"kawal.value.format": "registry", "kawal.columns": "item varchar(10)"}
    )
    create_topic(checked, "teas", 1, {"kawal.sql": "SELECT item FROM drinks WHERE item LIKE 't%'"})
    wrong = [b'{"item":"tea"}', framed(2, b"\x08tea"), framed(9, JSON)]
    with raw_client(checked) as raw, open_consumer(checked) as consumer:
        produce(raw, "drinks", Batch(values=[framed(1, JSON), framed(2, AVRO), framed(3, PROTOBUF), *wrong]))
        found = [record.value() for record in read(consumer, "teas", 3)]
        assert found == [b'{"item":"tea"}'] * 3
        registry.goes_on.clear()
        produce(raw, "drinks", Batch(values=[framed(4, b'{"item":"toddy"}')]))
        assert consumer.consume(1, timeout=2) == []
        assert refused(raw, b"anything", topic="plain") == [], "others do not notice"
        registry.goes_on.set()
        assert [record.value() for record in take(consumer, 1)] == [b'{"item":"toddy"}']
