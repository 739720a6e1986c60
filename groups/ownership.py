"""The holders of partitions in a consumer group: the member that has each, or has not given it up yet.

They follow from the members' assignments. A table is changed on the spot (`own`, `disown`), or another one is
made of it apart, in a thread perhaps (`owners_after`): a member may have 20,000 topics.
"""

from __future__ import annotations

from collections.abc import Set
from uuid import UUID

from groups.assignment import NO_PARTITIONS
from groups.consumer_member import MemberAssignment

Owners = dict[UUID, dict[int, str]]
"""Members by topic and partition; no topic without partitions."""


def held_by_others(owners: Owners, member_id: str, topic_id: UUID, indexes: Set[int]) -> set[int]:
    """Return those of a topic's partitions that other members have or have not given up yet."""
    found = owners.get(topic_id) if owners else None
    if not found:
        return set()
    return {index for index in indexes & found.keys() if found[index] != member_id}


def own(owners: Owners, member_id: str, value: MemberAssignment) -> None:
    """Let a member hold what it has and what it is still to give up."""
    for held in (value.assigned, value.revoking):
        for topic_id, indexes in held.items():
            found = owners.get(topic_id)
            if found is None:
                owners[topic_id] = dict.fromkeys(indexes, member_id)
            else:
                found.update(dict.fromkeys(indexes, member_id))


def disown(owners: Owners, member_id: str, old: MemberAssignment, new: MemberAssignment | None) -> None:
    """Take from a member what it neither has nor gives up any more."""
    if new is None and 2 * (len(old.assigned) + len(old.revoking)) > len(owners):
        _forget_all_of(owners, member_id, old)
        return
    kept = () if new is None else (new.assigned, new.revoking)
    for held in (old.assigned, old.revoking):
        for topic_id in list(filter(owners.__contains__, held)):
            epochs, found = held[topic_id], owners[topic_id]
            lost: Set[int] = epochs.keys()
            for other in kept:
                # Set by set: one member may have 100,000 partitions, and lose one.
                lost = lost - other.get(topic_id, NO_PARTITIONS).keys()
            for index in lost:
                if found.get(index) == member_id:
                    del found[index]
            if not found:
                owners.pop(topic_id, None)


def _forget_all_of(owners: Owners, member_id: str, old: MemberAssignment) -> None:
    """Take everything from a member that leaves, and has many of the topics: perhaps 20,000.

    They are not looked up: the hash of an id is code in Python, and took 40 ms for so many.
    """
    held = old.assigned or old.revoking
    usual = dict.fromkeys(next(iter(held.values()), ()), member_id)
    sole = {member_id}
    rest = {
        topic_id: members
        for topic_id, members in owners.items()
        if members != usual and not sole.issuperset(members.values())
    }
    for members in rest.values():
        if member_id in members.values():
            for index in [index for index, name in members.items() if name == member_id]:
                del members[index]
    owners.clear()
    owners.update(rest)


def owners_after(owners: Owners, member_id: str, old: MemberAssignment, new: MemberAssignment) -> Owners:
    """Return another table, in which the member holds what `new` says; `owners` stays as it is."""
    made = dict(owners)
    for held in (old.assigned, old.revoking, new.assigned, new.revoking):
        for topic_id in held:
            if topic_id in made:
                made[topic_id] = dict(made[topic_id])
    disown(made, member_id, old, new)
    own(made, member_id, new)
    return made


def check_sole_owner(owners: Owners, member_id: str, old: MemberAssignment, new: MemberAssignment) -> None:
    """Fail if the member would get what another has not given up, which must never happen."""
    for held in (new.assigned, new.revoking):
        # A topic without owners takes no line of Python.
        for topic_id in owners.keys() & held.keys():
            indexes = held[topic_id]
            had, gave = (part.get(topic_id, NO_PARTITIONS) for part in (old.assigned, old.revoking))
            added: Set[int] = set() if indexes is had else indexes.keys() - had.keys() - gave.keys()
            taken = held_by_others(owners, member_id, topic_id, added)
            assert not taken, (
                f"partitions {sorted(taken)} of topic {topic_id}, which other members have, given to "
                f"{member_id!r}"
            )
