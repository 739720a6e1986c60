"""Assignors over topics of which some partitions are withheld (groups/split_gates.py).

An assignor divides partitions 0 to n - 1. The open partitions are numbered so, in order, what members had is
numbered likewise, and the result is numbered back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from uuid import UUID

from groups.subscriber import Subscriber

Found = Mapping[str, Mapping[UUID, Set[int]]]
Counts = Mapping[UUID, int]


def assign_open(
    assignor: Callable[[Sequence[Subscriber], Counts], Found],
    members: Sequence[Subscriber],
    counts: Counts,
    closed: Mapping[UUID, frozenset[int]],
) -> dict[str, dict[UUID, frozenset[int]]]:
    """Return what the assignor makes of the partitions that are not `closed`."""
    opened = {
        topic_id: [index for index in range(counts[topic_id]) if index not in closed[topic_id]]
        for topic_id in closed
        if topic_id in counts
    }
    dense = {topic_id: len(opened.get(topic_id, range(count))) for topic_id, count in counts.items()}
    found = assignor([_numbered(member, opened) for member in members], dense)
    return {
        member_id: {topic_id: _back(indexes, opened.get(topic_id)) for topic_id, indexes in topics.items()}
        for member_id, topics in found.items()
    }


def _numbered(member: Subscriber, opened: Mapping[UUID, list[int]]) -> Subscriber:
    had = {
        topic_id: frozenset(place for place, index in enumerate(opened[topic_id]) if index in indexes)
        if topic_id in opened
        else indexes
        for topic_id, indexes in member.had.items()
    }
    return replace(member, had=had)


def _back(places: Set[int], opened: list[int] | None) -> frozenset[int]:
    return frozenset(places) if opened is None else frozenset(opened[place] for place in places)
