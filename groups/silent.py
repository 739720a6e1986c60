"""Removing members that send heartbeats but do not poll: their partitions go to members that do.

The coordinator does not see fetches; its driver judges by them and names the members.
"""

from __future__ import annotations

from collections.abc import Collection

from groups.changes import Changes, nobody, nothing
from groups.classic_group import ClassicGroup
from groups.classic_rebalance import after_removal
from groups.classic_removal import note_lost, remove_member
from groups.consumer_group import ConsumerGroup
from groups.consumer_sessions import fence
from groups.consumer_sessions import note_lost as note_lost_consumer
from groups.context import Context

REASON = "it did not poll within kawal.max.poll.interval.ms"


def remove_silent(context: Context, group_id: str, member_ids: Collection[str]) -> None:
    """Remove these members of a group, as far as they still belong to it, as at the end of their session."""
    group = context.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        _remove_consumers(context, group, [name for name in member_ids if name in group.metadata])
    elif group is not None:
        _remove_classic(context, group, [name for name in member_ids if name in group.members])


def _remove_consumers(context: Context, group: ConsumerGroup, member_ids: list[str]) -> None:
    if not member_ids:
        return
    for member_id in member_ids:
        note_lost_consumer(context, group, member_id, REASON)
    with Changes(context, group.group_id) as changes:
        fence(context, changes, group, member_ids)
        changes.commit(nothing, nobody)


def _remove_classic(context: Context, group: ClassicGroup, member_ids: list[str]) -> None:
    for member_id in member_ids:
        member = group.members[member_id]
        note_lost(context, group, member, REASON)
        remove_member(context, group, member)
    if member_ids:
        after_removal(context, group)
