"""OffsetForLeaderEpoch: the end of the only epoch."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, send


@pytest.fixture
def client() -> Client:
    client = Gateway().client()
    create(client, "t")
    send(client, "t", batch(b"a", b"b", b"c"))
    return client


def ask(
    client: Client, epoch: int, *, topic: str = "t", partition: int = 0, current: int = -1, version: int = 4
) -> Any:
    asked = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    )
    return client.call(request, version).topics[0].partitions[0]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_epoch_0_ends_where_the_log_does(client: Client, version: int) -> None:
    found = ask(client, 0, version=version)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 3)


@pytest.mark.parametrize("epoch", [1, -1, 99])
def test_other_epochs_never_were(client: Client, epoch: int) -> None:
    found = ask(client, epoch)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, -1, -1)


@pytest.mark.parametrize(("current", "code"), [(0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_the_callers_idea_of_the_epoch_is_checked(client: Client, current: int, code: int) -> None:
    assert ask(client, 0, current=current).error_code == code


def test_what_does_not_exist_is_unknown(client: Client) -> None:
    for found in (ask(client, 0, topic="none"), ask(client, 0, partition=1), ask(client, 0, partition=-1)):
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (found.leader_epoch, found.end_offset) == (-1, -1)
