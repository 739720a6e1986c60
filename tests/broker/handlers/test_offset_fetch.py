"""OffsetFetch: the durable offsets of one group or several."""

from __future__ import annotations

from typing import Any

import pytest

from groups.offset_fetch import PARTITIONS_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, commit, committed, committing, fetching_offsets
from tests.broker.kit import create

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def offsets_of(group: Any) -> list[int]:
    return [partition.committed_offset for topic in group.topics for partition in topic.partitions]


def test_a_partition_without_a_commit_has_minus_1(client: Client) -> None:
    commit(client, "g", ("t", 0, 5))
    (group,) = client.call(fetching_offsets("g", ("t", 0), ("t", 1)), 9).groups
    assert [
        (partition.committed_offset, partition.metadata, partition.error_code)
        for topic in group.topics
        for partition in topic.partitions
    ] == [(5, "", 0), (-1, "", 0)]


def test_to_v7_one_group_is_asked_for(client: Client) -> None:
    commit(client, "g", ("t", 2, 5))
    asked = OffsetFetchRequestTopic(name="t", partition_indexes=[2])
    answer = client.call(OffsetFetchRequest(group_id="g", topics=[asked]), 7)
    assert answer.topics[0].partitions[0].committed_offset == 5
    everything = client.call(OffsetFetchRequest(group_id="g", topics=None), 7)
    assert [partition.partition_index for partition in everything.topics[0].partitions] == [2]


def test_several_groups_are_answered_one_by_one(client: Client) -> None:
    commit(client, "a", ("t", 0, 1))
    commit(client, "b", ("t", 0, 2))
    asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("a", "b", "unknown")]
    answer = client.call(OffsetFetchRequest(groups=asked), 9)
    assert [
        (
            group.group_id,
            group.error_code,
            [partition.committed_offset for t in group.topics for partition in t.partitions],
        )
        for group in answer.groups
    ] == [("a", 0, [1]), ("b", 0, [2]), ("unknown", 0, [])]


def test_a_commit_on_its_way_is_not_read(gateway: Gateway, client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    client.send(committing("g", ("t", 0, 2)), 9)
    gateway.settle()
    client.answers()
    assert committed(client, "g") == {("t", 0): 2}


@pytest.mark.parametrize(
    ("member_id", "epoch_ahead", "code"),
    [("a", 0, 0), ("a", 1, ErrorCode.STALE_MEMBER_EPOCH), ("stranger", 0, ErrorCode.UNKNOWN_MEMBER_ID)],
)
def test_members_of_the_consumer_protocol_prove_their_epoch(
    client: Client, member_id: str, epoch_ahead: int, code: int
) -> None:
    epoch = client.call(beating("g", "a", topics=["t"]), 1).member_epoch
    asked = OffsetFetchRequestGroup(
        group_id="g", member_id=member_id, member_epoch=epoch + epoch_ahead, topics=None
    )
    (group,) = client.call(OffsetFetchRequest(groups=[asked]), 9).groups
    assert group.error_code == code


def test_very_many_offsets_are_fetched_in_slices_even_while_the_group_commits(
    gateway: Gateway, client: Client
) -> None:
    create(client, "wide", partitions=2_000)
    commit(client, "g", *(("wide", index, index) for index in range(2_000)))
    group = OffsetFetchRequestGroup(group_id="g", topics=None)
    client.send(OffsetFetchRequest(groups=[group], require_stable=False), 9)
    scheduler = gateway.broker.scheduler
    steps = 1
    while scheduler.pending:
        scheduler.run()
        if steps == 3:
            gateway.client().send(committing("g", ("t", 0, 5)), 9)
            while gateway.run_jobs():
                continue
        steps += 1
    assert steps > 2_000 // PARTITIONS_PER_STEP // 2
    (answer,) = client.answers()
    (topic,) = answer.groups[0].topics
    assert [(item.partition_index, item.committed_offset) for item in topic.partitions] == [
        (index, index) for index in range(2_000)
    ]
