"""The broker is the interface to its metadata."""

from __future__ import annotations

from broker.catalogue.metadata import Metadata
from tests.broker.gateway import Gateway
from tests.broker.kit import create


def test_a_broker_is_metadata() -> None:
    gateway = Gateway(message_max_bytes=5_000)
    metadata: Metadata = gateway.broker
    create(gateway.client(), "t", 3)
    topic = metadata.catalogue.find("t")
    assert topic is not None
    assert metadata.topics.partition(topic, 2).index == 2
    assert metadata.config is metadata.live_config.current
    assert metadata.config.message_max_bytes == 5_000


def test_changes_made_through_it_are_recorded() -> None:
    gateway = Gateway()
    metadata: Metadata = gateway.broker
    durable: list[object] = []
    metadata.metadata_log.when_durable(durable.append, gateway.now_ms)
    assert durable == [None]
