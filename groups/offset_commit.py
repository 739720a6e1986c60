"""OffsetCommit: store the progress of a group.

Any client may commit to a group without members, as simple consumers and tools do; to others only members of
the current generation or epoch may. A member of the consumer protocol may be an epoch behind for partitions
that have been its own ever since: its heartbeat and its commit may overtake each other.
Source: KIP-211, KIP-848, KIP-1251; Kafka 4.3's OffsetMetadataManager, ClassicGroup and ConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groups.assignment import union
from groups.changes import Changes
from groups.classic_group import ClassicGroup
from groups.classic_join import known_member
from groups.classic_rebalance import start_session
from groups.config import INT32_MAX
from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.errors import (
    GroupError,
    GroupNotFound,
    IllegalGeneration,
    RebalanceInProgress,
    StaleMemberEpoch,
    UnknownMember,
    UnsupportedVersion,
)
from groups.offset_values import NO_EXPIRY, Committed, committed_bytes
from groups.record_keys import OffsetKey
from groups.states import ANSWERS, GroupState, Request
from groups.topic_room import has_room
from groups.topics import Client, TopicFacts
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

TOPIC_IDS_SINCE = 10
MEMBER_EPOCHS_SINCE = 9
NO_RETENTION_TIME_MS = -1
"""The request leaves the retention time to the broker."""
INT64_MAX: Final = 2**63 - 1

NO_EPOCHS_OF_TOPIC: Final[Mapping[int, int]] = {}

Reply = Callable[[OffsetCommitResponse], None]
Item = tuple[TopicFacts, OffsetCommitRequestPartition, OffsetCommitResponsePartition]


def commit_offsets(context: Context, request: OffsetCommitRequest, client: Client, reply: Reply) -> None:
    """Store the offsets of a request; its items fail one by one, or all together because of the group."""
    response = OffsetCommitResponse(topics=[])
    items: list[Item] = []
    for topic in request.topics:
        response.topics.append(_open_topic(context, topic, client.version, items))
    if not items:
        reply(response)
        return
    try:
        context.check_loaded(request.group_id)
        _check(context, request, client.version, items)
    except GroupError as error:
        _fail(items, error.code)
        reply(response)
        return
    _note_member(context, request)
    with Changes(context, request.group_id) as changes:
        written = [item for item in items if _write(context, changes, request, item)]

        def refuse(code: ErrorCode) -> None:
            too_large = code == ErrorCode.UNKNOWN_SERVER_ERROR
            _fail(written, ErrorCode.INVALID_COMMIT_OFFSET_SIZE if too_large else code)
            reply(response)

        changes.commit(lambda: reply(response), refuse)


def _open_topic(
    context: Context, topic: OffsetCommitRequestTopic, version: int, items: list[Item]
) -> OffsetCommitResponseTopic:
    """Return the answer for a topic and collect its items; those of missing partitions are refused."""
    answers = [
        OffsetCommitResponsePartition(partition_index=partition.partition_index)
        for partition in topic.partitions
    ]
    if version >= TOPIC_IDS_SINCE:
        known, code = context.topics.by_id.get(topic.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    else:
        known, code = context.topics.by_name.get(topic.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for asked, answer in zip(topic.partitions, answers, strict=True):
        if known is None or not known.recorded:
            answer.error_code = code
        elif not 0 <= asked.partition_index < known.partition_count:
            answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            items.append((known, asked, answer))
    return OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers)


def _fail(items: list[Item], code: ErrorCode) -> None:
    for _, _, answer in items:
        answer.error_code = code


def _write(context: Context, changes: Changes, request: OffsetCommitRequest, item: Item) -> bool:
    """Write one offset; False if its metadata is too long, or there is no room in the topic or at all."""
    topic, asked, answer = item
    if not has_room(context, request.group_id, topic.name):
        answer.error_code = ErrorCode.POLICY_VIOLATION
        return False
    metadata = asked.committed_metadata or ""
    if java_length(metadata) > context.config.offset_metadata_max_bytes:
        answer.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        return False
    wall_ms = context.wall_ms
    retention_ms = request.retention_time_ms
    committed = Committed(
        offset=asked.committed_offset,
        leader_epoch=asked.committed_leader_epoch,
        metadata=metadata,
        commit_ms=wall_ms,
        expire_ms=NO_EXPIRY
        if retention_ms == NO_RETENTION_TIME_MS
        else min(wall_ms + retention_ms, INT64_MAX),
    )
    key = OffsetKey(request.group_id, topic.name, asked.partition_index)
    value = committed_bytes(committed, topic.topic_id)
    if not context.has_memory(key, value):
        answer.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return False
    changes.offset(key, value)
    return True


def java_length(text: str) -> int:
    """Return the length as Java counts it: characters beyond the 16-bit plane count as two."""
    # Without a line of Python for each character: a request has up to 16 MiB of them.
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _note_member(context: Context, request: OffsetCommitRequest) -> None:
    """Note that a member lives: to classic groups, a commit is as good as a heartbeat."""
    group = context.groups.get(request.group_id)
    if isinstance(group, ClassicGroup):
        member = group.members.get(request.member_id)
        if member is not None:
            member.activity.polled_ms = context.wall_ms
            start_session(context, group, member)
    elif group is not None and request.member_id in group.activity:
        group.activity[request.member_id].polled_ms = context.wall_ms


# --- permission to commit -----------------------------------------------------------------------------------


def _check(context: Context, request: OffsetCommitRequest, version: int, items: list[Item]) -> None:
    context.check_no_share(request.group_id, "consumer")
    group = context.groups.get(request.group_id)
    if isinstance(group, ConsumerGroup):
        check_consumer_commit(group, request, version, items)
    elif isinstance(group, ClassicGroup):
        check_classic_commit(group, request)
    elif request.generation_id_or_member_epoch >= 0:
        if context.exists(request.group_id):
            raise UnknownMember
        if version >= MEMBER_EPOCHS_SINCE:
            raise GroupNotFound(f"Group {request.group_id} not found.")
        raise IllegalGeneration


def check_classic_commit(group: ClassicGroup, request: OffsetCommitRequest) -> None:
    """Check that a commit comes from the current generation, or that there is none.

    Raises: UnknownMember, FencedInstance, IllegalGeneration, RebalanceInProgress.
    """
    generation = request.generation_id_or_member_epoch
    if generation < 0 and group.state == GroupState.EMPTY:
        return
    if generation >= 0 or request.member_id or request.group_instance_id is not None:
        known_member(group, request.member_id, request.group_instance_id)
        if generation != group.generation:
            raise IllegalGeneration
    else:
        raise UnknownMember
    if ANSWERS[group.state][Request.COMMIT] == ErrorCode.REBALANCE_IN_PROGRESS:
        raise RebalanceInProgress


def check_consumer_commit(
    group: ConsumerGroup, request: OffsetCommitRequest, version: int, items: list[Item]
) -> None:
    """Check that a commit comes from a member, in its epoch or one since which it had all the partitions.

    Raises: UnknownMember, UnsupportedVersion, StaleMemberEpoch, IllegalGeneration for classic members.
    """
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and not group.metadata:
        return
    member = group.metadata.get(request.member_id)
    if member is None:
        raise UnknownMember(f"Member {request.member_id} is not a member of group {group.group_id}.")
    if member.classic is None and version < MEMBER_EPOCHS_SINCE:
        raise UnsupportedVersion(
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol"
        )
    current = group.assignment(request.member_id)
    if epoch == current.epoch:
        return
    held = union(current.assigned, current.revoking)
    own = all(
        held.get(topic.topic_id, NO_EPOCHS_OF_TOPIC).get(asked.partition_index, INT32_MAX) <= epoch
        for topic, asked, _ in items
    )
    if epoch > current.epoch or not own:
        stale = StaleMemberEpoch if member.classic is None else IllegalGeneration
        raise stale(
            f"The received member epoch {epoch} does not match the expected member epoch {current.epoch}."
        )
