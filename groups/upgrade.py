"""The conversion of a classic group to a consumer group, while its members run.

The first member of the consumer protocol converts the group it joins. Classic members stay classic: their
last assignment becomes what they have, and their generation becomes their epoch. They get
REBALANCE_IN_PROGRESS at their next heartbeat and join again (classic_in_consumer.py).
Source: KIP-848, "Upgrading to the new protocol"; Kafka 4.3's validateOnlineUpgrade and fromClassicGroup.
"""

from __future__ import annotations

from uuid import UUID

from groups.assignment import EpochAssignment, Partition, partitions_of, plain, with_epoch
from groups.changes import Changes
from groups.classic_assignment import by_topic_id
from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import ClassicMetadata, MemberAssignment, MemberMetadata
from groups.consumer_sessions import start_session
from groups.consumer_target import NOT_ASSIGNED_HERE
from groups.context import Context
from groups.errors import GroupNotFound
from groups.record_keys import (
    ClassicGroupKey,
    CurrentKey,
    GroupEpoch,
    GroupEpochKey,
    MemberKey,
    TargetEpoch,
    TargetEpochKey,
    TargetKey,
)
from protocol.consumer_protocol import decode_assignment, decode_subscription
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed


def consumer_group_for(context: Context, changes: Changes, group_id: str, *, joins: bool) -> ConsumerGroup:
    """Return the consumer group of a heartbeat; a joining member makes it, maybe from a classic group.

    Raises: GroupNotFound.
    """
    group = context.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    context.check_no_share(group_id, "consumer")
    if not joins:
        raise GroupNotFound(f"Group {group_id} not found.")
    if group is None:
        return _begin(context, changes, group_id, epoch=0)
    if group.members:
        _check_upgrade(context, group)
        return _convert(context, changes, group)
    _end_classic(context, changes, group)
    return _begin(context, changes, group_id, epoch=group.generation)


def _begin(context: Context, changes: Changes, group_id: str, *, epoch: int) -> ConsumerGroup:
    """Make a group without members; epochs continue from the generations of a classic group."""
    group = ConsumerGroup(group_id)
    changes.on_undo(context.put_group(group_id, group))
    if epoch:
        changes.put(GroupEpochKey(group_id), GroupEpoch(epoch, 0))
    return group


def _end_classic(context: Context, changes: Changes, group: ClassicGroup) -> None:
    """Delete the classic group; members that wait in it join again."""
    state = group.state

    def revive() -> None:
        group.state = state

    changes.on_undo(revive)
    group.dissolve(ErrorCode.REBALANCE_IN_PROGRESS, context.wall_ms)
    changes.put(ClassicGroupKey(group.group_id), None)


def _check_upgrade(context: Context, group: ClassicGroup) -> None:
    refusal = f"Cannot upgrade classic group {group.group_id} to consumer group because "
    if not context.config.group_consumer_migration_policy.upgrades:
        raise GroupNotFound(f"{refusal}online upgrade is disabled.")
    if not group.is_consumer_group:
        raise GroupNotFound(f"{refusal}the group does not use the consumer embedded protocol.")
    if len(group.members) > context.config.group_consumer_max_size:
        raise GroupNotFound(f"{refusal}the group size exceeds the consumer group maximum size.")


def _convert(context: Context, changes: Changes, group: ClassicGroup) -> ConsumerGroup:
    group_id, generation = group.group_id, group.generation
    taken: set[Partition] = set()
    members = [
        (member, _metadata(group, member), _assigned(context, group, member, taken))
        for member in group.members.values()
    ]
    _end_classic(context, changes, group)
    made = _begin(context, changes, group_id, epoch=generation)
    for member, metadata, assigned in members:
        target = plain(assigned)
        changes.put(MemberKey(group_id, member.member_id), metadata)
        changes.put(TargetKey(group_id, member.member_id), target)
        current = MemberAssignment(epoch=generation, previous_epoch=generation, assigned=assigned)
        changes.put(CurrentKey(group_id, member.member_id), current)
        made.activity[member.member_id] = member.activity
    changes.put(TargetEpochKey(group_id), TargetEpoch(generation, context.wall_ms))
    # The generation need not have assigned every partition: a rebalance may have been due, or half done by
    # cooperative members. So the epoch must be counted up (bump_unless_assigned), as in Kafka.
    changes.put(GroupEpochKey(group_id), GroupEpoch(generation, NOT_ASSIGNED_HERE))
    for member in group.members.values():
        start_session(context, made, member.member_id)
    return made


def _metadata(group: ClassicGroup, member: ClassicMember) -> MemberMetadata:
    """Return what a classic member wants, as a consumer group keeps it.

    Raises: GroupNotFound if that cannot be read.
    """
    try:
        subscription = decode_subscription(member.metadata(group.protocol or member.protocols[0][0]))
    except Malformed as error:
        raise _unreadable(group) from error
    return MemberMetadata(
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        topics=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )


def _assigned(
    context: Context, group: ClassicGroup, member: ClassicMember, taken: set[Partition]
) -> EpochAssignment:
    """Return a classic member's last assignment, without partitions that an earlier member has, too.

    Raises: GroupNotFound.
    """
    try:
        found = decode_assignment(member.assignment)
    except Malformed as error:
        raise _unreadable(group) from error
    if found.user_data:
        raise GroupNotFound(
            f"Cannot upgrade classic group {group.group_id} to consumer group because an unsupported custom "
            "assignor is in use. Please refer to the documentation or switch to a default assignor before "
            "re-attempting the upgrade."
        )
    mine: dict[UUID, list[int]] = {}
    for place in sorted(set(partitions_of(by_topic_id(context.topics, found.assigned_partitions))) - taken):
        taken.add(place)
        mine.setdefault(place[0], []).append(place[1])
    return with_epoch(mine, group.generation)


def _unreadable(group: ClassicGroup) -> GroupNotFound:
    return GroupNotFound(
        f"Cannot upgrade classic group {group.group_id} to consumer group because the embedded consumer "
        "protocol is malformed."
    )
