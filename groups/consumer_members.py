"""The records written about a member of a consumer group when it joins, changes or is replaced."""

from __future__ import annotations

import base64
from dataclasses import replace

from groups.assignment import contains
from groups.changes import Changes
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import JOINING_EPOCH, MemberMetadata
from groups.consumer_target import bump
from groups.context import Context
from groups.errors import FencedMemberEpoch, GroupError, GroupFull
from groups.memory import ADDRESS_UNKNOWN
from groups.reconciliation import Owned
from groups.record_keys import CurrentKey, MemberKey, RegexKey, ResolvedRegex, TargetKey
from groups.weights import metadata_bytes, regex_bytes, slot_of


def new_member_id(context: Context) -> str:
    """Return an id as Kafka makes them, without a leading dash, so that it can be used on command lines."""
    while True:
        found = base64.urlsafe_b64encode(context.new_uuid().bytes).decode().rstrip("=")
        if not found.startswith("-"):
            return found


def check_size(context: Context, group: ConsumerGroup, member_id: str) -> None:
    """Check that the group has room for the member.

    Raises: GroupFull.
    """
    size_max = context.config.group_consumer_max_size
    if len(group.metadata) >= size_max and member_id not in group.metadata:
        raise GroupFull(f"The consumer group has reached its maximum capacity of {size_max} members.")


def check_epoch(group: ConsumerGroup, member_id: str, epoch: int, owned: Owned) -> None:
    """Check a heartbeat's epoch: the member's own, or the previous one if its last answer may be lost.

    Raises: FencedMemberEpoch.
    """
    current = group.assignment(member_id)
    if epoch in (JOINING_EPOCH, current.epoch):
        return
    lost_answer = epoch == current.previous_epoch and owned is not None
    if epoch < current.epoch and lost_answer and contains(current.assigned, owned or {}):
        return
    raise FencedMemberEpoch(
        f"The consumer group member has a {'greater' if epoch > current.epoch else 'smaller'} member epoch "
        f"({epoch}) than the one known by the group coordinator ({current.epoch}). The member must abandon "
        "all its partitions and rejoin."
    )


def set_metadata(
    context: Context, changes: Changes, group: ConsumerGroup, member_id: str, wanted: MemberMetadata
) -> bool:
    """Store what a member wants; True if its subscription has changed.

    Raises: InvalidRegularExpression; GroupFull, CoordinatorNotAvailable if there is no memory for it.
    """
    old = group.metadata.get(member_id)
    if wanted.regex in group.regexes and not context.regexes.is_followed(group.group_id, wanted.regex):
        context.regexes.follow(group.group_id, wanted.regex)
    if old != wanted:
        slot = slot_of(MemberKey(group.group_id, member_id))
        size = metadata_bytes(wanted)
        context.memory.check(context.config, group.group_id, slot, wanted.client_host, size)
        changes.put(MemberKey(group.group_id, member_id), wanted)
    old_topics, old_regex = (old.topics, old.regex) if old is not None else ((), "")
    if old_regex != wanted.regex:
        forget_regex(changes, group, old_regex)
        if wanted.regex and wanted.regex not in group.regexes:
            _resolve(context, changes, group, wanted.regex)
    resubscribed = (old_topics, old_regex) != (wanted.topics, wanted.regex)
    if resubscribed or not group.epoch:
        bump(context, changes, group)
    return resubscribed


def _resolve(context: Context, changes: Changes, group: ConsumerGroup, regex: str) -> None:
    """Store the topics that match a regular expression which is new in the group.

    Raises: InvalidRegularExpression; GroupFull, CoordinatorNotAvailable if there is no memory for it.
    """
    regexes, key = context.regexes, RegexKey(group.group_id, regex)
    slot = slot_of(key)
    regexes.follow(group.group_id, regex)
    try:
        found = ResolvedRegex(regexes.visible(group.group_id, regex), context.wall_ms)
        size = regex_bytes(regex, found.topics) + regexes.program_bytes(regex)
        context.memory.check(context.config, group.group_id, slot, ADDRESS_UNKNOWN, size)
    except GroupError:
        regexes.drop(group.group_id, regex)
        raise
    changes.put(key, found)
    context.memory.count(group.group_id, slot, ADDRESS_UNKNOWN, size)


def forget_regex(changes: Changes, group: ConsumerGroup, regex: str) -> None:
    """Delete a regular expression unless a member still subscribes to it."""
    if regex in group.regexes and not group.regex_count(regex):
        changes.put(RegexKey(group.group_id, regex), None)


def replace_static(changes: Changes, group: ConsumerGroup, old_id: str, new_id: str) -> None:
    """Let a new member take over a static one's metadata, assignment and target."""
    group_id = group.group_id
    metadata, target, current = group.metadata[old_id], group.target_of(old_id), group.assignment(old_id)
    drop_member(changes, group, old_id)
    changes.put(MemberKey(group_id, new_id), metadata)
    changes.put(TargetKey(group_id, new_id), target)
    fresh = replace(current, epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH)
    changes.put(CurrentKey(group_id, new_id), fresh)
    if old_id in group.activity:
        group.activity[new_id] = group.activity.pop(old_id)


def drop_member(changes: Changes, group: ConsumerGroup, member_id: str) -> None:
    """Delete all that is stored about a member."""
    changes.put(CurrentKey(group.group_id, member_id), None)
    changes.put(TargetKey(group.group_id, member_id), None)
    changes.put(MemberKey(group.group_id, member_id), None)
