"""JoinGroup to a classic group, or to one that does not exist yet.

A dynamic member without an id is given one and joins with it in a second request (v4+), so that a client
that gave up on its first request leaves no member behind. A static member comes back under its instance id
and gets its old place without a rebalance, unless that changes what the group agreed on.
Source: KIP-62, KIP-345, KIP-394, KIP-814; Kafka 4.3's GroupMetadataManager.classicGroupJoin.
"""

from __future__ import annotations

from typing import NamedTuple

from groups.changes import Changes
from groups.classic_answers import joined, members_for_leader
from groups.classic_group import ClassicGroup
from groups.classic_member import (
    ClassicMember,
    JoinReply,
    Protocols,
    join_refused,
    sync_refused,
)
from groups.classic_rebalance import (
    complete_if_gathered,
    keep_pending,
    prepare,
    prepare_or_complete,
    start_session,
)
from groups.classic_removal import end_session
from groups.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from groups.context import Context
from groups.errors import (
    CoordinatorNotAvailable,
    FencedInstance,
    GroupFull,
    InconsistentProtocol,
    UnknownMember,
)
from groups.record_keys import ClassicGroupKey
from groups.states import ANSWERS, Action, GroupState, Request
from groups.topics import Client
from groups.weights import count_member, count_pending, joining_bytes
from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupRequest
from protocol.primitives import STRING_SIZE_MAX, cut_text

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


class Join(NamedTuple):
    """A request, of whom it is, and where its answer goes."""

    request: JoinGroupRequest
    protocols: Protocols
    client: Client
    reply: JoinReply


def join_classic(
    context: Context,
    group: ClassicGroup | None,
    request: JoinGroupRequest,
    protocols: Protocols,
    client: Client,
    reply: JoinReply,
) -> None:
    """Serve a JoinGroup; `protocols` are those of the request.

    Raises: GroupError.
    """
    join = Join(request, protocols, client, reply)
    _check_memory(context, group, join)
    if group is None:
        if request.member_id:
            raise UnknownMember
        group = ClassicGroup(request.group_id, since_ms=context.wall_ms)
        if not group.supports(request.protocol_type, protocols):
            raise InconsistentProtocol
        context.put_group(request.group_id, group)
    if not _has_room(context, group, request.member_id):
        group.remove(request.member_id)
        context.memory.count(group.group_id, request.member_id, "", 0)
        end_session(context, group, request.member_id)
        complete_if_gathered(context, group)
        raise GroupFull
    if not group.supports(request.protocol_type, protocols):
        raise InconsistentProtocol
    if request.member_id:
        _join_with_id(context, group, join)
    else:
        _join_without_id(context, group, join)


def _check_memory(context: Context, group: ClassicGroup | None, join: Join) -> None:
    """Check that there is memory for what the member says about itself.

    Raises: GroupFull, CoordinatorNotAvailable.
    """
    slot = join.request.member_id
    if group is not None and not slot:
        slot = group.instances.get(join.request.group_instance_id or "", "")
    size = joining_bytes(slot, join.client.client_id, join.request.group_instance_id, join.protocols)
    context.memory.check(context.config, join.request.group_id, slot, join.client.host, size)


def _has_room(context: Context, group: ClassicGroup, member_id: str) -> bool:
    """Whether the member may join; while members gather, the first to come may stay."""
    size_max = context.config.group_max_size
    known = group.members.get(member_id)
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return (known is not None and known.join is not None) or group.waiting_joins < size_max
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            return known is not None or len(group.members) < size_max
        case _:
            return True


def _new_member_id(context: Context, name: str) -> str:
    """Return an id that begins with what the client calls itself, as far as a string has room for it."""
    suffix = f"-{context.new_uuid()}"
    return cut_text(name, STRING_SIZE_MAX - len(suffix)) + suffix


def _join_without_id(context: Context, group: ClassicGroup, join: Join) -> None:
    instance_id = join.request.group_instance_id
    member_id = _new_member_id(context, join.client.client_id if instance_id is None else instance_id)
    if instance_id is not None and instance_id in group.instances:
        _replace_static(context, group, join, member_id)
    elif instance_id is None and join.client.version >= MEMBER_ID_REQUIRED_SINCE:
        group.pending.add(member_id)
        count_pending(context.memory, group, member_id, join.client.host)
        keep_pending(context, group, member_id, join.request.session_timeout_ms)
        join.reply(join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        _add(context, group, join, member_id)


def _join_with_id(context: Context, group: ClassicGroup, join: Join) -> None:
    member_id = join.request.member_id
    if member_id in group.pending and join.request.group_instance_id is None:
        _add(context, group, join, member_id)
        return
    member = known_member(group, member_id, join.request.group_instance_id)
    changed = member.protocols != join.protocols
    what = Request.REJOIN_CHANGED if changed else Request.REJOIN
    if group.leader == member_id and not changed and not group.server_assigned:
        what = Request.REJOIN_LEADER
    answer = ANSWERS[group.state][what]
    if answer == Action.TELL_GENERATION and group.skipped:
        # The group was just loaded: the member may know a later generation, which the crash undid.
        answer = Action.REBALANCE
    match answer:
        case Action.TELL_GENERATION:
            start_session(context, group, member)
            join.reply(joined(group, member))
        case Action.PARK | Action.REBALANCE:
            _rejoin(context, group, member, join)
            prepare_or_complete(context, group)
        case ErrorCode.COORDINATOR_NOT_AVAILABLE:
            raise CoordinatorNotAvailable
        case _:
            raise UnknownMember


def known_member(group: ClassicGroup, member_id: str, instance_id: str | None) -> ClassicMember:
    """Return the member.

    Raises: UnknownMember; FencedInstance if another member has taken its instance id.
    """
    if instance_id is not None:
        holder = group.instances.get(instance_id)
        if holder is None:
            raise UnknownMember
        if holder != member_id:
            raise FencedInstance
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMember
    return member


def _add(context: Context, group: ClassicGroup, join: Join, member_id: str) -> None:
    if not group.members:
        group.protocol_type = join.request.protocol_type
    member = ClassicMember(
        member_id,
        instance_id=join.request.group_instance_id,
        client_id=join.client.client_id,
        client_host=join.client.host,
        session_timeout_ms=join.request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(join.request),
        protocols=join.protocols,
    )
    member.is_new = True
    member.join = join.reply
    member.activity.user = join.client.user
    _note_join(context, member, resubscribed=True)
    group.add(member)
    count_member(context.memory, group, member)
    group.more_have_joined = True
    start_session(context, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    prepare_or_complete(context, group)


def rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """Return how long the member may take to join again; v0 uses the session timeout for that."""
    return request.session_timeout_ms if request.rebalance_timeout_ms < 0 else request.rebalance_timeout_ms


def _rejoin(context: Context, group: ClassicGroup, member: ClassicMember, join: Join) -> None:
    """Adopt what the request says, and let it wait for the rebalance."""
    _note_join(context, member, resubscribed=join.protocols != member.protocols)
    # A client that asks twice has given up on its first request, which must be answered all the same.
    member.answer_join(join_refused(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    member.protocols = join.protocols
    member.rebalance_timeout_ms = rebalance_timeout_ms(join.request)
    member.session_timeout_ms = join.request.session_timeout_ms
    member.join = join.reply
    count_member(context.memory, group, member)


def _note_join(context: Context, member: ClassicMember, *, resubscribed: bool) -> None:
    wall_ms = context.wall_ms
    member.activity.polled_ms = member.activity.heartbeat_ms = wall_ms
    member.activity.joined_ms = member.activity.joined_ms or wall_ms
    if resubscribed:
        member.activity.subscribed_ms = wall_ms


# --- static members -----------------------------------------------------------------------------------------


def _replace_static(context: Context, group: ClassicGroup, join: Join, member_id: str) -> None:
    """Give a restarted static member the place of its former self, which is fenced."""
    old_id = group.instances[join.request.group_instance_id or ""]
    old = group.members[old_id]
    former_leader = group.leader
    before = (old.protocols, old.session_timeout_ms, old.rebalance_timeout_ms)
    end_session(context, group, old_id)
    old.answer_join(join_refused(ErrorCode.FENCED_INSTANCE_ID, old_id))
    old.answer_sync(sync_refused(ErrorCode.FENCED_INSTANCE_ID))
    member = group.replace_static(old_id, member_id)
    context.memory.count(group.group_id, old_id, "", 0)
    member.client_id, member.client_host = join.client.client_id, join.client.host
    _rejoin(context, group, member, join)
    start_session(context, group, member)
    match group.state:
        case GroupState.STABLE if group.choose_protocol() == group.protocol:
            _store_replacement(context, group, member, join.client, old_id, former_leader, before)
        case GroupState.STABLE | GroupState.COMPLETING_REBALANCE:
            prepare(context, group)
        case _:
            complete_if_gathered(context, group)


def _store_replacement(
    context: Context,
    group: ClassicGroup,
    member: ClassicMember,
    client: Client,
    old_id: str,
    former_leader: str | None,
    before: tuple[Protocols, int, int],
) -> None:
    """Store the new id, then answer with the current generation; other members do not notice."""
    new_id = member.member_id
    generation = group.generation

    def stored() -> None:
        response = joined(group, member)
        if client.version < SKIP_ASSIGNMENT_SINCE:
            # It must not assign again: for these clients the former self still leads (KAFKA-7728, KIP-814).
            response.leader = former_leader or ""
            response.members = []
        elif group.leader == new_id:
            response.members = members_for_leader(group)
            response.skip_assignment = True
        if group.generation == generation and group.state == GroupState.STABLE:
            member.answer_join(response)

    def failed(code: ErrorCode) -> None:
        member.answer_join(join_refused(code))
        if group.members.get(new_id) is member:
            group.replace_static(new_id, old_id)
            member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms = before
            context.memory.count(group.group_id, new_id, "", 0)
            count_member(context.memory, group, member)
            end_session(context, group, new_id)
            start_session(context, group, member)

    with Changes(context, group.group_id) as changes:
        changes.write(ClassicGroupKey(group.group_id), group.record())
        changes.commit(stored, failed)
