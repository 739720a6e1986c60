"""The partitions that a client fetches as a member of groups.

A fetch names neither group nor member; it is taken for one of a member with its client id and host
(clients.py) that has the partition, or has not given it up yet.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from itertools import islice
from typing import Final
from uuid import UUID

from groups.consumer_group import ConsumerGroup
from groups.context import Context
from protocol.consumer_protocol import decode_assignment
from protocol.errors import Malformed

GROUPS_PER_STEP: Final = 1_000
"""The groups looked at between two looks at the time, at 0.3 us each."""

ById = Mapping[UUID, Collection[int]]
ByName = Mapping[str, Collection[int]]
"""Partitions by topic; whether there is one of them is found out fast."""

Round = tuple[str, int, int]
"""A group, its epoch or generation, and the number of its members."""


def held(context: Context, group_id: str, member_id: str) -> tuple[ById, ...] | bytes:
    """Return what a member has, and what it gives up; of a classic member its encoded assignment.

    They are values: they stay as they are when the member gets others.
    """
    group = context.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        current = group.assignment(member_id)
        return current.assigned, current.revoking
    member = None if group is None else group.members.get(member_id)
    return b"" if member is None else member.assignment


def by_name(assignment: bytes) -> tuple[ByName, ...]:
    """Return the partitions of a classic assignment, whether they exist or not; none if it is unreadable.

    The largest ones take 0.1 s.
    """
    try:
        topics = decode_assignment(assignment).assigned_partitions
    except Malformed:
        return ()
    found: dict[str, frozenset[int]] = {}
    for topic in topics:
        before = found.get(topic.topic)
        found[topic.topic] = before.union(topic.partitions) if before else frozenset(topic.partitions)
    return (found,)


def rounds(context: Context, group_ids: Collection[str]) -> Generator[None, None, tuple[Round, ...]]:
    """Return the rounds of those of these groups that exist, each at the time of its step."""
    found: list[Round] = []
    remaining = iter(group_ids)
    while some := tuple(islice(remaining, GROUPS_PER_STEP)):
        for group_id in some:
            group = context.groups.get(group_id)
            if isinstance(group, ConsumerGroup):
                found.append((group_id, group.epoch, len(group.metadata)))
            elif group is not None:
                found.append((group_id, group.generation, len(group.members)))
        yield
    return tuple(found)
