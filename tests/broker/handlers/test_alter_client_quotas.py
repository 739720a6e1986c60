"""AlterClientQuotas: what is wrong is told as by Kafka 4.3.1, and what is right survives a restart."""

from __future__ import annotations

import math

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, RequestEntryData
from tests.broker.client_quotas import Parts, alter, alter_all, describe, entry
from tests.broker.gateway import Client, Gateway

RATE = ("producer_byte_rate", 1_000.0)


@pytest.mark.parametrize(
    ("entity", "key", "value", "message"),
    [
        ({}, "producer_byte_rate", 1, "Invalid empty client quota entity"),
        ({"user": ""}, "producer_byte_rate", 1, "Empty user not supported"),
        ({"foo": "x"}, "producer_byte_rate", 1, "Unhandled client quota entity type: foo"),
        (
            {"user": "x", "ip": "1.2.3.4"},
            "connection_creation_rate",
            5,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            {"ip": "no such host"},
            "connection_creation_rate",
            5,
            "no such host is not a valid IP or resolvable host.",
        ),
        (
            {"ip": "1.2.3.4"},
            "connection_creation_rate",
            0,
            "Quota connection_creation_rate must be greater than 0",
        ),
        ({"user": "a"}, "connection_creation_rate", 5, "Invalid configuration key connection_creation_rate"),
        ({"ip": "::1"}, "producer_byte_rate", 5, "Invalid configuration key producer_byte_rate"),
        ({"user": "a"}, "foo", 5, "Invalid configuration key foo"),
        ({"user": "a"}, "producer_byte_rate", -1, "Quota producer_byte_rate must be greater than 0"),
        ({"user": "a"}, "producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value."),
        (
            {"user": "a"},
            "producer_byte_rate",
            1e19,
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        (
            {"ip": "1.2.3.4"},
            "connection_creation_rate",
            3e9,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        ({"user": "a"}, "request_percentage", 0, "Quota request_percentage must be greater than 0"),
        ({"user": "a"}, "request_percentage", math.nan, "Quota request_percentage must be a number"),
    ],
)
def test_what_is_wrong_is_told_as_by_kafka(
    client: Client, entity: Parts, key: str, value: float, message: str
) -> None:
    (result,) = alter(client, entity, (key, value))
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert describe(client) == []


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        ({"user": "a"}, "producer_byte_rate", 1.0000001),
        ({"user": None, "client-id": None}, "consumer_byte_rate", 1),
        ({"client-id": "c"}, "request_percentage", 0.5),
        ({"user": "a/b %é"}, "controller_mutation_rate", math.inf),
        ({"ip": None}, "connection_creation_rate", 7),
        ({"ip": "2001:db8::1"}, "connection_creation_rate", 7),
    ],
)
def test_what_kafka_takes_is_stored(gateway: Gateway, entity: Parts, key: str, value: float) -> None:
    client = gateway.client()
    (result,) = alter(client, entity, (key, value))
    assert (result.error_code, result.error_message) == (0, None)
    assert {part.entity_type: part.entity_name for part in result.entity} == entity
    gateway.restart()
    assert describe(gateway.client()) == [(entity, {key: value})]


def test_quotas_are_changed_one_by_one_and_removed(client: Client) -> None:
    alter(client, {"user": "a"}, RATE, ("request_percentage", 5))
    alter(client, {"user": "a"}, ("request_percentage", None), ("consumer_byte_rate", 2))
    assert describe(client) == [({"user": "a"}, {"producer_byte_rate": 1_000.0, "consumer_byte_rate": 2.0})]
    alter(client, {"user": "a"}, ("producer_byte_rate", None), ("consumer_byte_rate", None))
    assert describe(client) == []


def test_what_is_not_there_may_be_removed(client: Client) -> None:
    results = alter(client, {"user": "a"}, ("producer_byte_rate", None), ("foo", None))
    assert results[0].error_code == 0
    assert alter(client, {"user": "a"})[0].error_code == 0


def test_an_entity_named_twice_keeps_its_first_change_and_is_refused(client: Client) -> None:
    (result,) = alter_all(client, entry({"user": "b"}, RATE), entry({"user": "b"}, ("producer_byte_rate", 2)))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.error_message == "Ignoring duplicate entity ClientQuotaEntity(entries={user=b})"
    assert describe(client) == [({"user": "b"}, {"producer_byte_rate": 1_000.0})]


def test_a_key_given_twice_changes_nothing(client: Client) -> None:
    (result,) = alter(client, {"user": "b"}, RATE, ("producer_byte_rate", 2))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert describe(client) == []


def test_one_that_is_wrong_does_not_concern_the_others(client: Client) -> None:
    results = alter_all(client, entry({"user": "c"}, RATE, ("foo", 1)), entry({"user": "d"}, RATE))
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST, 0]
    assert describe(client) == [({"user": "d"}, {"producer_byte_rate": 1_000.0})]


def test_of_two_parts_of_one_type_the_last_counts(client: Client) -> None:
    parts = [EntityData(entity_type="user", entity_name=name) for name in "xy"]
    request = AlterClientQuotasRequest(
        entries=[RequestEntryData(entity=parts, ops=entry({}, RATE).ops)], validate_only=False
    )
    assert client.call(request, 0).entries[0].error_code == 0
    assert describe(client) == [({"user": "y"}, {"producer_byte_rate": 1_000.0})]


def test_validate_only_changes_nothing(client: Client) -> None:
    good, bad = alter_all(
        client, entry({"user": "a"}, RATE), entry({"user": "b"}, ("foo", 1)), validate_only=True
    )
    assert (good.error_code, bad.error_code) == (0, ErrorCode.INVALID_REQUEST)
    assert describe(client) == []


def test_quotas_that_a_crash_has_lost_were_not_acknowledged(gateway: Gateway) -> None:
    client = gateway.client()
    alter(client, {"user": "a"}, RATE)
    client.send(AlterClientQuotasRequest(entries=[entry({"user": "b"}, RATE)], validate_only=False), 1)
    assert client.answers() == []
    gateway.crash()
    known = [entity for entity, _ in describe(gateway.client())]
    assert {"user": "a"} in known


def test_very_many_entities_are_changed_in_slices_and_described(gateway: Gateway) -> None:
    client = gateway.client()
    entries = [entry({"user": f"u{number}"}, RATE) for number in range(3_000)]
    assert all(result.error_code == 0 for result in alter_all(client, *entries))
    assert len(describe(client)) == 3_000
