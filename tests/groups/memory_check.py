"""The check that every step of these tests ends with: what is counted, also by client, is what they have."""

from __future__ import annotations

from typing import Any

from groups.clients import ClientKey, MemberId
from groups.context import Context
from groups.fetchers import by_name, held
from groups.memory import GroupMemory
from groups.offsets import READER_BYTES, weight_of
from groups.staged_offsets import STAGED_BYTES
from groups.weights import count_group

CHECKED_EACH_TIME = 40
"""The groups and offsets up to which what is counted is checked after each step."""


def is_checked_at(step: int, context: Context) -> bool:
    """Whether what is counted is checked after a step: the more there is, the fewer of them."""
    return step % (1 + (len(context.offsets) + len(context.groups)) // CHECKED_EACH_TIME) == 0


def check_memory(context: Context) -> None:
    """Check that exactly what the groups have is counted, but for the programs of expressions."""
    anew = GroupMemory()
    for group_id, group in context.groups.items():
        count_group(anew, group)
        found, expected = context.memory.entries(group_id), anew.entries(group_id)
        assert found.keys() == expected.keys(), f"group {group_id!r}: {found} instead of {expected}"
        for slot, size_bytes in expected.items():
            is_regex = isinstance(slot, tuple) and slot[0] == "regex"
            assert found[slot] == size_bytes or is_regex, f"{slot} of group {group_id!r}"
    assert context.memory.clients._clients == anew.clients._clients, "the members by client are these"
    assert context.memory.size_bytes == sum(
        map(context.memory.group_bytes, [*context.groups, *context.share_groups])
    )
    check_offsets(context)


class Follower:
    """Code that follows a client by the changes of its members alone."""

    def __init__(self, key: ClientKey) -> None:
        self._key = key
        self._noted: dict[MemberId, Any] = {}

    def check(self, context: Context) -> None:
        """Check that what is noted is what the members have."""
        clients = context.memory.clients
        if not clients.watches(self._key):
            clients.watch(self._key)
            self._noted = {member: _partitions(context, member) for member in clients.members_of(self._key)}
        for member in clients.take(self._key):
            self._noted.pop(member, None)
            if clients.has(self._key, member):
                self._noted[member] = _partitions(context, member)
        assert self._noted == {
            member: _partitions(context, member) for member in clients.members_of(self._key)
        }


def _partitions(context: Context, member: MemberId) -> Any:
    found = held(context, *member)
    parts = by_name(found) if isinstance(found, bytes) else found
    return [{topic: set(indexes) for topic, indexes in part.items()} for part in parts]


def check_offsets(context: Context) -> None:
    """Check that exactly the offsets that there are, on their way or staged are counted."""
    offsets = context.offsets
    kept = [part for topics in offsets._groups.values() for part in topics.values()]
    aside = [part for parts in offsets.aside.parts.values() for part in parts.values()]
    hidden = [value for part in (*offsets.hidden, *aside) for value in part.values.values()]
    coming = [part for topics in offsets._pending.values() for part in topics.values()]
    size_bytes = sum(READER_BYTES + sum(map(weight_of, part.values())) for part in kept)
    size_bytes += sum(map(weight_of, hidden))
    size_bytes += sum(weight_of(value) for part in coming for _, value in part.values())
    assert offsets.size_bytes == size_bytes
    transactions = (*context.staged._open.values(), *context.staged._closed)
    staged = [value for found in transactions for _, value in found.offsets.values()]
    assert context.staged.size_bytes == sum(STAGED_BYTES + len(value) for value in staged)
