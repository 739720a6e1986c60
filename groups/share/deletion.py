"""Deletion of share groups, and of their progress in some topics: the states, after what names them.

    delete_share_group / delete_progress --> the group names them no longer --durable-->
        DeleteOrder --the driver deletes the states--> the rest of the group, if all of it goes

A state that is named is there, so no partition is assigned that cannot be read.  A crash in between, or a
failure, leaves states without names, and no answer: the group's next member goes on there.

A group with records that cannot be read is not served, and goes with the members that it has; those records
are left to the caller (groups.misread_deletion).
Source: KIP-932; Kafka 4.3's GroupCoordinatorService.deleteShareGroups and deleteShareGroupOffsets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final
from uuid import UUID

from groups.changes import nobody, nothing
from groups.errors import GroupNotFound, InvalidGroupId, NonEmptyGroup
from groups.record_keys import GroupEpoch
from groups.share.group_records import (
    ShareCurrentKey,
    ShareEpochKey,
    ShareGroupKey,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetEpochKey,
    ShareTargetKey,
)
from groups.share.group_table import GroupChanges
from groups.share.membership import DeleteOrder, ShareMembership
from groups.share.share_group import ShareGroup
from protocol.error_codes import ErrorCode

Done = Callable[[ErrorCode], None]

FIRST_EPOCH: Final = 1
"""The epoch of a group that was made without a member."""


def empty_group(membership: ShareMembership, group_id: str) -> ShareGroup:
    """Return a share group without members.

    Raises: InvalidGroupId, NotLoaded, CoordinatorNotAvailable, GroupNotFound, NonEmptyGroup.
    """
    if not group_id:
        raise InvalidGroupId
    membership.table.context.check_loaded(group_id)
    group = membership.table.groups.get(group_id)
    if group is None:
        raise GroupNotFound(f"Share group {group_id} not found.")
    if group.members:
        raise NonEmptyGroup
    return group


def make_empty_group(membership: ShareMembership, group_id: str) -> None:
    """Make a share group without members, unless there is one.

    Raises: InvalidGroupId, NotLoaded, CoordinatorNotAvailable, GroupNotFound for a group of another type,
        NonEmptyGroup.
    """
    table = membership.table
    if not group_id.strip():
        raise InvalidGroupId
    table.context.check_loaded(group_id)
    if table.context.exists(group_id):
        raise GroupNotFound(f"Group {group_id} is not a share group.")
    if group_id in table.groups:
        empty_group(membership, group_id)
        return
    with GroupChanges(table, group_id) as changes:
        changes.put(ShareEpochKey(group_id), GroupEpoch(FIRST_EPOCH, 0))
        changes.commit(nothing, nobody)


def delete_share_group(membership: ShareMembership, group_id: str, done: Done) -> None:
    """Delete a group without members, or a damaged one, and all that it has.  Raises: as `empty_group`."""
    is_damaged = group_id in membership.table.context.misread
    group = membership.table.groups[group_id] if is_damaged else empty_group(membership, group_id)

    def states_deleted(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            done(code)
        else:
            _delete_records(membership, group_id, done)

    order = DeleteOrder(group_id, None, states_deleted)
    _leave_topics(membership, group, tuple(group.initialized), _ordering(membership, order, done))


def delete_progress(
    membership: ShareMembership, group_id: str, topic_ids: Collection[UUID], done: Done
) -> None:
    """Delete the states of a group without members in some topics.  Raises: as `empty_group`."""
    group = empty_group(membership, group_id)
    order = DeleteOrder(group_id, tuple(topic_ids), done)
    _leave_topics(membership, group, topic_ids, _ordering(membership, order, done))


def _leave_topics(
    membership: ShareMembership, group: ShareGroup, topic_ids: Collection[UUID], done: Done
) -> None:
    """Note that a group has no states in these topics."""
    if group.initialized.keys().isdisjoint(topic_ids):
        done(ErrorCode.NONE)
        return
    left = frozenset(topic_ids)
    kept = {topic_id: topic for topic_id, topic in group.initialized.items() if topic_id not in left}
    with GroupChanges(membership.table, group.group_id) as changes:
        changes.on_undo(group.make_stale)
        changes.put(ShareStatesKey(group.group_id), kept or None)
        changes.commit(lambda: done(ErrorCode.NONE), done)
    group.make_stale()


def _ordering(membership: ShareMembership, order: DeleteOrder, done: Done) -> Done:
    """Return what has states deleted that the group names no longer."""

    def left(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            done(code)
        elif _is_in_use(membership, order):
            done(NonEmptyGroup.code)
        else:
            membership.orders.append(order)

    return left


def _is_in_use(membership: ShareMembership, order: DeleteOrder) -> bool:
    """Whether a member has joined since, even if it has left again: it may have ordered new states."""
    group = membership.table.groups.get(order.group_id)
    if group is None:
        return False
    topic_ids = group.initialized.keys() if order.topic_ids is None else order.topic_ids
    is_named = not group.initialized.keys().isdisjoint(topic_ids)
    return _is_served(membership, group) or is_named


def _is_served(membership: ShareMembership, group: ShareGroup) -> bool:
    """Whether a group has members; those of a damaged one have no session, and cannot join again."""
    has_members = bool(group.members) or group.waiting is not None
    return has_members and group.group_id not in membership.table.context.misread


def _delete_records(membership: ShareMembership, group_id: str, done: Done) -> None:
    """Delete a group whose states are deleted, unless a member has joined it meanwhile."""
    group = membership.table.groups.get(group_id)
    if group is None:
        done(ErrorCode.NONE)
        return
    if _is_served(membership, group) or group.initialized:
        done(NonEmptyGroup.code)
        return
    with GroupChanges(membership.table, group_id) as changes:
        for key in _keys(group):
            changes.put(key, None)
        changes.commit(lambda: done(ErrorCode.NONE), done)


def _keys(group: ShareGroup) -> list[ShareGroupKey]:
    """Return the keys of all records that a group may have, those of former members included."""
    group_id = group.group_id
    names = sorted({*group.members, *group.target, *group.current})
    keys: list[ShareGroupKey] = []
    for kind in (ShareCurrentKey, ShareTargetKey, ShareMemberKey):
        keys += [kind(group_id, name) for name in names]
    keys += [kind(group_id) for kind in (ShareStatesKey, ShareTargetEpochKey, ShareEpochKey)]
    return keys
