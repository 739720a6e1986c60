"""OffsetForLeaderEpoch for epochs that no leader has; the answers are those of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.gateway import Gateway
from tests.broker.handlers.topics import create, produce


@pytest.mark.parametrize(
    ("asked", "epoch", "end"), [(-2, -2, 0), (-1, -1, -1), (0, 0, 3), (1, -1, -1), (-(2**31), -(2**31), 0)]
)
def test_an_epoch_before_all_ends_where_the_log_begins(asked: int, epoch: int, end: int) -> None:
    client = Gateway().client()
    create(client, "t")
    produce(client, "t", 3)
    partition = OffsetForLeaderPartition(partition=0, leader_epoch=asked)
    topic = OffsetForLeaderTopic(topic="t", partitions=[partition])
    answer = client.call(OffsetForLeaderEpochRequest(topics=[topic]), 4).topics[0].partitions[0]
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, epoch, end)
