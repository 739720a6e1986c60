"""The partitions that a client fetches as a member of groups.

A fetch names neither group nor member; it is taken for one of a member with its client id and host that has
the partition, or has not given it up yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groups.assignment import Partition, partitions_of
from groups.classic_assignment import assignment_of
from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.context import Context, Group
from groups.topics import Client


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
    if isinstance(group, ConsumerGroup):
        yield from _held_in_consumer(group, client)
    else:
        yield from _held_in_classic(context, group, client)


def _held_in_consumer(group: ConsumerGroup, client: Client) -> Iterator[Partition]:
    for member_id, member in group.metadata.items():
        if member.client_id == client.client_id and member.client_host == client.host:
            current = group.assignment(member_id)
            yield from partitions_of(current.assigned)
            yield from partitions_of(current.revoking)


def _held_in_classic(context: Context, group: ClassicGroup, client: Client) -> Iterator[Partition]:
    for member in group.members.values():
        if member.client_id == client.client_id and member.client_host == client.host:
            yield from partitions_of(assignment_of(context.topics, member))
