"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: checked, then served by the kind of the group."""

from __future__ import annotations

from collections.abc import Callable

from groups.classic_group import ClassicGroup
from groups.classic_in_consumer import heartbeat_consumer, join_consumer, leave_consumer, sync_consumer
from groups.classic_join import join_classic
from groups.classic_member import JoinReply, SyncReply, join_refused, protocols_of, sync_refused
from groups.classic_membership import heartbeat_classic, leave_classic, left_as, sync_classic
from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.downgrade import empty_to_classic
from groups.errors import (
    GroupError,
    GroupFull,
    InconsistentProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    NotCoordinator,
    NotLoaded,
    UnknownMember,
)
from groups.topic_room import check_protocols
from groups.topics import Client
from protocol.consumer_protocol import prepare_versions
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from protocol.messages.sync_group import SyncGroupRequest

NULL_PROTOCOL_SINCE = 7
"""Before this version of JoinGroup, an error has an empty protocol name."""
PROTOCOL_SINCE = 5
"""From this version of SyncGroup on, members must say which protocol they think was chosen."""
MEMBERS_SINCE = 3
"""Before this version of LeaveGroup, one member leaves, and its error is the request's."""

# Now, as a thread imports this: members are read on the event loop.
prepare_versions()

LeaveReply = Callable[[LeaveGroupResponse], None]


def _check_group_id(context: Context, group_id: str) -> None:
    """Check that the group id is valid and its partition is loaded.

    Raises: InvalidGroupId, NotLoaded.
    """
    if not group_id.strip():
        raise InvalidGroupId
    context.check_loaded(group_id)


def join_group(context: Context, request: JoinGroupRequest, client: Client, reply: JoinReply) -> None:
    """Let a member join, or join again; the answer comes when the group has gathered."""

    def answer(response: JoinGroupResponse) -> None:
        if client.version < NULL_PROTOCOL_SINCE and response.protocol_name is None:
            response.protocol_name = ""
        reply(response)

    try:
        if not request.group_id.strip():
            raise InvalidGroupId
        config = context.config
        shortest_ms, longest_ms = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
        if not shortest_ms <= request.session_timeout_ms <= longest_ms:
            raise InvalidSessionTimeout
        context.check_loaded(request.group_id)
        _join(context, request, client, answer)
    except GroupError as error:
        # Source: GroupCoordinatorService.joinGroup of Kafka 4.3, also for the order of the checks.
        named = not isinstance(error, GroupFull | NotLoaded | NotCoordinator)
        answer(join_refused(error.code, request.member_id if named else ""))


def _join(context: Context, request: JoinGroupRequest, client: Client, reply: JoinReply) -> None:
    if request.group_id in context.share_groups:
        raise InconsistentProtocol
    # Once for all that follows: a member may have 20,000 of them.
    protocols = protocols_of(request.protocols)
    check_protocols(context, request.group_id, protocols)
    group = context.groups.get(request.group_id)
    if isinstance(group, ConsumerGroup) and group.metadata:
        join_consumer(context, group, request, client, reply)
        return
    if isinstance(group, ConsumerGroup):
        if request.member_id:
            raise UnknownMember
        group = empty_to_classic(context, group)
    join_classic(context, group, request, protocols, client, reply)


def sync_group(context: Context, request: SyncGroupRequest, client: Client, reply: SyncReply) -> None:
    """Give a member its assignment; the answer comes when the leader's is stored."""
    try:
        if client.version >= PROTOCOL_SINCE and None in (request.protocol_type, request.protocol_name):
            raise InconsistentProtocol
        _check_group_id(context, request.group_id)
        group = context.groups.get(request.group_id)
        if group is None:
            raise UnknownMember
        if isinstance(group, ConsumerGroup):
            sync_consumer(context, group, request, reply)
        else:
            sync_classic(context, group, request, reply)
    except GroupError as error:
        reply(sync_refused(error.code))


def heartbeat(context: Context, request: HeartbeatRequest, client: Client) -> HeartbeatResponse:
    """Keep a member alive."""
    try:
        _check_group_id(context, request.group_id)
        group = context.groups.get(request.group_id)
        if group is None:
            raise UnknownMember
        if isinstance(group, ConsumerGroup):
            return heartbeat_consumer(context, group, request, client)
        return heartbeat_classic(context, group, request)
    except NotLoaded:
        # Its session begins when loading ends; an error would only make it look for the coordinator.
        return HeartbeatResponse()
    except GroupError as error:
        return HeartbeatResponse(error_code=error.code)


def leave_group(context: Context, request: LeaveGroupRequest, client: Client, reply: LeaveReply) -> None:
    """Let members leave."""
    identities = request.members
    if client.version < MEMBERS_SINCE:
        identities = [MemberIdentity(member_id=request.member_id)]

    def answer(response: LeaveGroupResponse) -> None:
        if client.version < MEMBERS_SINCE:
            if not response.error_code and response.members:
                response.error_code = response.members[0].error_code
            response.members = []
        reply(response)

    try:
        _check_group_id(context, request.group_id)
    except GroupError as error:
        answer(LeaveGroupResponse(error_code=error.code, members=[]))
        return
    group = context.groups.get(request.group_id)
    if isinstance(group, ConsumerGroup):
        leave_consumer(context, group, identities, answer)
    elif isinstance(group, ClassicGroup):
        answer(leave_classic(context, group, identities))
    else:
        members = [left_as(identity) for identity in identities]
        for member in members:
            member.error_code = ErrorCode.UNKNOWN_MEMBER_ID
        answer(LeaveGroupResponse(members=members))
