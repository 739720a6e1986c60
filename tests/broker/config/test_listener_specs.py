"""Listeners as Kafka's keys describe them, and the configurations that no server starts with."""

from typing import Any

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.endpoints import Endpoint
from broker.config.listener_specs import (
    ListenerSpec,
    SecurityProtocol,
    addresses_problem,
    parse_address,
    parse_protocol_map,
    protocol_map_problem,
    unencrypted,
)

INSIDE_AND_OUTSIDE = {"listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT"}


def specs(**settings: Any) -> tuple[ListenerSpec, ...]:
    return config_of({name.replace("_", "."): value for name, value in settings.items()}).specs


def test_a_listener_has_its_name_protocol_and_addresses() -> None:
    (inside, outside) = config_of(
        INSIDE_AND_OUTSIDE
        | {
            "listeners": "in://127.0.0.1:9092,OUT://[::1]:9093",
            "advertised.listeners": "Out://kafka.example:19093",
        }
    ).specs
    assert inside == ListenerSpec("IN", SecurityProtocol.PLAINTEXT, Endpoint("127.0.0.1", 9092), None)
    assert outside.advertised == Endpoint("kafka.example", 19093)
    assert outside.text == "OUT://[::1]:9093"


def test_the_short_form_is_a_listener_without_security() -> None:
    assert specs() == (
        ListenerSpec("PLAINTEXT", SecurityProtocol.PLAINTEXT, Endpoint("127.0.0.1", 9092), None),
    )
    named = specs(listeners="127.0.0.1:9092", advertised_listeners="PLAINTEXT://kafka.example:1")
    assert named[0].advertised == Endpoint("kafka.example", 1)


def test_port_0_may_be_given_to_several_listeners() -> None:
    config = config_of(INSIDE_AND_OUTSIDE | {"listeners": "IN://127.0.0.1:0,OUT://127.0.0.1:0"})
    assert [spec.endpoint.port for spec in config.specs] == [0, 0]


def test_one_port_serves_an_ipv4_and_an_ipv6_address() -> None:
    both = INSIDE_AND_OUTSIDE | {"listeners": "IN://127.0.0.1:9092,OUT://[::1]:9092"}
    assert len(config_of(both).specs) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"listeners": "IN://127.0.0.1:1,IN://127.0.0.1:2"}, "two listeners are called IN"),
        ({"listeners": "127.0.0.1:1,PLAINTEXT://127.0.0.1:2"}, "two listeners are called PLAINTEXT"),
        ({"listeners": "IN://127.0.0.1:1,OUT://127.0.0.2:1"}, "port 1 is given twice"),
        ({"listeners": "NEW://127.0.0.1:1"}, r"'NEW'.*listener.security.protocol.map.*NEW:SASL_SSL"),
        ({"listeners": "IN://127.0.0.1:1", "advertised.listeners": "OUT://a:1"}, "no listener OUT.*IN"),
        ({"listeners": "IN://127.0.0.1:1", "advertised.listeners": "IN://a:1,in://b:1"}, "IN is given twice"),
        ({"advertised.listeners": "0.0.0.0:9092"}, "could connect to"),
        ({"advertised.listeners": "PLAINTEXT://[::]:9092"}, "could connect to"),
        ({"advertised.listeners": "a:1,b:2"}, "2 addresses for 1 listeners"),
        ({"listeners": "a.b://127.0.0.1:1"}, "name before"),
        ({"listeners": "OUT://0.0.0.0:9092"}, "--insecure"),
        ({"listeners": "OUT://:9092"}, "--insecure"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_of(INSIDE_AND_OUTSIDE | settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X", "NAME:PROTOCOL"),
        (":SSL", "NAME:PROTOCOL"),
        ("X:TLS", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("X:SSL, x:PLAINTEXT", "X has two"),
    ],
)
def test_a_map_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_protocol_map(text)
    assert protocol_map_problem(text)


def test_addresses_are_written_as_kafka_writes_them() -> None:
    assert parse_address("127.0.0.1:1").text == "PLAINTEXT://127.0.0.1:1"
    assert parse_address("sasl_ssl://[::1]:1").text == "SASL_SSL://[::1]:1"
    assert addresses_problem(("SSL://h:1", "h:2")) is None
    assert "port" in (addresses_problem(("SSL://h:x",)) or "")


def test_a_protocol_says_what_it_protects() -> None:
    assert [(p.encrypted, p.sasl) for p in SecurityProtocol] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]
    assert Config().specs[0].protocol is SecurityProtocol.PLAINTEXT


@pytest.mark.parametrize(
    ("listener", "risky"),
    [
        ("SASL_PLAINTEXT://0.0.0.0:1", True),
        ("SASL_PLAINTEXT://127.0.0.1:1", False),
        ("PLAINTEXT://127.0.0.1:1", False),
    ],
)
def test_logins_without_encryption_are_a_risk_off_the_loopback(listener: str, risky: bool) -> None:
    (spec,) = config_of({"listeners": listener}).specs
    assert ("not encrypted" in unencrypted(spec)) is risky
