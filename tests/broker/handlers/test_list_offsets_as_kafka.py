"""ListOffsets in odd cases; the codes are those of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create, produce


@pytest.fixture
def client() -> Client:
    client = Gateway().client()
    create(client, "t")
    produce(client, "t", 3)
    return client


def codes(client: Client, *asked: tuple[int, int, int], version: int = 9, topic: str = "t") -> list[int]:
    partitions = [
        ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
        for index, timestamp, epoch in asked
    ]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=partitions)])
    (answer,) = client.call(request, version).topics
    return [part.error_code for part in answer.partitions]


def test_a_partition_asked_for_twice_is_refused_once(client: Client) -> None:
    assert codes(client, (0, -1, -1), (0, -2, -1)) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("timestamp", [-7, -(2**63)])
def test_a_negative_timestamp_without_a_meaning_is_refused_first(client: Client, timestamp: int) -> None:
    assert codes(client, (0, timestamp, 5)) == [ErrorCode.UNSUPPORTED_VERSION]
    assert codes(client, (9, timestamp, -1)) == [ErrorCode.UNSUPPORTED_VERSION]
    assert codes(client, (0, timestamp, -1), topic="none") == [ErrorCode.UNSUPPORTED_VERSION]


def test_a_meaning_of_later_versions_is_none_in_earlier_ones(client: Client) -> None:
    assert codes(client, (0, -3, -1), version=7) == [0]
    assert codes(client, (0, -3, -1), version=6) == [ErrorCode.UNSUPPORTED_VERSION]


def test_a_negative_leader_epoch_other_than_none_is_an_old_one(client: Client) -> None:
    assert codes(client, (0, -1, -2)) == [ErrorCode.FENCED_LEADER_EPOCH]
