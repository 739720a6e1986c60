"""ListConfigResources: the names of resources that have configurations."""

from __future__ import annotations

import pytest

from broker.catalogue.catalogue_records import GroupConfigs
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture(scope="module")
def client() -> Client:
    gateway = Gateway()
    made = gateway.client()
    create(made, "a")
    create(made, "b")
    gateway.broker.metadata_log.append(GroupConfigs(group="g", configs={"x": "1"}), gateway.now_ms)
    gateway.settle()
    return made


def names(client: Client, *types: int) -> list[tuple[str, int]]:
    answer = client.call(ListConfigResourcesRequest(resource_types=list(types)), 1)
    assert answer.error_code == 0
    return [(resource.resource_name, resource.resource_type) for resource in answer.config_resources]


def test_no_type_asks_for_all(client: Client) -> None:
    assert names(client) == [("g", GROUP), ("1", LOGGER), ("1", BROKER), ("a", TOPIC), ("b", TOPIC)]


def test_types_are_asked_for_one_by_one(client: Client) -> None:
    assert names(client, TOPIC, TOPIC) == [("a", TOPIC), ("b", TOPIC)]
    assert names(client, BROKER) == [("1", BROKER)]
    assert names(client, LOGGER) == [("1", LOGGER)]
    assert names(client, METRICS) == []
    assert names(client, GROUP, TOPIC) == [("g", GROUP), ("a", TOPIC), ("b", TOPIC)]


@pytest.mark.parametrize("types", [[3], [TOPIC, 99], [0], [-1]])
def test_an_unknown_type_is_refused(client: Client, types: list[int]) -> None:
    answer = client.call(ListConfigResourcesRequest(resource_types=types), 1)
    assert (answer.error_code, answer.config_resources) == (35, [])


def test_the_first_version_knows_client_metrics_only(client: Client) -> None:
    answer = client.call(ListConfigResourcesRequest(), 0)
    assert (answer.error_code, answer.config_resources) == (0, [])
