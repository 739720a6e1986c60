"""DescribeQuorum: one voter, which leads."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create

CATALOGUE = "__cluster_metadata"


def ask(client: Client, *topics: tuple[str, list[int]], version: int = 2) -> Any:
    asked = [
        RequestTopicData(
            topic_name=name, partitions=[RequestPartitionData(partition_index=index) for index in indexes]
        )
        for name, indexes in topics
    ]
    return client.call(DescribeQuorumRequest(topics=asked), version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_this_node_leads_and_has_everything(version: int) -> None:
    gateway = Gateway(node_id=7)
    client = gateway.client()
    answer = ask(client, (CATALOGUE, [0]), version=version)
    before = answer.topics[0].partitions[0].high_watermark
    create(client, "t")
    answer = ask(client, (CATALOGUE, [0]), version=version)
    quorum = answer.topics[0].partitions[0]
    assert (answer.error_code, quorum.error_code, quorum.leader_id, quorum.leader_epoch) == (0, 0, 7, 0)
    assert quorum.high_watermark > before
    assert quorum.observers == []
    (voter,) = quorum.current_voters
    assert (voter.replica_id, voter.log_end_offset) == (7, quorum.high_watermark)
    fetched_ms = gateway.now_ms if version >= 1 else -1
    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (fetched_ms, fetched_ms)
    listeners = [
        (listener.name, listener.host, listener.port) for node in answer.nodes for listener in node.listeners
    ]
    assert listeners == ([("PLAINTEXT", "gateway", 9092)] if version >= 2 else [])


@pytest.mark.parametrize(
    "topics",
    [
        [("nope", [0])],
        [(CATALOGUE, [1])],
        [(CATALOGUE, [0]), ("nope", [])],
        [(CATALOGUE, [0, 0])],
        [(CATALOGUE, [0]), ("nope", [0])],
    ],
)
def test_anything_else_is_unknown(topics: list[tuple[str, list[int]]]) -> None:
    answer = ask(Gateway().client(), *topics)
    codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
    assert (answer.error_code, set(codes), answer.nodes) == (0, {3}, [])


def test_nothing_asked_is_nothing_answered() -> None:
    client = Gateway().client()
    assert ask(client).topics == []
    assert ask(client, (CATALOGUE, [])).topics[0].partitions == []
