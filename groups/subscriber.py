"""A member as an assignor sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from groups.assignment import NOTHING, Assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """One member: the topics it wants, and the partitions it had in the last assignment."""

    member_id: str
    topics: frozenset[UUID]
    had: Assignment = field(default_factory=lambda: NOTHING)
    instance_id: str | None = None


def subscribers_of(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> Iterator[tuple[UUID, list[Subscriber]]]:
    """Yield each existing topic with the members that want it, in the order of topic ids."""
    wanted: dict[UUID, list[Subscriber]] = {}
    for member in members:
        for topic_id in member.topics:
            if topic_id in counts:
                wanted.setdefault(topic_id, []).append(member)
    for topic_id in sorted(wanted):
        yield topic_id, wanted[topic_id]


def still_held(member: Subscriber, topic_id: UUID, count: int) -> list[int]:
    """Return the partitions of a topic that the member had and that still exist."""
    return sorted(index for index in member.had.get(topic_id, ()) if 0 <= index < count)
