"""The layers of a configuration, the value in effect, and how it is shown: the cases seen on Kafka 4.3.1."""

from __future__ import annotations

import logging

import pytest

from broker.config.config import config_of
from broker.config.config_keys import ConfigError
from broker.config.config_layers import (
    checked_together,
    dynamic_key,
    is_changeable,
    layered,
    server_key,
    shown,
)
from broker.config.kafka_keys import KAFKA_KEYS
from broker.config.server_keys import KEYS

STATIC = config_of({"message.max.bytes": 5000, "log.retention.hours": 7})


def chain(
    *names: str, cluster: dict[str, str] | None = None, node: dict[str, str] | None = None
) -> list[object]:
    synonyms = layered(STATIC, cluster=cluster, node=node).synonyms(*names)
    return [(synonym.name, synonym.value, int(synonym.source)) for synonym in synonyms]


def test_the_topmost_layer_that_has_a_key_decides() -> None:
    both = layered(STATIC, cluster={"message.max.bytes": "1"}, node={"message.max.bytes": "2"})
    assert both.current.message_max_bytes == 2
    assert layered(STATIC, cluster={"message.max.bytes": "1"}).current.message_max_bytes == 1
    assert layered(STATIC).current.message_max_bytes == 5000
    assert layered(STATIC).value("num.io.threads") == 8
    assert layered(STATIC, cluster={"num.io.threads": "9"}).value("num.io.threads") == 9
    assert both.value("message.max.bytes") == 2


def test_what_clients_set_is_not_told_as_the_operators() -> None:
    layers = layered(config_of({}), node={"message.max.bytes": "2"})
    assert "message.max.bytes" not in layers.current.set_by_operator


def test_synonyms_begin_with_the_value_that_holds() -> None:
    assert chain(
        "message.max.bytes", cluster={"message.max.bytes": "1"}, node={"message.max.bytes": "2"}
    ) == [
        ("message.max.bytes", "2", 2),
        ("message.max.bytes", "1", 3),
        ("message.max.bytes", "5000", 4),
        ("message.max.bytes", "1048588", 5),
    ]


def test_a_fallback_is_listed_only_behind_a_value_of_the_key_itself() -> None:
    names = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert chain(*names) == []
    assert chain(*names, cluster={"log.retention.ms": "300000"}) == [
        ("log.retention.ms", "300000", 3),
        ("log.retention.hours", "7", 4),
        ("log.retention.hours", "168", 5),
    ]


def test_a_setting_that_no_longer_holds_is_reported_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        layers = layered(
            STATIC, node={"no.such": "1", "message.max.bytes": "x", "node.id": "3", "log.retention.ms": "5"}
        )
    assert dict(layers.node) == {"log.retention.ms": "5"}
    assert layers.current.log_retention_ms == 5
    assert layers.current.message_max_bytes == 5000
    assert len(caplog.records) == 3


def test_a_key_is_found_wherever_it_is_from() -> None:
    assert server_key("kawal.vnodes") is KEYS["kawal.vnodes"]
    assert server_key("num.io.threads") is KAFKA_KEYS["num.io.threads"]
    assert server_key("no.such") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("node.id", r"Cannot update these configs dynamically: \[node.id\]"),
        (
            "num.network.thread",
            "Unknown broker config name: num.network.thread; did you mean 'num.network.threads'",
        ),
        ("sasl.login.class", r"Cannot update these configs dynamically: \[sasl.login.class\]"),
        ("sasl.kerberos.service.name", "protects a Kafka broker"),
        ("ssl.keystore.location", r"Cannot update these configs dynamically: \[ssl.keystore.location\]"),
    ],
)
def test_what_cannot_be_changed_says_why(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        dynamic_key(name)
    assert caught.match("") is not None
    import re

    assert re.search(message, caught.value.for_client)


def test_changeable_keys_are_told_apart() -> None:
    assert is_changeable(KEYS["message.max.bytes"])
    assert is_changeable(KAFKA_KEYS["num.io.threads"])
    assert not is_changeable(KEYS["node.id"])
    assert not is_changeable(KAFKA_KEYS["sasl.kerberos.service.name"])
    assert not is_changeable(KEYS["ssl.keystore.location"])


@pytest.mark.parametrize(
    "name",
    [
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.window.jitter",
    ],
)
def test_clients_may_say_when_a_broker_renews_its_own_logins(name: str) -> None:
    assert is_changeable(KAFKA_KEYS[name])
    assert dynamic_key(name) is KAFKA_KEYS[name]


def test_addresses_are_shown_with_their_security_protocol() -> None:
    assert shown(KEYS["listeners"], ("127.0.0.1:9092",)) == "PLAINTEXT://127.0.0.1:9092"
    assert shown(KEYS["advertised.listeners"], ()) is None
    assert shown(KEYS["message.max.bytes"], 5) == "5"


def test_a_chain_is_computed_once() -> None:
    layers = layered(STATIC)
    names = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert layers.synonyms(*names) is layers.synonyms(*names)
    assert layers.synonyms("message.max.bytes") is layers.synonyms("message.max.bytes")
    assert layers.synonyms("log.retention.hours") != layers.synonyms(*names)


def test_settings_of_clients_that_the_operator_has_made_impossible_are_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    longest, shortest = "group.consumer.max.session.timeout.ms", "group.consumer.min.session.timeout.ms"
    static = config_of({"group.consumer.session.timeout.ms": "30000"})
    layers = layered(static, cluster={longest: "20000", "message.max.bytes": "7"}, node={shortest: "7000"})
    assert layers.current == static
    assert layers.cluster == layers.node == {}
    assert "settings made by clients are ignored: invalid value '30000'" in caplog.text
    own = layered(config_of({}), cluster={shortest: "13000", "message.max.bytes": "7"})
    assert (dict(own.cluster), own.current.message_max_bytes) == ({"message.max.bytes": "7"}, 7)


def test_settings_are_checked_together_with_those_that_hold() -> None:
    layers = layered(config_of({"group.consumer.session.timeout.ms": "30000"}))
    checked_together(layers, {"group.consumer.max.session.timeout.ms": "30000", "num.io.threads": "3"})
    with pytest.raises(ConfigError, match=r"max\.session\.timeout\.ms"):
        checked_together(layers, {"group.consumer.max.session.timeout.ms": "29999"})
