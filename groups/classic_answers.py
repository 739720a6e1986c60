"""The answers to members of a classic group that have joined, and to those that ask for their assignment."""

from __future__ import annotations

from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember
from protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from protocol.messages.sync_group import SyncGroupResponse


def leads(group: ClassicGroup, member: ClassicMember) -> bool:
    """Whether the member assigns the partitions."""
    return group.leader == member.member_id and not group.server_assigned


def joined(group: ClassicGroup, member: ClassicMember) -> JoinGroupResponse:
    """Return a member's answer about the generation; the leader also gets the members, to assign to them."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader="" if group.server_assigned else group.leader or "",
        member_id=member.member_id,
        members=members_for_leader(group) if leads(group, member) else [],
    )


def members_for_leader(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """Return all members with their metadata for the chosen protocol; a thread may call it."""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol),
        )
        for member in tuple(group.members.values())
    ]


def assigned(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """Return the answer to a member that asks for its assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )
