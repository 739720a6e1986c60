"""DescribeConfigs: the values in effect, their sources and their meaning."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broker.config.config_keys import ConfigSource
from broker.config.topic_keys import TOPIC_KEYS
from broker.handlers import describe_configs
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create

TOPIC, BROKER = 2, 4


@pytest.fixture
def client() -> Client:
    client = Gateway().client()
    create(client, "t", retention_ms="5000")
    return client


def ask(
    client: Client,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=synonyms, include_documentation=documentation
    )
    (result,) = client.call(request, version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def entries(result: Any) -> dict[str, Any]:
    assert result.error_code == 0, result
    return {entry.name: entry for entry in result.configs}


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topics_configs_are_all_listed(client: Client, version: int) -> None:
    listed = entries(ask(client, TOPIC, "t", version=version))
    assert set(listed) == set(TOPIC_KEYS)
    own, default = listed["retention.ms"], listed["cleanup.policy"]
    assert (own.value, own.config_source) == ("5000", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert (default.value, default.config_source) == ("delete", ConfigSource.DEFAULT_CONFIG)
    assert not any(entry.read_only or entry.is_sensitive for entry in listed.values())


@pytest.mark.parametrize("keys", [None, []])
def test_no_keys_mean_all_keys(client: Client, keys: list[str] | None) -> None:
    assert len(entries(ask(client, TOPIC, "t", keys))) == len(TOPIC_KEYS)


def test_only_the_keys_asked_for_are_told_and_unknown_ones_are_not(client: Client) -> None:
    assert set(entries(ask(client, TOPIC, "t", ["retention.ms", "no.such.key"]))) == {"retention.ms"}


def test_synonyms_types_and_documentation_come_when_asked_for(client: Client) -> None:
    bare = entries(ask(client, TOPIC, "t"))["retention.ms"]
    assert (bare.synonyms, bare.documentation) == ([], None)
    full = entries(ask(client, TOPIC, "t", synonyms=True, documentation=True))["retention.ms"]
    assert full.synonyms[0].name == "retention.ms"
    assert full.synonyms[0].value == "5000"
    assert full.documentation
    assert full.config_type == 5  # LONG


def test_a_brokers_configs_are_those_of_this_node(client: Client) -> None:
    listed = entries(ask(client, BROKER, "1"))
    assert listed["num.partitions"].value == "4"
    assert listed["node.id"].read_only
    assert len(listed) > 150


@pytest.mark.parametrize("name", ["2", "x", "-1"])
def test_other_nodes_are_refused(client: Client, name: str) -> None:
    result = ask(client, BROKER, name)
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.configs == []


def test_the_defaults_of_all_nodes_are_none(client: Client) -> None:
    assert entries(ask(client, BROKER, "")) == {}


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (77, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_there_is_refused(client: Client, kind: int, name: str, code: ErrorCode) -> None:
    result = ask(client, kind, name)
    assert (result.error_code, result.configs) == (code, [])


def test_an_answer_has_no_more_configs_than_memory_allows(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe_configs, "ENTRIES_MAX", 150)
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=None)
        for _ in range(30)
    ]
    results = client.call(DescribeConfigsRequest(resources=resources), 4).results
    assert results[0].error_code == ErrorCode.NONE
    assert len(results[0].configs) == len(entries(ask(client, TOPIC, "t")))
    assert [result.error_code for result in results[10:]] == [ErrorCode.INVALID_REQUEST] * 20
    assert results[-1].configs == []


def test_an_answer_has_no_more_than_fits_into_the_memory_for_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(describe_configs, "RESULT_BYTES", 1 << 20)
    client = Gateway(queued_max_request_bytes=10 << 20).client()
    create(client, "t")
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=None)
    results = client.call(DescribeConfigsRequest(resources=[resource] * 30), 4).results
    answered = [bool(result.configs) for result in results]
    assert answered == [True] * 4 + [False] * 26, "half of the memory is for one address"
    assert {(result.error_code, result.error_message) for result in results[4:]} == {
        (42, "the memory for requests is full (queued.max.request.bytes); ask for less, or later")
    }
    assert client.call(DescribeConfigsRequest(resources=[resource]), 4).results[0].error_code == 0


def test_wide_requests_are_served_one_after_another_and_narrow_ones_beside_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(describe_configs, "WIDE_RESOURCES", 100)
    gateway = Gateway()
    clients = [gateway.client() for _ in range(3)]
    create(clients[0], "t")
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=None)
    for client in clients:
        client.send(DescribeConfigsRequest(resources=[resource] * 100), 4)
    assert not any(client.answers() for client in clients)
    for _ in clients:
        gateway.broker.scheduler.run()
    assert gateway.broker.memory.wide.line_length(ApiKey.DESCRIBE_CONFIGS) == 2
    assert ask(gateway.client(), TOPIC, "t").error_code == 0
    gateway.settle()
    for client in clients:
        (answer,) = client.answers()
        assert [bool(result.configs) for result in answer.results] == [True] * 100


def test_the_defaults_of_many_topics_are_in_memory_once(client: Client) -> None:
    create(client, "u")
    broker = client.gateway.broker
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
            for name in ("t", "u")
        ]
    )
    roomy = SimpleNamespace(may_keep=lambda _size: True, weigh=lambda *_: None)
    call: Any = SimpleNamespace(request=request, weight_bytes=0, connection=roomy)
    shown = describe_configs._Entries(call)
    first, second = (describe_configs._describe(broker, request, asked, shown) for asked in request.resources)
    shared = [a is b for a, b in zip(first.configs, second.configs, strict=True)]
    assert shared.count(False) == 1, "retention.ms is set for one of them"
