"""The conversion of a consumer group to a classic group, while its members run.

It happens when the last member of the consumer protocol has left and all others are classic. Their partitions
become their last assignment, the group epoch becomes the generation, and they are asked to join again.
Source: KIP-848, "Downgrading to the old protocol"; Kafka 4.3's convertToClassicGroup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groups.assignment import plain
from groups.changes import Changes, nobody, nothing
from groups.classic_assignment import assignment_blob
from groups.classic_group import CONSUMER_PROTOCOL, ClassicGroup
from groups.classic_member import ClassicMember
from groups.classic_rebalance import prepare, start_session
from groups.consumer_group import ConsumerGroup, ConsumerGroupKey
from groups.context import Context
from groups.record_keys import (
    ClassicGroupKey,
    CurrentKey,
    GroupEpochKey,
    MemberKey,
    RegexKey,
    TargetEpochKey,
    TargetKey,
)
from groups.states import GroupState


def can_become_classic(context: Context, group: ConsumerGroup, leaving: Collection[str]) -> bool:
    """Whether only classic members remain when these leave, and the group may follow them."""
    gone = [group.metadata[member_id] for member_id in set(leaving) if member_id in group.metadata]
    staying = len(group.metadata) - len(gone)
    classic = group.classic_count - sum(member.classic is not None for member in gone)
    return (
        0 < staying == classic
        and context.config.group_consumer_migration_policy.downgrades
        and staying <= context.config.group_max_size
    )


def to_classic(
    context: Context, changes: Changes, group: ConsumerGroup, leaving: Collection[str]
) -> ClassicGroup:
    """Convert the group without the members that leave, and begin a rebalance."""
    made = _classic_group(context, group, leaving)
    delete_consumer_group(changes, group)
    changes.on_undo(context.put_group(group.group_id, made))
    changes.write(ClassicGroupKey(group.group_id), made.record())
    for member in made.members.values():
        start_session(context, made, member)
    prepare(context, made)
    return made


def empty_to_classic(context: Context, group: ConsumerGroup) -> ClassicGroup:
    """Make a classic group of one without members; generations continue from its epochs."""
    made = ClassicGroup(group.group_id, generation=group.epoch, since_ms=context.wall_ms)
    with Changes(context, group.group_id) as changes:
        delete_consumer_group(changes, group)
        changes.on_undo(context.put_group(group.group_id, made))
        changes.write(ClassicGroupKey(group.group_id), made.record())
        changes.commit(nothing, nobody)
    return made


def delete_consumer_group(changes: Changes, group: ConsumerGroup) -> None:
    """Delete all records of a group: of members first, the group's own last."""
    for key in keys_of(group):
        changes.put(key, None)


def keys_of(group: ConsumerGroup) -> Iterator[ConsumerGroupKey]:
    """Yield the keys of all records of a group, in the order in which they are deleted; it may change."""
    group_id = group.group_id
    for member_id in list(group.current):
        yield CurrentKey(group_id, member_id)
    for member_id in list(group.target):
        yield TargetKey(group_id, member_id)
    yield TargetEpochKey(group_id)
    for member_id in list(group.metadata):
        yield MemberKey(group_id, member_id)
    for regex in list(group.regexes):
        yield RegexKey(group_id, regex)
    yield GroupEpochKey(group_id)


def _classic_group(context: Context, group: ConsumerGroup, leaving: Collection[str]) -> ClassicGroup:
    made = ClassicGroup(group.group_id, generation=group.epoch, since_ms=context.wall_ms)
    made.protocol_type = CONSUMER_PROTOCOL
    for member_id, metadata in group.metadata.items():
        if member_id in leaving or metadata.classic is None:
            continue
        assigned = plain(group.assignment(member_id).assigned)
        made.add(
            ClassicMember(
                member_id,
                instance_id=metadata.instance_id,
                client_id=metadata.client_id,
                client_host=metadata.client_host,
                session_timeout_ms=metadata.classic.session_timeout_ms,
                rebalance_timeout_ms=metadata.rebalance_timeout_ms,
                protocols=metadata.classic.protocols,
                assignment=assignment_blob(context.topics, assigned),
                activity=group.activity.get(member_id),
            )
        )
    made.protocol = made.choose_protocol()
    made.state = GroupState.STABLE
    return made
