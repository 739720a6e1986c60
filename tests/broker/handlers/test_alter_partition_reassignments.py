"""AlterPartitionReassignments: one node already has all replicas."""

from __future__ import annotations

import pytest

from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create


@pytest.fixture(scope="module")
def client() -> Client:
    made = Gateway().client()
    create(made, "t", 2)
    return made


def reassign(
    client: Client, *items: tuple[str, int, list[int] | None], version: int = 1
) -> list[tuple[int, str | None]]:
    topics = [
        ReassignableTopic(
            name=name, partitions=[ReassignablePartition(partition_index=index, replicas=replicas)]
        )
        for name, index, replicas in items
    ]
    answer = client.call(AlterPartitionReassignmentsRequest(timeout_ms=1000, topics=topics), version)
    assert answer.error_code == 0
    return [
        (partition.error_code, partition.error_message)
        for topic in answer.responses
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_the_replicas_it_has_are_all_it_can_get(client: Client, version: int) -> None:
    assert reassign(client, ("t", 0, [1]), ("t", 0, [1]), version=version) == [(0, None)] * 2


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ([2], "The manual partition assignment includes broker 2, but no such broker is registered."),
        ([1, 2], "The manual partition assignment includes broker 2, but no such broker is registered."),
        ([-1], "The manual partition assignment includes broker -1, but no such broker is registered."),
        ([], "The manual partition assignment includes an empty replica list."),
        ([1, 1], "The manual partition assignment includes the broker 1 more than once."),
    ],
)
def test_other_replicas_are_refused(client: Client, replicas: list[int], message: str) -> None:
    assert reassign(client, ("t", 0, replicas)) == [(39, message)]


def test_there_is_nothing_to_cancel(client: Client) -> None:
    assert reassign(client, ("t", 1, None)) == [(85, None)]


def test_what_is_not_there_is_told(client: Client) -> None:
    answers = reassign(client, ("nope", 0, [1]), ("t", 9, None), ("t", -1, [1]), ("", 0, None))
    assert answers == [
        (3, "Unable to find a topic named nope."),
        (3, "Unable to find partition t:9."),
        (3, "Unable to find partition t:-1."),
        (3, "Unable to find a topic named ."),
    ]
    assert reassign(client) == []
