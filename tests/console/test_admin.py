"""Administrative requests, and what can be wrong with the broker they go to."""

from __future__ import annotations

from typing import Any

import pytest

from console import admin
from console.admin import address_of_node, addresses, check, describe_cluster
from console.errors import CommandError
from console.wire import NotKawal
from protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.console.gateway import connect


def test_a_node_is_found_by_its_id_or_leads_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, node_id=7)
    assert address_of_node("here:1", None) == ("7", "gateway:9092")
    assert address_of_node("here:1", "7") == ("7", "gateway:9092")
    with pytest.raises(CommandError, match=r"no broker '9'; the brokers of here:1 are 7"):
        address_of_node("here:1", "9")


@pytest.mark.usefixtures("gateway")
def test_addresses_of_ipv6_have_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    real = describe_cluster("here:1")
    real.brokers[0].host = "::1"
    monkeypatch.setattr(admin, "describe_cluster", lambda _: real)
    assert address_of_node("here:1", None)[1] == "[::1]:9092"


def test_each_broker_is_asked_by_its_address_and_the_only_one_by_the_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = [MetadataResponseBroker(node_id=n, host=host, port=n) for n, host in ((1, "a"), (2, "::1"))]
    answer = MetadataResponse(brokers=brokers[:1], topics=[])
    monkeypatch.setattr(admin, "ask", lambda *_: answer)
    assert addresses("here:1") == ["here:1"]
    answer.brokers = brokers
    assert addresses("here:1") == ["a:1", "[::1]:2"]


def test_a_server_that_does_not_know_the_request_is_told_to_be_too_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def close(*_: Any) -> None:
        raise NotKawal("closed")

    monkeypatch.setattr(admin, "ask_server", close)
    with pytest.raises(
        CommandError, match="here:1 closed the connection on DescribeCluster v0: it is not a Kafka"
    ):
        describe_cluster("here:1")


def test_an_error_names_the_thing_and_the_brokers_reason() -> None:
    check(0, None, "topic 'a'")
    with pytest.raises(CommandError, match="topic 'a': too many"):
        check(37, "too many", "topic 'a'")
    with pytest.raises(CommandError, match=r"topic 'a': .+"):
        check(3, None, "topic 'a'")


def test_every_topic_is_listed(gateway: Gateway) -> None:
    create(gateway.client(), "orders", 2)
    (topic,) = admin.all_topics("h:1")
    assert (topic.name, len(topic.partitions), topic.is_internal) == ("orders", 2, False)
