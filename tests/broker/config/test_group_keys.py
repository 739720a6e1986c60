"""The table of group configurations is Kafka 4.3.1's, followed by ours."""

from __future__ import annotations

import pytest

from broker.config.config_keys import ConfigError, text_of
from broker.config.config_layers import server_key
from broker.config.group_keys import BOUNDS, GROUP_KEYS

KAFKA = {
    "consumer.assignment.interval.ms": "1000",
    "consumer.heartbeat.interval.ms": "5000",
    "consumer.session.timeout.ms": "45000",
    "share.assignment.interval.ms": "1000",
    "share.auto.offset.reset": "latest",
    "share.delivery.count.limit": "5",
    "share.heartbeat.interval.ms": "5000",
    "share.isolation.level": "read_uncommitted",
    "share.partition.max.record.locks": "2000",
    "share.record.lock.duration.ms": "30000",
    "share.renew.acknowledge.enable": "true",
    "share.session.timeout.ms": "45000",
    "streams.assignment.interval.ms": "1000",
    "streams.heartbeat.interval.ms": "5000",
    "streams.initial.rebalance.delay.ms": "3000",
    "streams.num.standby.replicas": "0",
    "streams.session.timeout.ms": "45000",
}
"""The answer of Kafka 4.3.1's DescribeConfigs for a group that was never configured."""


def test_every_key_of_kafka_is_there_with_its_default() -> None:
    ours = {name: text_of(key.default) for name, key in GROUP_KEYS.items()}
    ours = {name: text for name, text in ours.items() if not name.startswith("kawal.")}
    since_4_4 = {name: ours.pop(name) for name in list(ours) if name.startswith("errors.")}
    assert ours == KAFKA
    assert since_4_4 == {
        "errors.deadletterqueue.copy.record.enable": "false",
        "errors.deadletterqueue.topic.name": "",
    }


def test_bounds_name_keys_of_the_server() -> None:
    for name, bounds in BOUNDS.items():
        assert name in GROUP_KEYS
        assert all(server_key(bound) is not None for bound in bounds if bound)


@pytest.mark.parametrize(
    "text", ["earliest", "latest", "by_duration:PT1H", "by_duration:P3DT4H", "by_duration:PT0.5S"]
)
def test_offset_resets_that_kafka_takes(text: str) -> None:
    assert GROUP_KEYS["share.auto.offset.reset"].parse(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "EARLIEST",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:-PT1H",
        "by_duration:P1M",
    ],
)
def test_offset_resets_that_kafka_refuses(text: str) -> None:
    with pytest.raises(ConfigError, match=r"by_duration:<PnDTnHnMn\.nS>"):
        GROUP_KEYS["share.auto.offset.reset"].parse(text)
