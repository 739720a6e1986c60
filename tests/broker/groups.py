"""Short forms of the requests that tests of groups send: joins, commits, reads of committed offsets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from protocol.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.broker.gateway import Client


def joining(
    group_id: str, member_id: str = "", *, topics: Iterable[str] = ("t",), session_ms: int = 10_000
) -> JoinGroupRequest:
    """Return a classic consumer's request to join."""
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=list(topics)))
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=20_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def syncing(group_id: str, member_id: str, generation: int, **assignments: bytes) -> SyncGroupRequest:
    """Return a member's request for its assignment; the leader's gives one to each member."""
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=generation,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            SyncGroupRequestAssignment(member_id=name, assignment=blob) for name, blob in assignments.items()
        ],
    )


def join(client: Client, group_id: str, *, topics: Iterable[str] = ("t",)) -> tuple[str, int]:
    """Join a group as its only member, with an assignment; return member id and generation.

    `group.initial.rebalance.delay.ms` must be 0.
    """
    member_id = client.call(joining(group_id, topics=topics), 4).member_id
    joined = client.call(joining(group_id, member_id, topics=topics), 4)
    assert joined.error_code == 0, joined
    synced = client.call(syncing(group_id, member_id, joined.generation_id, **{member_id: b"mine"}), 5)
    assert (synced.error_code, synced.assignment) == (0, b"mine")
    return member_id, joined.generation_id


def committing(
    group_id: str, *offsets: tuple[str, int, int], member: tuple[str, int] = ("", -1), metadata: str = ""
) -> OffsetCommitRequest:
    """Return a commit of each (topic, partition, offset)."""
    return OffsetCommitRequest(
        group_id=group_id,
        member_id=member[0],
        generation_id_or_member_epoch=member[1],
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=metadata
                    )
                ],
            )
            for topic, index, offset in offsets
        ],
    )


def codes(answer: Any) -> list[int]:
    """Return the error of every partition of an answer, in order."""
    return [partition.error_code for topic in answer.topics for partition in topic.partitions]


def commit(
    client: Client, group_id: str, *offsets: tuple[str, int, int], member: tuple[str, int] = ("", -1)
) -> None:
    """Commit each (topic, partition, offset); all must be accepted."""
    answer = client.call(committing(group_id, *offsets, member=member), 9)
    assert codes(answer) == [0] * len(offsets), answer


def fetching_offsets(group_id: str, *topics: tuple[str, int]) -> OffsetFetchRequest:
    """Return a request for the offset committed in each (topic, partition), or in all if none is given."""
    asked = [OffsetFetchRequestTopics(name=topic, partition_indexes=[index]) for topic, index in topics]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=asked or None)])


def committed(client: Client, group_id: str) -> dict[tuple[str, int], int]:
    """Return all offsets that a group has committed, by topic and partition."""
    (group,) = client.call(fetching_offsets(group_id), 9).groups
    assert group.error_code == 0, group
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in group.topics
        for partition in topic.partitions
    }


def beating(
    group_id: str,
    member_id: str,
    epoch: int = 0,
    *,
    topics: Iterable[str] | None = None,
    regex: str | None = None,
    owned: dict[UUID, list[int]] | None = None,
) -> ConsumerGroupHeartbeatRequest:
    """Return a heartbeat of the consumer protocol; epoch 0 joins."""
    return ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000 if epoch == 0 else -1,
        subscribed_topic_names=None if topics is None else list(topics),
        subscribed_topic_regex=regex,
        topic_partitions=[TopicPartitions(topic_id=name, partitions=held) for name, held in owned.items()]
        if owned is not None
        else ([] if epoch == 0 else None),
    )


def given(answer: Any) -> dict[UUID, list[int]] | None:
    """Return the partitions that a heartbeat gave, by topic id; None if it left them as they were."""
    assert answer.error_code == 0, answer
    if answer.assignment is None:
        return None
    return {
        UUID(int=assigned.topic_id.int): sorted(assigned.partitions)
        for assigned in answer.assignment.topic_partitions
    }
