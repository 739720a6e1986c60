"""The partitions that a client fetches as a member of groups.

A fetch names neither group nor member; it is taken for one of a member with its client id and host that has
the partition, or has not given it up yet.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator
from itertools import islice
from typing import Final

from groups.assignment import Partition, partitions_of
from groups.classic_assignment import assignment_of
from groups.classic_member import ClassicMember
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import MemberMetadata
from groups.context import Context, Group
from groups.topics import Client

MEMBERS_PER_STEP: Final = 500
"""The members looked at between two looks at the time, at 0.2 us each."""

ClientKey = tuple[str, str]
"""The host of a client, as Kafka shows it, and its client id."""

Memberships = dict[ClientKey, dict[str, set[Partition]]]
"""The groups of which clients are members, and the partitions that they have for each, maybe none."""

Member = MemberMetadata | ClassicMember


def fetched_by(
    context: Context, client: Client, group_ids: Collection[str] | None = None
) -> dict[str, set[Partition]]:
    """Return the partitions of the client's members, by group: of all groups, or of these."""
    found: dict[str, set[Partition]] = {}
    for group_id in context.groups if group_ids is None else group_ids:
        group = context.groups.get(group_id)
        held = set() if group is None else set(_held(context, group, client))
        if held:
            found[group_id] = held
    return found


def _held(context: Context, group: Group, client: Client) -> Iterator[Partition]:
    for member_id, member in _members(group):
        if member.client_id == client.client_id and member.client_host == client.host:
            yield from _held_by(context, group, member_id, member)


def _members(group: Group) -> Collection[tuple[str, Member]]:
    return group.metadata.items() if isinstance(group, ConsumerGroup) else group.members.items()


def _held_by(context: Context, group: Group, member_id: str, member: Member) -> Iterator[Partition]:
    if isinstance(group, ConsumerGroup):
        current = group.assignment(member_id)
        yield from partitions_of(current.assigned)
        yield from partitions_of(current.revoking)
    elif isinstance(member, ClassicMember):
        yield from partitions_of(assignment_of(context.topics, member))


def memberships(
    context: Context, clients: Collection[ClientKey], group_ids: Collection[str] | None = None
) -> Generator[None, None, Memberships]:
    """Return the memberships of these clients, in all groups or in these.

    Between two steps groups may change: each member is looked at after the call.
    """
    found: Memberships = {}
    for group_id in list(context.groups) if group_ids is None else group_ids:
        group = context.groups.get(group_id)
        members = iter(()) if group is None else iter(list(_members(group)))
        while some := list(islice(members, MEMBERS_PER_STEP)):
            for member_id, member in some:
                key = member.client_host, member.client_id
                if key in clients and group is not None:
                    places = found.setdefault(key, {}).setdefault(group_id, set())
                    places.update(_held_by(context, group, member_id, member))
            if len(some) == MEMBERS_PER_STEP:
                yield
    return found


def rounds(context: Context, group_ids: Collection[str]) -> tuple[tuple[str, int, int], ...]:
    """Return epoch or generation, and the number of members, of each of these groups that exists."""
    found: list[tuple[str, int, int]] = []
    for group_id in group_ids:
        group = context.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            found.append((group_id, group.epoch, len(group.metadata)))
        elif group is not None:
            found.append((group_id, group.generation, len(group.members)))
    return tuple(found)
