"""DescribeGroups, ConsumerGroupDescribe and ListGroups: groups as seen from outside."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from typing import Final, TypeVar

from groups.assignment import NOTHING, Assignment, plain, union
from groups.classic_group import CONSUMER_PROTOCOL
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import NEW_MEMBER, MemberAssignment, MemberMetadata
from groups.consumer_target import assignor_of
from groups.context import Context
from groups.errors import GroupError, GroupNotFound, InvalidGroupId, NotCoordinator, NotLoaded
from groups.repeats import Repeats
from groups.states import GroupState
from groups.topics import Topics
from protocol.messages import consumer_group_describe as consumer_describe
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

NOT_FOUND_ERROR_SINCE = 6
"""Before this version of DescribeGroups, a group that does not exist is described as Dead."""
CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1

PER_STEP: Final = 25
"""The groups, or members of one, described between two steps."""

LISTED_PER_STEP: Final = 100
"""The same of groups that are only listed."""

Response = TypeVar("Response")

Steps = Generator[None, None, Response]
"""Steps that return the answer: very many groups may be named, and each may have very many members."""


# --- ListGroups ---------------------------------------------------------------------------------------------


def list_groups(
    context: Context, request: ListGroupsRequest, share_groups: Iterable[ListedGroup] = ()
) -> Steps[ListGroupsResponse]:
    """List the groups in some states and of some types; case does not matter."""
    if len(context.loaded) < context.config.offsets_topic_num_partitions:
        return ListGroupsResponse(error_code=NotLoaded.code, groups=[])
    # Without a line of Python for each: 20,000 may be named.
    states = set(map(str.lower, request.states_filter))
    types = set(map(str.lower, request.types_filter))
    groups = []
    for number, group in enumerate(chain(_listed(context), share_groups), start=1):
        if (not states or group.group_state.lower() in states) and (
            not types or group.group_type.lower() in types
        ):
            groups.append(group)
        if not number % LISTED_PER_STEP:
            yield
    return ListGroupsResponse(groups=groups)


def _listed(context: Context) -> Iterator[ListedGroup]:
    # A copy: groups may come and go between two steps.
    groups = dict(context.groups)
    for group_id, group in groups.items():
        if isinstance(group, ConsumerGroup):
            kind, protocol_type = "consumer", CONSUMER_PROTOCOL
        else:
            kind, protocol_type = "classic", group.protocol_type or ""
        yield ListedGroup(
            group_id=group_id,
            protocol_type=protocol_type,
            group_state=group.state.value,
            group_type=kind,
        )
    for group_id in tuple(context.offsets.groups()):
        if group_id not in groups:
            yield ListedGroup(
                group_id=group_id,
                protocol_type="",
                group_state=GroupState.EMPTY.value,
                group_type="classic",
            )


# --- DescribeGroups -----------------------------------------------------------------------------------------


def describe_groups(
    context: Context, request: DescribeGroupsRequest, version: int
) -> Steps[DescribeGroupsResponse]:
    """Describe classic groups, each as it is at one moment."""
    groups = []
    repeats = Repeats()
    for number, group_id in enumerate(request.groups, start=1):
        if not number % PER_STEP:
            yield
        try:
            context.check_loaded(group_id)
            repeats.check(group_id, context.memory.group_bytes(group_id))
            groups.append((yield from _describe_classic(context, group_id)))
        except GroupError as error:
            is_elsewhere = isinstance(error, NotLoaded | NotCoordinator)
            described = _blank(group_id, "" if is_elsewhere else GroupState.DEAD.value)
            if version >= NOT_FOUND_ERROR_SINCE or not isinstance(error, GroupNotFound):
                described.error_code = error.code
                described.error_message = error.message if version >= NOT_FOUND_ERROR_SINCE else None
            groups.append(described)
    return DescribeGroupsResponse(groups=groups)


def _blank(group_id: str, state: str) -> DescribedGroup:
    return DescribedGroup(
        group_id=group_id, group_state=state, protocol_type="", protocol_data="", members=[]
    )


def _describe_classic(context: Context, group_id: str) -> Steps[DescribedGroup]:
    group = context.groups.get(group_id)
    context.check_no_share(group_id, "classic")
    if not context.exists(group_id):
        raise GroupNotFound(f"Group {group_id} not found.")
    if isinstance(group, ConsumerGroup):
        raise GroupNotFound(f"Group {group_id} is not a classic group.")
    described = _blank(group_id, (GroupState.EMPTY if group is None else group.state).value)
    if group is None:
        return described
    stable = group.state == GroupState.STABLE
    described.protocol_type = group.protocol_type or ""
    described.protocol_data = group.protocol or "" if stable else ""
    # What a member has may change between two steps; the protocol is not settled during a rebalance.
    had = [
        (member, member.metadata(group.protocol) if stable else b"", member.assignment)
        for member in group.members.values()
    ]
    for number, (member, metadata, assignment) in enumerate(had, start=1):
        described.members.append(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=metadata,
                member_assignment=assignment,
            )
        )
        if not number % PER_STEP:
            yield
    return described


# --- ConsumerGroupDescribe ----------------------------------------------------------------------------------


def describe_consumer_groups(
    context: Context, request: ConsumerGroupDescribeRequest
) -> Steps[ConsumerGroupDescribeResponse]:
    """Describe consumer groups, each as it is at one moment."""
    groups = []
    repeats = Repeats()
    for number, group_id in enumerate(request.group_ids, start=1):
        if not number % PER_STEP:
            yield
        try:
            if not group_id.strip():
                raise InvalidGroupId
            context.check_loaded(group_id)
            repeats.check(group_id, context.memory.group_bytes(group_id))
            groups.append((yield from _describe_consumer(context, group_id)))
        except GroupError as error:
            groups.append(
                consumer_describe.DescribedGroup(
                    error_code=error.code,
                    error_message=error.message,
                    group_id=group_id,
                    group_state="",
                    group_epoch=0,
                    assignment_epoch=0,
                    assignor_name="",
                    members=[],
                )
            )
    return ConsumerGroupDescribeResponse(groups=groups)


def _describe_consumer(context: Context, group_id: str) -> Steps[consumer_describe.DescribedGroup]:
    group = context.consumer(group_id)
    if group is None:
        known = context.exists(group_id) or group_id in context.share_groups
        raise GroupNotFound(f"Group {group_id} {'is not a consumer group' if known else 'not found'}.")
    described = consumer_describe.DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=assignor_of(context.config, group),
        members=[],
    )
    # Each of them is replaced, never changed.
    members, current, target = list(group.metadata.items()), dict(group.current), dict(group.target)
    for number, (member_id, member) in enumerate(members, start=1):
        assignment = current.get(member_id, NEW_MEMBER)
        described.members.append(
            _describe_member(context.topics, member_id, member, assignment, target.get(member_id, NOTHING))
        )
        if not number % PER_STEP:
            yield
    return described


def _describe_member(
    topics: Topics,
    member_id: str,
    member: MemberMetadata,
    current: MemberAssignment,
    target: Assignment,
) -> consumer_describe.Member:
    return consumer_describe.Member(
        member_id=member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=current.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        # It owns partitions until it has acknowledged that they are revoked.
        assignment=_described(topics, plain(union(current.assigned, current.revoking))),
        target_assignment=_described(topics, target),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _described(topics: Topics, assignment: Assignment) -> consumer_describe.Assignment:
    return consumer_describe.Assignment(
        topic_partitions=[
            consumer_describe.TopicPartitions(
                topic_id=topic_id, topic_name=topics.by_id[topic_id].name, partitions=sorted(partitions)
            )
            for topic_id, partitions in assignment.items()
            if topic_id in topics.by_id
        ]
    )
