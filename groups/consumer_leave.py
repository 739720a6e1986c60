"""Leaving a consumer group: for good, or for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from groups.assignment import NO_EPOCHS
from groups.changes import Changes
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import AWAY_EPOCH
from groups.consumer_sessions import cancel_timer, fence
from groups.context import Context
from groups.errors import FencedInstance, GroupNotFound, UnknownMember
from groups.record_keys import CurrentKey
from groups.states import MemberState
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

Reply = Callable[[ConsumerGroupHeartbeatResponse], None]


def leave(context: Context, request: ConsumerGroupHeartbeatRequest, reply: Reply) -> None:
    """Serve a heartbeat with epoch -1 or -2.

    Raises: GroupNotFound, UnknownMember, FencedInstance.
    """
    group = context.consumer(request.group_id)
    if group is None:
        context.check_no_share(request.group_id, "consumer")
        raise GroupNotFound(f"Group {request.group_id} not found.")
    member_id = leaving_member(group, request.member_id, request.instance_id)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=0
    )
    with Changes(context, group.group_id) as changes:
        if request.member_epoch == AWAY_EPOCH:
            _go_away(context, changes, group, member_id)
        else:
            fence(context, changes, group, [member_id])
        changes.commit(
            lambda: reply(response),
            lambda code: reply(
                ConsumerGroupHeartbeatResponse(error_code=code, member_epoch=0, heartbeat_interval_ms=0)
            ),
        )


def leaving_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> str:
    """Return the id of the leaving member; administrators may name a static one by instance id alone.

    Raises: UnknownMember, FencedInstance.
    """
    if instance_id is None:
        if member_id not in group.metadata:
            raise UnknownMember(f"Member {member_id} is not a member of group {group.group_id}.")
        return member_id
    holder = group.instances.get(instance_id)
    if holder is None:
        raise UnknownMember(f"Instance id {instance_id} is unknown.")
    if member_id not in ("", holder):
        raise FencedInstance(
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}."
        )
    return holder


def _go_away(context: Context, changes: Changes, group: ConsumerGroup, member_id: str) -> None:
    """Keep the partitions of a static member that stops and will be back within its session.

    It has closed, so the partitions it had to give up are free.
    """
    current = group.assignment(member_id)
    away = replace(current, epoch=AWAY_EPOCH, state=MemberState.STABLE, revoking=NO_EPOCHS)
    changes.put(CurrentKey(group.group_id, member_id), away)
    cancel_timer(context, group.group_id, member_id, "revoke")
