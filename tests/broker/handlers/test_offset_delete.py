"""OffsetDelete: offsets of topics that the group does not subscribe to."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import codes, commit, committed, join
from tests.broker.kit import create

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def deleting(group_id: str, *topics: tuple[str, int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index)]
            )
            for name, index in topics
        ],
    )


def test_offsets_are_forgotten_for_good(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 1), ("t", 1, 2))
    answer = client.call(deleting("g", ("t", 0), ("unknown", 0)), 0)
    assert (answer.error_code, codes(answer)) == (0, [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {("t", 1): 2}


def test_offsets_of_subscribed_topics_stay(client: Client) -> None:
    create(client, "u")
    member = join(client, "g", topics=["t"])
    commit(client, "g", ("t", 0, 1), ("u", 0, 2), member=member)
    answer = client.call(deleting("g", ("t", 0), ("u", 0)), 0)
    assert codes(answer) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0]
    assert committed(client, "g") == {("t", 0): 1}


def test_a_group_that_is_not_there_is_refused(client: Client) -> None:
    assert client.call(deleting("g", ("t", 0)), 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
