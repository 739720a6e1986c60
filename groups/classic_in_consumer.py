"""Members that speak the classic protocol in a consumer group, while applications migrate.

To them the group looks classic: the generation is their member epoch, no member is ever the leader, and the
assignment comes with SyncGroup. One round of JoinGroup and SyncGroup is one step of their reconciliation; the
owned partitions in their subscription stand for those of a heartbeat.

    target changes --Heartbeat: 27--> JoinGroup (what it still owns) --> epoch --> SyncGroup --> partitions

Each step must be taken within the rebalance timeout; a member that misses one is removed.
Source: KIP-848, "Classic members"; Kafka 4.3's classicGroupJoinToConsumerGroup and its siblings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from groups.assignment import plain
from groups.changes import Changes, nobody, nothing
from groups.classic_assignment import assignment_blob, by_topic_id
from groups.classic_group import CONSUMER_PROTOCOL
from groups.classic_join import MEMBER_ID_REQUIRED_SINCE, join_classic, rebalance_timeout_ms
from groups.classic_member import JoinReply, SyncReply, join_refused, protocols_of, sync_refused
from groups.classic_membership import left_as
from groups.consumer_group import ConsumerGroup
from groups.consumer_leave import leaving_member
from groups.consumer_member import ClassicMetadata, MemberMetadata
from groups.consumer_members import check_size, new_member_id, replace_static, set_metadata
from groups.consumer_sessions import (
    cancel_timer,
    fence,
    note_beat,
    reconcile,
    remove_after,
    start_session,
)
from groups.consumer_target import assign_when_due
from groups.context import Context
from groups.downgrade import can_become_classic, to_classic
from groups.errors import (
    FencedInstance,
    GroupError,
    IllegalGeneration,
    InconsistentProtocol,
    RebalanceInProgress,
    UnknownMember,
)
from groups.ownership import held_by_others
from groups.read_subscription import subscription_of
from groups.sorted_names import sorted_names
from groups.states import MemberState
from groups.timers import TimerKey
from groups.topics import Client
from protocol.consumer_protocol import TopicPartition
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

LeaveReply = Callable[[LeaveGroupResponse], None]


def join_consumer(
    context: Context, group: ConsumerGroup, request: JoinGroupRequest, client: Client, reply: JoinReply
) -> None:
    """Serve a JoinGroup.

    Raises: GroupError.
    """
    member_id = request.member_id or new_member_id(context)
    check_size(context, group, member_id)
    wanted, owned = _wanted(group, request, client, member_id)
    instance_id = request.group_instance_id
    if not request.member_id and instance_id is None and client.version >= MEMBER_ID_REQUIRED_SINCE:
        reply(join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))
        return
    with Changes(context, group.group_id) as changes:
        _take_place(changes, group, request, member_id)
        resubscribed = set_metadata(context, changes, group, member_id, wanted)
        if can_become_classic(context, group, ()):
            # The last member that spoke the consumer protocol was this one's former self.
            _join_as_classic(context, changes, group, request, client, reply, member_id)
            return
        before = plain(group.assignment(member_id).assigned)
        assign_when_due(context, changes, group)
        reconcile(
            context,
            changes,
            group,
            member_id,
            by_topic_id(context.topics, owned),
            resubscribed=resubscribed,
        )
        moved = plain(group.assignment(member_id).assigned) != before
        note_beat(context, group, member_id, client, polled=True, subscribed=resubscribed, moved=moved)
        response = JoinGroupResponse(
            generation_id=group.assignment(member_id).epoch,
            protocol_type=CONSUMER_PROTOCOL,
            protocol_name=request.protocols[0].name,
            leader="",
            member_id=member_id,
            members=[],
        )
        start_session(context, group, member_id)
        cancel_timer(context, group.group_id, member_id, "join")
        remove_after(context, group.group_id, member_id, "sync", wanted.rebalance_timeout_ms)
        changes.commit(lambda: reply(response), lambda code: reply(join_refused(code, member_id)))


def _wanted(
    group: ConsumerGroup, request: JoinGroupRequest, client: Client, member_id: str
) -> tuple[MemberMetadata, list[TopicPartition]]:
    """Return what the member wants, and the partitions it says it owns.

    Raises: InconsistentProtocol.
    """
    protocols = protocols_of(request.protocols)
    others = [group.metadata[other].classic for other in group.classic_members() if other != member_id]
    common = {name for name, _ in protocols}.intersection(
        *({name for name, _ in other.protocols} for other in others if other is not None)
    )
    if request.protocol_type != CONSUMER_PROTOCOL or not common:
        raise InconsistentProtocol(f"Member {member_id}'s protocols are not supported.")
    try:
        subscription = subscription_of(request.protocols)
    except Malformed as error:
        raise InconsistentProtocol(f"Member {member_id}'s subscription cannot be read: {error}") from error
    metadata = MemberMetadata(
        client_id=client.client_id,
        client_host=client.host,
        instance_id=request.group_instance_id,
        rack_id=subscription.rack_id,
        topics=sorted_names(subscription.topics),
        rebalance_timeout_ms=rebalance_timeout_ms(request),
        classic=ClassicMetadata(request.session_timeout_ms, protocols),
    )
    return metadata, subscription.owned_partitions


def _take_place(changes: Changes, group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> None:
    """Let a restarted static member take the place of its former self.

    Raises: UnknownMember, FencedInstance.
    """
    instance_id = request.group_instance_id
    if instance_id is None:
        return
    holder = group.instances.get(instance_id)
    if request.member_id:
        if holder is None:
            raise UnknownMember(f"Instance id {instance_id} is unknown.")
        if holder != member_id:
            raise FencedInstance
    elif holder is not None:
        replace_static(changes, group, holder, member_id)


def _join_as_classic(
    context: Context,
    changes: Changes,
    group: ConsumerGroup,
    request: JoinGroupRequest,
    client: Client,
    reply: JoinReply,
    member_id: str,
) -> None:
    """Make the group a classic one, and let the member join the rebalance that this begins."""
    made = to_classic(context, changes, group, ())
    changes.commit(nothing, nobody)
    protocols = protocols_of(request.protocols)
    join_classic(context, made, replace(request, member_id=member_id), protocols, client, reply)


# --- after joining ------------------------------------------------------------------------------------------


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> MemberMetadata:
    """Return the member that a request comes from.

    Raises: UnknownMember, FencedInstance, IllegalGeneration.
    """
    if instance_id is not None:
        holder = group.instances.get(instance_id)
        if holder not in (None, member_id):
            raise FencedInstance
        if holder is None:
            raise UnknownMember
    member = group.metadata.get(member_id)
    if member is None or member.classic is None:
        raise UnknownMember
    if group.assignment(member_id).epoch != generation:
        raise IllegalGeneration
    return member


def _is_outdated(group: ConsumerGroup, member_id: str) -> bool:
    """Whether the target has moved on and the member has nothing to give up first."""
    current = group.assignment(member_id)
    return current.epoch < group.target_epoch and current.state != MemberState.UNREVOKED_PARTITIONS


def _must_join(group: ConsumerGroup, member_id: str) -> bool:
    """Whether the member must join again: to follow the target, to give up partitions or to get some."""
    current = group.assignment(member_id)
    if current.epoch < group.target_epoch or current.state == MemberState.UNREVOKED_PARTITIONS:
        return True
    if current.state != MemberState.UNRELEASED_PARTITIONS:
        return False
    target = group.target_of(member_id)
    return not any(held_by_others(group.owners, member_id, topic_id, target[topic_id]) for topic_id in target)


def sync_consumer(
    context: Context, group: ConsumerGroup, request: SyncGroupRequest, reply: SyncReply
) -> None:
    """Tell a member its assignment.

    Raises: UnknownMember, FencedInstance, IllegalGeneration, InconsistentProtocol, RebalanceInProgress.
    """
    member_id = request.member_id
    member = _classic_member(group, member_id, request.group_instance_id, request.generation_id)
    assert member.classic is not None
    if request.protocol_type not in (None, CONSUMER_PROTOCOL):
        raise InconsistentProtocol
    if request.protocol_name not in (None, member.classic.protocols[0][0]):
        raise InconsistentProtocol
    if _is_outdated(group, member_id):
        _expect_join(context, group, member_id, member)
        raise RebalanceInProgress
    cancel_timer(context, group.group_id, member_id, "sync")
    start_session(context, group, member_id)
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=assignment_blob(context.topics, plain(group.assignment(member_id).assigned)),
    )
    with Changes(context, group.group_id) as changes:
        changes.commit(lambda: reply(response), lambda code: reply(sync_refused(code)))


def _expect_join(context: Context, group: ConsumerGroup, member_id: str, member: MemberMetadata) -> None:
    """Remove the member unless its JoinGroup comes within the rebalance timeout."""
    if TimerKey("join", group.group_id, member_id) not in context.timers:
        remove_after(context, group.group_id, member_id, "join", member.rebalance_timeout_ms)


def heartbeat_consumer(
    context: Context, group: ConsumerGroup, request: HeartbeatRequest, client: Client
) -> HeartbeatResponse:
    """Keep a member alive, and tell it whether it must join again.

    Raises: UnknownMember, FencedInstance, IllegalGeneration.
    """
    member_id = request.member_id
    member = _classic_member(group, member_id, request.group_instance_id, request.generation_id)
    start_session(context, group, member_id)
    note_beat(context, group, member_id, client, polled=False, subscribed=False, moved=False)
    if not _must_join(group, member_id):
        return HeartbeatResponse()
    _expect_join(context, group, member_id, member)
    return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


def leave_consumer(
    context: Context, group: ConsumerGroup, identities: list[MemberIdentity], reply: LeaveReply
) -> None:
    """Remove members, whichever protocol they speak: administrators use this for both."""
    answers = []
    leaving = []
    for identity in identities:
        answer = left_as(identity)
        answers.append(answer)
        try:
            member_id = leaving_member(group, identity.member_id, identity.group_instance_id)
        except GroupError as error:
            answer.error_code = error.code
        else:
            leaving.append(member_id)
    response = LeaveGroupResponse(members=answers)
    with Changes(context, group.group_id) as changes:
        if leaving:
            fence(context, changes, group, dict.fromkeys(leaving))
        changes.commit(
            lambda: reply(response),
            lambda code: reply(LeaveGroupResponse(error_code=code, members=[])),
        )
