"""DescribeConfigs of values that clients have set: for a node, all nodes, groups and loggers."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.catalogue_records import BrokerConfigs, GroupConfigs
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 32


@pytest.fixture(scope="module")
def client() -> Client:
    gateway = Gateway()
    made = gateway.client()
    create(made, "t", retention_ms="5")
    for record in (
        BrokerConfigs(broker_id="", configs={"message.max.bytes": "1", "num.io.threads": "2"}),
        BrokerConfigs(broker_id="1", configs={"message.max.bytes": "3"}),
        GroupConfigs(group="g", configs={"kawal.retention.important": "true"}),
    ):
        gateway.broker.metadata_log.append(record, gateway.now_ms)
    gateway.settle()
    return made


def ask(client: Client, kind: int, name: str, *keys: str, version: int = 4, **options: bool) -> Any:
    asked = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True, **options)
    return client.call(request, version).results[0]


def told(result: Any) -> dict[str, tuple[str | None, int, bool]]:
    return {entry.name: (entry.value, entry.config_source, entry.read_only) for entry in result.configs}


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_nodes_settings_cover_those_of_all_nodes(client: Client, version: int) -> None:
    result = ask(client, BROKER, "1", "message.max.bytes", "num.io.threads", "node.id", version=version)
    assert (result.error_code, result.error_message) == (0, "")
    assert told(result) == {
        "message.max.bytes": ("3", 2, False),
        "num.io.threads": ("2", 3, False),
        "node.id": ("1", 5, True),
    }
    chain = [(synonym.name, synonym.value, synonym.source) for synonym in result.configs[0].synonyms]
    assert chain == [
        ("message.max.bytes", "3", 2),
        ("message.max.bytes", "1", 3),
        ("message.max.bytes", "1048588", 5),
    ]


def test_of_all_nodes_only_what_was_set_is_told(client: Client) -> None:
    assert told(ask(client, BROKER, "")) == {
        "message.max.bytes": ("1", 3, False),
        "num.io.threads": ("2", 3, False),
    }


def test_what_would_protect_a_kafka_broker_cannot_be_set(client: Client) -> None:
    assert told(ask(client, BROKER, "1", "ssl.keystore.password"))["ssl.keystore.password"][2]


def test_a_group_has_all_keys_whether_it_was_configured_or_not(client: Client) -> None:
    own, other = told(ask(client, GROUP, "g")), told(ask(client, GROUP, "never-seen"))
    assert own.keys() == other.keys()
    assert own["kawal.retention.important"] == ("true", 8, False)
    assert other["kawal.retention.important"] == ("false", 5, False)


def test_loggers_are_told_with_their_levels(client: Client) -> None:
    result = ask(client, LOGGER, "1", include_documentation=True)
    assert {"root", "kawal.broker"} <= told(result).keys()
    assert {(config.config_source, config.read_only, config.config_type) for config in result.configs} == {
        (6, False, 0)
    }
    assert told(ask(client, LOGGER, "1", "root")).keys() == {"root"}


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "x", 42, "Broker id must be an integer, but it is: x"),
        (GROUP, "", 42, "Group name must not be empty"),
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
    ],
)
def test_what_is_not_there_is_refused_in_kafkas_words(
    client: Client, kind: int, name: str, code: int, message: str
) -> None:
    result = ask(client, kind, name)
    assert (result.error_code, result.error_message, result.configs) == (code, message, [])
