"""The memory of each part of a group, counted in its table (memory.py) as the part is applied or undone."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

from groups.assignment import count
from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember, Protocols
from groups.consumer_group import ConsumerGroup, ConsumerGroupKey
from groups.consumer_member import MemberMetadata
from groups.memory import ADDRESS_UNKNOWN, ASSIGNED_BYTES, MEMBER_BYTES, NAME_BYTES, GroupMemory
from groups.record_keys import CurrentKey, MemberKey, RegexKey, TargetKey
from groups.sorted_names import chars_of

CURRENT_FACTOR: Final = 2
"""A partition that a member has is in its assignment and in the group's table of owners."""

ASSIGNMENTS: Final = "assignments"
"""The slot, never taken, of the assignments in a leader's request."""


def _words_bytes(words: Iterable[str | None]) -> int:
    return sum(len(word) + NAME_BYTES for word in words if word is not None)


def _protocols_bytes(protocols: Protocols) -> int:
    # Without a line of Python for each: a member may have 20,000.
    return sum(map(len, chain.from_iterable(protocols))) + 2 * NAME_BYTES * len(protocols)


def joining_bytes(member_id: str, client_id: str, instance_id: str | None, protocols: Protocols) -> int:
    """Return the memory of a classic member that has no assignment yet."""
    return MEMBER_BYTES + _words_bytes((member_id, client_id, instance_id)) + _protocols_bytes(protocols)


def count_member(memory: GroupMemory, group: ClassicGroup, member: ClassicMember) -> None:
    """Count a classic member as it is now."""
    size = joining_bytes(member.member_id, member.client_id, member.instance_id, member.protocols)
    size += len(member.assignment)
    memory.count(group.group_id, member.member_id, member.client_host, size, member.client_id)


def count_pending(memory: GroupMemory, group: ClassicGroup, member_id: str, host: str) -> None:
    """Count an id that was given out."""
    memory.count(group.group_id, member_id, host, MEMBER_BYTES + _words_bytes((member_id,)))


def metadata_bytes(metadata: MemberMetadata) -> int:
    """Return the memory of what a member of a consumer group says about itself."""
    words = (metadata.client_id, metadata.instance_id, metadata.rack_id, metadata.assignor, metadata.regex)
    # Without a line of Python for each: a member may name 20,000 topics.
    size = MEMBER_BYTES + _words_bytes(words) + chars_of(metadata.topics)
    size += NAME_BYTES * len(metadata.topics)
    return size if metadata.classic is None else size + _protocols_bytes(metadata.classic.protocols)


def regex_bytes(regex: str, topics: frozenset[str]) -> int:
    """Return the memory of an expression that is resolved to these topics, without its program."""
    return MEMBER_BYTES + 2 * len(regex) + 2 * NAME_BYTES * len(topics)


def slot_of(key: ConsumerGroupKey) -> tuple[str, str] | None:
    """Return the slot of what a record says, None if that takes no memory worth counting."""
    match key:
        case MemberKey():
            return "member", key.member_id
        case CurrentKey():
            return "current", key.member_id
        case TargetKey():
            return "target", key.member_id
        case RegexKey():
            return "regex", key.regex
        case _:
            return None


def count_record(memory: GroupMemory, group: ConsumerGroup, key: ConsumerGroupKey) -> None:
    """Count what the group has under the key of a record that was applied or undone."""
    slot = slot_of(key)
    if slot is None:
        return
    memory.count(group.group_id, slot, *_entry(group, *slot))
    if isinstance(key, CurrentKey) and (member := group.metadata.get(key.member_id)) is not None:
        memory.clients.changed((member.client_host, member.client_id), group.group_id, key.member_id)


def _entry(group: ConsumerGroup, kind: str, name: str) -> tuple[str, int, str | None]:
    """Return the address of a slot's client, its memory, and of a member the client id."""
    if kind == "regex":
        resolved = group.regexes.get(name)
        return ADDRESS_UNKNOWN, 0 if resolved is None else regex_bytes(name, resolved.topics), None
    metadata = group.metadata.get(name)
    host = ADDRESS_UNKNOWN if metadata is None else metadata.client_host
    if kind == "member":
        return (host, 0, None) if metadata is None else (host, metadata_bytes(metadata), metadata.client_id)
    if kind == "target":
        return host, ASSIGNED_BYTES * count(group.target_of(name)), None
    current = group.current.get(name)
    partitions = 0 if current is None else count(current.assigned) + count(current.revoking)
    return host, ASSIGNED_BYTES * CURRENT_FACTOR * partitions, None


def count_group(memory: GroupMemory, group: ClassicGroup | ConsumerGroup) -> None:
    """Count all of a group that has taken its place, or taken it again."""
    memory.forget(group.group_id)
    if isinstance(group, ClassicGroup):
        for member in group.members.values():
            count_member(memory, group, member)
        for member_id in group.pending:
            count_pending(memory, group, member_id, ADDRESS_UNKNOWN)
        return
    slots = [("member", name) for name in group.metadata]
    slots += [("current", name) for name in group.current]
    slots += [("target", name) for name in group.target]
    slots += [("regex", name) for name in group.regexes]
    for slot in slots:
        memory.count(group.group_id, slot, *_entry(group, *slot))
