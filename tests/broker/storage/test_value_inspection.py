"""Produce to topics with kawal.schema.validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, read, send
from tests.broker.registries import WithRegistry, framed


def of(*values: bytes | None) -> bytearray:
    return encode_batch([Record(at, START_MS, b"k", value) for at, value in enumerate(values)])


def refused(answer: Any) -> list[tuple[int, str]]:
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    return [(error.batch_index, error.batch_index_error_message) for error in answer.record_errors]


def test_values_that_do_not_fit_the_columns_are_refused_with_their_places(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", kawal_columns="delay int", kawal_schema_validation="columns")
    answer = send(client, "t", of(b'{"delay":1}', b'{"delay":"x"}', None, b"no"))
    assert [at for at, _ in refused(answer)] == [1, 3]
    assert refused(answer)[0] == (1, "delay: expected int, got a string")
    assert answer.error_message == "2 records do not fit t (kawal.schema.validation)"
    assert send(client, "t", of(b'{"delay":1}', None)).error_code == 0
    assert len(read(client, "t")) > 0


def test_other_topics_are_not_opened(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", kawal_columns="delay int")
    assert send(client, "t", of(b"no")).error_code == 0


@pytest.fixture
def world() -> WithRegistry:
    return WithRegistry()


@pytest.fixture
def client(world: WithRegistry) -> Client:
    client = world.client()
    create(client, "t", kawal_schema_validation="registry")
    return client


def test_values_must_be_of_a_schema_of_the_registry(client: Client, world: WithRegistry) -> None:
    assert send(client, "t", of(framed(1), framed(100, b"\x06tea"), None)).error_code == 0
    answer = send(client, "t", of(framed(1), framed(100, b"\x08tea"), b"{}", framed(1, b"{")))
    assert [at for at, _ in refused(answer)] == [1, 2, 3]
    assert refused(send(client, "t", of(framed(404)))) == [(0, "the schema registry has no schema 404")]
    assert world.asked == ["schemas/ids/1", "schemas/ids/100", "schemas/ids/404"]


def test_a_batch_may_name_many_schemas(client: Client, world: WithRegistry) -> None:
    assert send(client, "t", of(*(framed(number) for number in range(1, 100)))).error_code == 0
    assert len(world.asked) == 99


def test_a_batch_that_names_thousands_that_do_not_exist_asks_for_a_few(
    client: Client, world: WithRegistry
) -> None:
    refused(send(client, "t", of(*(framed(number) for number in range(1000, 5000)))))
    assert len(world.asked) == 16


def test_a_registry_that_is_away_is_told_with_an_error_that_is_retried(
    client: Client, world: WithRegistry
) -> None:
    assert send(client, "t", of(framed(1))).error_code == 0
    world.away = True
    answer = send(client, "t", of(framed(2)))
    assert (answer.error_code, answer.error_message) == (ErrorCode.REQUEST_TIMED_OUT, "nothing answers")
    assert send(client, "t", of(framed(1))).error_code == 0  # known


def test_or_what_is_not_known_is_accepted_if_the_operator_says_so() -> None:
    world = WithRegistry(kawal_schema_registry_unavailable="accept")
    client = world.client()
    create(client, "t", kawal_schema_validation="registry")
    world.away = True
    assert send(client, "t", of(framed(2))).error_code == 0
    assert [at for at, _ in refused(send(client, "t", of(framed(2), b"x")))] == [1]


def test_a_batch_that_cannot_be_read_is_refused_as_elsewhere(client: Client) -> None:
    assert send(client, "t", bytearray(b"\0" * 10)).error_code == ErrorCode.INVALID_RECORD
    whole = batch(framed(1))
    damaged = bytearray(whole)
    damaged[-1] ^= 1
    assert send(client, "t", damaged).error_code == ErrorCode.CORRUPT_MESSAGE


def test_settings_stand_for_a_check_that_began_with_equal_ones(world: WithRegistry, client: Client) -> None:
    topic = world.broker.find_topic("t")
    settings = world.broker.topics.settings(topic)
    topic.settings = replace(settings)
    assert world.broker.topics.settings(topic) == settings
