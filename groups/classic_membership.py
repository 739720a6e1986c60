"""SyncGroup, Heartbeat and LeaveGroup of a classic group."""

from __future__ import annotations

from groups.classic_answers import assigned
from groups.classic_assignment import open_only
from groups.classic_group import ClassicGroup
from groups.classic_join import known_member
from groups.classic_member import SyncReply, sync_refused
from groups.classic_rebalance import (
    after_removal,
    start_session,
    store_assignment,
    synced,
)
from groups.classic_removal import end_session, remove_member
from groups.context import Context
from groups.errors import GroupError, IllegalGeneration, InconsistentProtocol, UnknownMember
from groups.states import ANSWERS, Action, Request
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from protocol.messages.sync_group import SyncGroupRequest


def sync_classic(context: Context, group: ClassicGroup, request: SyncGroupRequest, reply: SyncReply) -> None:
    """Answer with the assignment, or wait for it; the leader's request brings all assignments.

    Raises: UnknownMember, FencedInstance, IllegalGeneration, InconsistentProtocol.
    """
    member = known_member(group, request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    if request.protocol_type not in (None, group.protocol_type):
        raise InconsistentProtocol
    if request.protocol_name not in (None, group.protocol):
        raise InconsistentProtocol
    match ANSWERS[group.state][Request.SYNC]:
        case Action.TELL_ASSIGNMENT:
            synced(context, group, member.member_id)
            start_session(context, group, member)
            reply(assigned(group, member))
        case Action.PARK:
            member.answer_sync(sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
            member.sync = reply
            synced(context, group, member.member_id)
            if group.leader == member.member_id and not group.server_assigned:
                assignments = {entry.member_id: bytes(entry.assignment) for entry in request.assignments}
                store_assignment(context, group, open_only(context, group, assignments))
        case code:
            reply(sync_refused(_code(code)))


def heartbeat_classic(context: Context, group: ClassicGroup, request: HeartbeatRequest) -> HeartbeatResponse:
    """Keep a member alive, and tell it whether it must join again.

    Raises: UnknownMember, FencedInstance, IllegalGeneration.
    """
    member = known_member(group, request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    member.activity.heartbeat_ms = context.wall_ms
    start_session(context, group, member)
    return HeartbeatResponse(error_code=_code(ANSWERS[group.state][Request.HEARTBEAT]))


def _code(answer: Action | ErrorCode) -> ErrorCode:
    return ErrorCode.NONE if isinstance(answer, Action) else answer


def leave_classic(
    context: Context, group: ClassicGroup, identities: list[MemberIdentity]
) -> LeaveGroupResponse:
    """Remove members, with one rebalance for all of them."""
    left = False
    answers = []
    for identity in identities:
        answer = left_as(identity)
        answers.append(answer)
        try:
            left = _leave(context, group, identity) or left
        except GroupError as error:
            answer.error_code = error.code
    if left:
        after_removal(context, group)
    return LeaveGroupResponse(members=answers)


def left_as(identity: MemberIdentity) -> MemberResponse:
    """Return the answer for a member that has left."""
    return MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id)


def _leave(context: Context, group: ClassicGroup, identity: MemberIdentity) -> bool:
    """Remove one member; administrators name a static one by its instance id alone.

    Raises: UnknownMember, FencedInstance.
    """
    member_id = identity.member_id
    if not member_id:
        member_id = group.instances.get(identity.group_instance_id or "", "")
        if not member_id:
            raise UnknownMember
    elif member_id in group.pending:
        group.pending.discard(member_id)
        context.memory.count(group.group_id, member_id, "", 0)
        end_session(context, group, member_id)
        return True
    remove_member(context, group, known_member(group, member_id, identity.group_instance_id))
    return True
