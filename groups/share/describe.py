"""ShareGroupDescribe, and share groups in ListGroups: the groups as seen from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groups.assignment import Assignment
from groups.context import Context
from groups.describe import PER_STEP, Steps
from groups.errors import GroupError, GroupNotFound, InvalidGroupId
from groups.repeats import Repeats
from groups.share.group_records import ShareCurrent, ShareMember
from groups.share.group_table import ShareGroups
from protocol.error_codes import ErrorCode
from protocol.messages import share_group_describe as messages
from protocol.messages.list_groups import ListedGroup
from protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse

GROUP_TYPE: Final = "share"
"""The type, and the protocol, of share groups in ListGroups.  Source: Kafka's ShareGroup."""

ASSIGNOR: Final = "simple"


def list_share_groups(table: ShareGroups) -> Iterator[ListedGroup]:
    """Yield all share groups as ListGroups shows them."""
    # A copy: groups may come and go between two steps.
    for group_id, group in tuple(table.groups.items()):
        yield ListedGroup(
            group_id=group_id,
            protocol_type=GROUP_TYPE,
            group_state=group.state.value,
            group_type=GROUP_TYPE,
        )


def describe_share_groups(
    table: ShareGroups, request: ShareGroupDescribeRequest
) -> Steps[ShareGroupDescribeResponse]:
    """Describe share groups, each as it is at one moment; an error concerns one group alone."""
    groups = []
    repeats = Repeats()
    for number, group_id in enumerate(request.group_ids, start=1):
        if not number % PER_STEP:
            yield
        try:
            if not group_id.strip():
                raise InvalidGroupId
            table.context.check_loaded(group_id)
            repeats.check(group_id, table.context.memory.group_bytes(group_id))
            groups.append((yield from _describe(table, group_id)))
        except GroupError as error:
            groups.append(refused_group(group_id, error.code, error.message))
    return ShareGroupDescribeResponse(groups=groups)


def refused_group(group_id: str, code: ErrorCode, message: str | None) -> messages.DescribedGroup:
    """Return the answer for a group that is not shown."""
    return messages.DescribedGroup(
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _describe(table: ShareGroups, group_id: str) -> Steps[messages.DescribedGroup]:
    group = table.groups.get(group_id)
    if group is None:
        known = table.context.exists(group_id)
        raise GroupNotFound(f"Group {group_id} {'is not a share group' if known else 'not found'}.")
    described = messages.DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=ASSIGNOR,
        members=[],
    )
    # Each of them is replaced, never changed.
    had = [(member_id, member, group.current_of(member_id)) for member_id, member in group.members.items()]
    for number, (member_id, member, current) in enumerate(had, start=1):
        described.members.append(_member(table.context, member_id, member, current))
        if not number % PER_STEP:
            yield
    return described


def _member(context: Context, member_id: str, member: ShareMember, current: ShareCurrent) -> messages.Member:
    return messages.Member(
        member_id=member_id,
        rack_id=member.rack_id,
        member_epoch=current.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        assignment=_assignment(context, current.assigned),
    )


def _assignment(context: Context, assigned: Assignment) -> messages.Assignment:
    known = context.topics.by_id
    return messages.Assignment(
        topic_partitions=[
            messages.TopicPartitions(
                topic_id=topic_id, topic_name=known[topic_id].name, partitions=sorted(partitions)
            )
            for topic_id, partitions in assigned.items()
            if topic_id in known
        ]
    )
