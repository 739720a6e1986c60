"""Resources that clients alter: the kinds that exist, and the record that keeps each."""

from __future__ import annotations

import pytest

from broker.catalogue.catalogue_records import BrokerConfigs, GroupConfigs, TopicConfigs
from broker.catalogue.config_resources import ResourceType, find_resource, node_id_of
from broker.errors import RequestError
from tests.broker.gateway import Gateway
from tests.broker.handlers.topics import create


@pytest.fixture(scope="module")
def gateway() -> Gateway:
    made = Gateway()
    create(made.client(), "t", retention_ms="5")
    return made


def test_each_resource_is_kept_by_its_own_record(gateway: Gateway) -> None:
    broker = gateway.broker
    topic = find_resource(broker, ResourceType.TOPIC, "t")
    assert topic.own == {"retention.ms": "5"}
    expected = TopicConfigs(topic_id=broker.find_topic("t").topic_id.hex, configs={"a": "b"})
    assert topic.records({"a": "b"}, 5) == [expected]
    node = find_resource(broker, ResourceType.BROKER, "1")
    assert node.records({"a": "b"}, 5) == [BrokerConfigs(broker_id="1", configs={"a": "b"})]
    cluster = find_resource(broker, ResourceType.BROKER, "")
    assert cluster.records({"a": "b"}, 5) == [BrokerConfigs(broker_id="", configs={"a": "b"})]
    group = find_resource(broker, ResourceType.GROUP, "g")
    assert group.records({"a": "b"}, 5) == [GroupConfigs(group="g", configs={"a": "b"})]


def test_lists_that_are_not_set_begin_with_what_holds(gateway: Gateway) -> None:
    broker = gateway.broker
    assert find_resource(broker, ResourceType.TOPIC, "t").inherited("cleanup.policy") == "delete"
    assert find_resource(broker, ResourceType.TOPIC, "t").inherited("kawal.session.headers") == ""
    assert find_resource(broker, ResourceType.BROKER, "1").inherited("log.cleanup.policy") == "delete"
    assert find_resource(broker, ResourceType.GROUP, "g").inherited("anything") == ""


def test_an_unknown_kind_is_refused(gateway: Gateway) -> None:
    for kind in (0, 1, 3, ResourceType.BROKER_LOGGER, 99):
        with pytest.raises(RequestError, match=f"INVALID_REQUEST: Unknown resource type {int(kind)}"):
            find_resource(gateway.broker, kind, "x")


@pytest.mark.parametrize("text", ["", "x", "1.0", "１", " 1", "1" * 20, "-", "+"])  # noqa: RUF001
def test_a_node_is_named_by_a_number(text: str) -> None:
    with pytest.raises(RequestError, match="Node id must be an integer"):
        node_id_of(text)


def test_a_number_may_have_a_sign() -> None:
    assert (node_id_of("-1"), node_id_of("+7"), node_id_of("007")) == (-1, 7, 7)
