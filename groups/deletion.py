"""DeleteGroups and OffsetDelete; topic_deletion.py deletes the offsets in topics that are deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from groups.changes import Changes
from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.downgrade import delete_consumer_group
from groups.errors import GroupError, GroupNotFound, InvalidGroupId, NonEmptyGroup
from groups.misread_deletion import delete_misread
from groups.record_keys import ClassicGroupKey, OffsetKey
from groups.states import ANSWERS, Request
from groups.wide_deletion import WideDeletion, delete_offset, is_wide, offsets_of
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

DeleteReply = Callable[[DeleteGroupsResponse], None]
DeleteOne = Callable[[str, Callable[[ErrorCode], None]], None]
"""Deletes one group and tells the outcome.  Raises: GroupError."""
OffsetDeleteReply = Callable[[OffsetDeleteResponse], None]


def delete_groups(
    context: Context,
    request: DeleteGroupsRequest,
    reply: DeleteReply,
    delete_share: DeleteOne | None = None,
) -> None:
    """Delete groups without members, and all that they have; answer when the last deletion is durable.

    `delete_share` deletes a share group.
    """
    names = list(dict.fromkeys(request.groups_names))
    results = {name: DeletableGroupResult(group_id=name) for name in names}
    left = len(names)

    def done(name: str, code: ErrorCode) -> None:
        nonlocal left
        results[name].error_code = code
        left -= 1
        if not left:
            reply(DeleteGroupsResponse(results=list(results.values())))

    if not names:
        reply(DeleteGroupsResponse(results=[]))
    for name in names:
        try:
            if delete_share is not None and name in context.share_groups:
                _delete_share_group(context, name, delete_share, partial(done, name))
            else:
                _delete_group(context, name, done)
        except GroupError as error:
            done(name, error.code)


def _delete_share_group(
    context: Context, group_id: str, delete_share: DeleteOne, done: Callable[[ErrorCode], None]
) -> None:
    """Delete a share group; the records that keep it from being served go when all others have."""
    if group_id not in context.misread:
        context.check_loaded(group_id)
        delete_share(group_id, done)
        return
    context.check_here(group_id)
    delete_share(group_id, lambda code: done(code) if code else delete_misread(context, group_id, done))


def _delete_group(context: Context, group_id: str, done: Callable[[str, ErrorCode], None]) -> None:
    if group_id in context.misread and context.partition(group_id) in context.loaded:
        delete_misread(context, group_id, partial(done, group_id))
        return
    _check_deletable(context, group_id)
    if is_wide(context, group_id):
        _delete_wide(context, group_id, done)
        return
    with Changes(context, group_id) as changes:
        delete_all(context, changes, group_id)
        changes.commit(lambda: done(group_id, ErrorCode.NONE), lambda code: done(group_id, code))


def _check_deletable(context: Context, group_id: str) -> None:
    """Check that a group exists and has no members.  Raises: GroupError."""
    context.check_loaded(group_id)
    group = context.groups.get(group_id)
    if not context.exists(group_id):
        raise GroupNotFound
    if isinstance(group, ConsumerGroup) and group.metadata:
        raise NonEmptyGroup
    if isinstance(group, ClassicGroup) and ANSWERS[group.state][Request.DELETE] == ErrorCode.NON_EMPTY_GROUP:
        raise NonEmptyGroup


def _delete_wide(context: Context, group_id: str, done: Callable[[str, ErrorCode], None]) -> None:
    """Delete the offsets some at a time, and the group with what has come meanwhile, if it may be."""

    def wanted(key: OffsetKey) -> bool:
        _check_deletable(context, group_id)
        return context.offsets.newest(key) is not None or context.staged.is_staged(key)

    def shrunk(code: ErrorCode) -> None:
        if code:
            done(group_id, code)
        elif not context.exists(group_id):
            # It was nothing but its offsets.
            done(group_id, ErrorCode.NONE)
        else:
            try:
                _delete_group(context, group_id, done)
            except GroupError as error:
                done(group_id, error.code)

    offsets = offsets_of(context, group_id)
    deletion = WideDeletion(context, group_id, offsets, wanted=wanted, delete=delete_offset, done=shrunk)
    deletion.step(context.now_ms)


def delete_all(context: Context, changes: Changes, group_id: str) -> None:
    """Delete a group without members and its offsets."""
    for key in context.offset_keys(group_id):
        changes.offset(key, None)
    group = context.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        delete_consumer_group(changes, group)
    elif group is not None:
        changes.put(ClassicGroupKey(group_id), None)


def delete_offsets(
    context: Context, request: OffsetDeleteRequest, reply: OffsetDeleteReply, *, goes_on: bool
) -> None:
    """Forget offsets of topics that the group does not subscribe to.

    `goes_on`: it is a later part of a request, and the group may have gone with its last offset.
    Raises: GroupError.
    """
    if not request.group_id.strip():
        raise InvalidGroupId
    context.check_loaded(request.group_id)
    group = context.groups.get(request.group_id)
    if not goes_on and not context.exists(request.group_id):
        raise GroupNotFound
    if isinstance(group, ClassicGroup) and group.members and not group.is_consumer_group:
        raise NonEmptyGroup
    subscribed = group.subscribed_names() if isinstance(group, ConsumerGroup) else frozenset()
    response = OffsetDeleteResponse(topics=[])
    with Changes(context, request.group_id) as changes:
        for topic in request.topics:
            in_use = topic.name in subscribed or (
                isinstance(group, ClassicGroup) and group.subscribes(topic.name)
            )
            response.topics.append(_forget(context, changes, request.group_id, topic, in_use))
        changes.commit(
            lambda: reply(response), lambda code: reply(OffsetDeleteResponse(error_code=code, topics=[]))
        )


def _forget(
    context: Context, changes: Changes, group_id: str, topic: OffsetDeleteRequestTopic, in_use: bool
) -> OffsetDeleteResponseTopic:
    """Forget the offsets of one topic unless the group subscribes to it; return the answer."""
    known = context.topics.by_name.get(topic.name)
    answers = []
    for partition in topic.partitions:
        key = OffsetKey(group_id, topic.name, partition.partition_index)
        code = ErrorCode.NONE
        if known is None or not 0 <= partition.partition_index < known.partition_count:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif in_use:
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        elif context.offsets.newest(key) is not None or context.staged.is_staged(key):
            changes.offset(key, None)
        answers.append(
            OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=code)
        )
    return OffsetDeleteResponseTopic(name=topic.name, partitions=answers)
