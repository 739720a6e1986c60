"""A topic that only the server writes: it is made once, and each batch has one outcome."""

from __future__ import annotations

import errno

import pytest

from broker.catalogue.topic import LEDGERS_TOPIC
from broker.upkeep.server_topic import ServerTopic
from protocol.record_reader import Record
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import read
from wal.memory_faults import failing


@pytest.fixture
def topic(gateway: Gateway) -> ServerTopic:
    topic = ServerTopic(gateway.broker, gateway.broker, LEDGERS_TOPIC)
    assert topic.create(gateway.now_ms)
    assert topic.topic is not None
    assert topic.partition is None, "its record is not durable yet"
    gateway.settle()
    return topic


def append(topic: ServerTopic, gateway: Gateway, outcomes: list[bool]) -> None:
    assert topic.partition is not None
    topic.append(topic.partition, [Record(0, 5, b"k", b"v")], outcomes.append, gateway.now_ms)


def test_a_batch_is_durable_before_that_is_told(topic: ServerTopic, gateway: Gateway, client: Client) -> None:
    outcomes: list[bool] = []
    append(topic, gateway, outcomes)
    assert (topic.is_busy, outcomes) == (True, [])
    gateway.settle()

    assert (topic.is_busy, outcomes) == (False, [True])
    assert read(client, LEDGERS_TOPIC) == [b"v"]


def test_a_batch_that_was_lost_is_told_and_the_next_one_may_come(
    topic: ServerTopic, gateway: Gateway
) -> None:
    outcomes: list[bool] = []
    append(topic, gateway, outcomes)
    gateway.disk.faults.append(failing("sync", errno.EIO))
    gateway.settle()
    gateway.disk.faults.clear()
    gateway.advance(5_000)
    assert (topic.is_busy, outcomes) == (False, [False])
    append(topic, gateway, outcomes)
    gateway.settle()

    assert outcomes == [False, True]


def test_a_topic_that_is_there_already_is_not_created(topic: ServerTopic, gateway: Gateway) -> None:
    assert not topic.create(gateway.now_ms)


def test_of_several_nodes_the_controller_alone_creates_it() -> None:
    cluster = Cluster(2)
    topics = [ServerTopic(node.broker, node.broker, LEDGERS_TOPIC) for node in cluster]
    assert not topics[1].create(cluster[1].now_ms)
    assert topics[0].create(cluster[0].now_ms)
    cluster.settle()
    assert [topic.topic is not None for topic in topics] == [True, True]
    assert [topic.partition is not None for topic in topics].count(True) == 1, "its leader has it"
