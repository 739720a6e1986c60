"""OffsetCommit: the members that may commit, and refusals."""

from __future__ import annotations

import errno
from uuid import UUID

from broker.coordinators.offset_parts import PARTITIONS_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import codes, commit, committed, committing, join
from tests.broker.kit import create, creation
from wal.memory_faults import failing

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_anybody_commits_to_a_group_without_members(client: Client) -> None:
    commit(client, "g", ("t", 0, 5), ("t", 3, 0))
    assert committed(client, "g") == {("t", 0): 5, ("t", 3): 0}


def test_only_members_of_the_generation_commit_to_one_that_has_some(client: Client) -> None:
    member_id, generation = join(client, "g")
    offset = ("t", 0, 5)
    commit(client, "g", offset, member=(member_id, generation))
    for who, code in (
        (("", -1), ErrorCode.UNKNOWN_MEMBER_ID),
        (("stranger", generation), ErrorCode.UNKNOWN_MEMBER_ID),
        ((member_id, generation + 1), ErrorCode.ILLEGAL_GENERATION),
    ):
        assert codes(client.call(committing("g", offset, member=who), 9)) == [code]


def test_topics_that_do_not_exist_are_refused_and_the_others_taken(client: Client) -> None:
    answer = client.call(committing("g", ("unknown", 0, 1), ("t", 0, 2)), 9)
    assert codes(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert committed(client, "g") == {("t", 0): 2}


def test_topics_are_named_by_id_from_v10_on(client: Client) -> None:
    topic_id = create(client, "u")
    place = OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata=None)
    topics = [
        OffsetCommitRequestTopic(topic_id=topic_id, partitions=[place]),
        OffsetCommitRequestTopic(topic_id=UUID(int=7), partitions=[place]),
    ]
    answer = client.call(OffsetCommitRequest(group_id="g", member_id="", topics=topics), 10)
    assert codes(answer) == [0, ErrorCode.UNKNOWN_TOPIC_ID]
    assert committed(client, "g") == {("u", 0): 3}


def test_a_commit_between_two_topics_of_a_name_is_refused_until_the_second_one_is_durable(
    gateway: Gateway, client: Client
) -> None:
    commit(client, "g", ("t", 0, 5))
    admin = gateway.client()
    admin.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    admin.send(CreateTopicsRequest(topics=[creation("t")]), 7)
    client.send(committing("g", ("t", 0, 1)), 9)
    gateway.settle()
    (answer,) = client.answers()
    assert codes(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert {topic.error_code for topic in admin.answers()[1].topics} == {0}
    assert committed(client, "g") == {}
    commit(client, "g", ("t", 0, 1))
    gateway.advance(1_000)
    assert committed(client, "g") == {("t", 0): 1}


def test_long_metadata_are_refused(client: Client) -> None:
    answer = client.call(committing("g", ("t", 0, 1), metadata="x" * 4097), 9)
    assert codes(answer) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


def test_many_offsets_are_one_commit(gateway: Gateway, client: Client) -> None:
    create(client, "wide", partitions=1_000)
    commit(client, "g", *(("wide", index, index) for index in range(1_000)))
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {("wide", index): index for index in range(1_000)}


def test_very_many_offsets_are_committed_a_part_at_a_time_beside_other_requests(
    gateway: Gateway, client: Client
) -> None:
    create(client, "wide", partitions=450)
    offsets = [("wide", index, index) for index in range(450)]
    offsets.insert(300, ("unknown", 0, 1))
    client.send(committing("g", *offsets), 9)
    broker, other = gateway.broker, gateway.client()
    other.send(committing("h", ("t", 0, 7)), 9)
    steps = 0
    while broker.scheduler.pending:
        broker.scheduler.run()
        steps += 1
    assert steps >= 450 // PARTITIONS_PER_STEP
    gateway.settle()
    assert codes(other.answers()[0]) == [0]
    answer = client.answers()[0]
    found = [
        (topic.name, item.partition_index, item.error_code)
        for topic in answer.topics
        for item in topic.partitions
    ]
    expected = [(name, index, 3 if name == "unknown" else 0) for name, index, _ in offsets]
    assert found == expected
    gateway.crash()
    gateway.advance(10)
    assert committed(gateway.client(), "g") == {("wide", index): index for index in range(450)}


def test_parts_of_a_commit_that_are_lost_are_refused(gateway: Gateway, client: Client) -> None:
    create(client, "wide", partitions=450)
    commit(client, "g", ("wide", 0, 1))
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode"))
    answer = client.call(committing("g", *(("wide", index, 9) for index in range(450))), 9)
    found = codes(answer)
    assert len(found) == 450
    assert set(found) <= {0, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE in found
    taken = {("wide", index) for index, code in enumerate(found) if code == 0}
    gateway.crash()
    gateway.advance(2_000)
    stored = committed(gateway.client(), "g")
    assert {place for place, offset in stored.items() if offset == 9} == taken


def test_parts_that_come_after_their_member_has_left_are_refused(gateway: Gateway, client: Client) -> None:
    create(client, "wide", partitions=450)
    member_id, generation = join(client, "g")
    offsets = [("wide", index, index) for index in range(450)]
    client.send(committing("g", *offsets, member=(member_id, generation)), 9)
    assert gateway.broker.scheduler.pending
    other = gateway.client()
    other.send(LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member_id)]), 4)
    gateway.settle()
    assert other.answers()[0].error_code == 0
    found = codes(client.answers()[0])
    before = found.index(ErrorCode.UNKNOWN_MEMBER_ID)
    assert before > 0
    assert set(found[:before]) == {0}
    assert set(found[before:]) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert committed(other, "g") == {("wide", index): index for index in range(before)}
