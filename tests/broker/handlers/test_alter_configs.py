"""AlterConfigs through a whole broker: a resource has exactly what the request says."""

from __future__ import annotations

import pytest

from protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 32


def resource(kind: int, name: str, **settings: str | None) -> AlterConfigsResource:
    lines = [AlterableConfig(name=key.replace("_", "."), value=text) for key, text in settings.items()]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=lines)


def alter(
    client: Client, *resources: AlterConfigsResource, validate_only: bool = False, version: int = 2
) -> list[tuple[int, str | None]]:
    answer = client.call(AlterConfigsRequest(resources=list(resources), validate_only=validate_only), version)
    return [(response.error_code, response.error_message) for response in answer.responses]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_what_is_not_named_is_unset(gateway: Gateway, version: int) -> None:
    client = gateway.client()
    create(client, "t", retention_ms="5", segment_ms="6")
    assert alter(client, resource(TOPIC, "t", retention_ms="7", flush_ms="8"), version=version) == [(0, None)]
    assert gateway.broker.find_topic("t").configs == {"retention.ms": "7", "flush.ms": "8"}
    gateway.crash()
    assert gateway.broker.find_topic("t").configs == {"retention.ms": "7", "flush.ms": "8"}
    assert alter(gateway.client(), resource(TOPIC, "t"), version=version) == [(0, None)]
    assert gateway.broker.find_topic("t").configs == {}


def test_brokers_and_groups_are_replaced_too(gateway: Gateway, client: Client) -> None:
    alter(client, resource(BROKER, "1", message_max_bytes="5", log_retention_ms="6"))
    assert alter(client, resource(BROKER, "1", message_max_bytes="7")) == [(0, None)]
    assert gateway.broker.config.message_max_bytes == 7
    assert gateway.broker.config.log_retention_ms is None
    alter(client, resource(GROUP, "g", consumer_session_timeout_ms="50000"))
    assert alter(client, resource(GROUP, "g", kawal_retention_important="true")) == [(0, None)]
    assert gateway.broker.catalogue.group_configs == {"g": {"kawal.retention.important": "true"}}


def test_validation_changes_nothing(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    assert alter(client, resource(TOPIC, "t", retention_ms="7"), validate_only=True) == [(0, None)]
    assert gateway.broker.find_topic("t").configs == {}


def test_good_and_bad_resources_are_told_apart(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    assert alter(
        client,
        resource(TOPIC, "nope", a="b"),
        resource(TOPIC, "nope2", retention_ms="1"),
        resource(TOPIC, "bad name!"),
        resource(TOPIC, ""),
        resource(TOPIC, "t", retention_ms="1"),
        resource(BROKER, "1", num_partitions="3"),
        resource(LOGGER, "1", root="INFO"),
    ) == [
        (40, "Unknown topic config name: a"),
        (3, "The topic 'nope2' does not exist."),
        (17, "Topic name is invalid: 'bad name!' contains one or more characters other than ASCII"
             " alphanumerics, '.', '_' and '-'"),
        (42, "Default topic resources are not allowed."),
        (0, None),
        (42, "Cannot update these configs dynamically: [num.partitions]"),
        (42, "Unknown resource type 8"),
    ]  # fmt: skip
    assert gateway.broker.find_topic("t").configs == {"retention.ms": "1"}


def test_keys_and_resources_are_named_once_and_with_a_value(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    twice = AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="t",
        configs=[AlterableConfig(name="retention.ms", value=text) for text in ("1", "2")],
    )
    assert alter(client, twice) == [(42, "Error due to duplicate config keys")]
    null = resource(TOPIC, "t", retention_ms=None)
    assert alter(client, null) == [(42, "Null value not supported for : retention.ms")]
    good = resource(TOPIC, "t", retention_ms="1")
    assert alter(client, good, good) == [(42, "Each resource must appear at most once.")] * 2
    assert gateway.broker.find_topic("t").configs == {}


def test_a_request_of_8_mib_with_too_many_settings_closes_its_connection_and_the_log_says_why(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="kawal.broker")
    few = [resource(GROUP, f"g{number}" + "x" * 240, none="1") for number in range(4_000)]
    assert {code for code, _ in alter(client, *few)} == {40}
    line = AlterableConfig(name="retention.ms", value="9" * 145)
    many = AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[line] * 50_000)
    client.send(AlterConfigsRequest(resources=[many], validate_only=False), 2)
    client.gateway.settle()
    assert client.answers() == []
    assert client.connection.close_reason is not None
    assert "AlterConfigsRequest.resources.configs" in caplog.text
    assert "brings the message above 50000 elements" in caplog.text
