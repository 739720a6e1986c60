"""Deletion of share groups, and of their progress in some topics: the states first, then what names them.

    delete_share_group / delete_progress --> DeleteOrder --the driver deletes the states--> states_deleted

A crash in between leaves a group without states: its next member begins anew.  Source: KIP-932; Kafka 4.3's
GroupCoordinatorService.deleteShareGroups and deleteShareGroupOffsets.
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
    """Delete a group without members, and all that it has.  Raises: as `empty_group`."""
    empty_group(membership, group_id)

    def states_deleted(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            done(code)
        else:
            _delete_records(membership, group_id, done)

    membership.orders.append(DeleteOrder(group_id, None, states_deleted))


def delete_progress(
    membership: ShareMembership, group_id: str, topic_ids: Collection[UUID], done: Done
) -> None:
    """Delete the states of a group without members in some topics.  Raises: as `empty_group`."""
    empty_group(membership, group_id)

    def states_deleted(code: ErrorCode) -> None:
        if code != ErrorCode.NONE:
            done(code)
        else:
            _leave_topics(membership, group_id, frozenset(topic_ids), done)

    membership.orders.append(DeleteOrder(group_id, tuple(topic_ids), states_deleted))


def _delete_records(membership: ShareMembership, group_id: str, done: Done) -> None:
    """Delete a group whose states are deleted; one that a member has joined meanwhile begins anew."""
    group = membership.table.groups.get(group_id)
    if group is None:
        done(ErrorCode.NONE)
        return
    if group.members:
        _leave_topics(membership, group_id, group.initialized.keys(), lambda _: done(NonEmptyGroup.code))
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


def _leave_topics(
    membership: ShareMembership, group_id: str, topic_ids: Collection[UUID], done: Done
) -> None:
    """Note that a group has no states in these topics."""
    group = membership.table.groups.get(group_id)
    if group is None:
        done(ErrorCode.NONE)
        return
    left = {topic_id: topic for topic_id, topic in group.initialized.items() if topic_id not in topic_ids}
    with GroupChanges(membership.table, group_id) as changes:
        changes.on_undo(group.make_stale)
        changes.put(ShareStatesKey(group_id), left or None)
        changes.commit(lambda: done(ErrorCode.NONE), done)
    group.make_stale()
