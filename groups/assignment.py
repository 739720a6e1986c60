"""Sets of partitions, by topic id, and the few things done with them.

Both kinds are values: no code changes one that others may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from uuid import UUID

Assignment = Mapping[UUID, frozenset[int]]
"""Partitions by topic; no topic without partitions."""

EpochAssignment = Mapping[UUID, Mapping[int, int]]
"""Partitions by topic, each with the epoch in which its owner got it; no topic without partitions."""

Indexes = Mapping[UUID, Collection[int]]
"""Partitions by topic, in any form."""

Partition = tuple[UUID, int]

NOTHING: Assignment = {}
NO_EPOCHS: EpochAssignment = {}
NO_PARTITIONS: Mapping[int, int] = {}


def partitions_of(assignment: Assignment | EpochAssignment) -> Iterator[Partition]:
    """Yield (topic id, partition) of everything assigned."""
    for topic_id, partitions in assignment.items():
        for partition in partitions:
            yield topic_id, partition


def plain(assignment: EpochAssignment) -> Assignment:
    """Return the partitions without their epochs."""
    return {topic_id: frozenset(partitions) for topic_id, partitions in assignment.items()}


def same_partitions(first: EpochAssignment, second: EpochAssignment) -> bool:
    """Whether the partitions are the same, whatever their epochs."""
    return first is second or (
        first.keys() == second.keys()
        and all(
            partitions is second[topic_id] or partitions.keys() == second[topic_id].keys()
            for topic_id, partitions in first.items()
        )
    )


def count(assignment: Assignment | EpochAssignment) -> int:
    """Return how many partitions are assigned."""
    return sum(map(len, assignment.values()))


def common(assignment: EpochAssignment, others: Assignment) -> EpochAssignment:
    """Return the partitions that are in both."""
    return _by_topic(assignment, lambda topic_id, mine: mine & others.get(topic_id, frozenset()))


def without(assignment: EpochAssignment, others: Assignment) -> EpochAssignment:
    """Return the partitions that are not among the others."""
    return _by_topic(assignment, lambda topic_id, mine: mine - others.get(topic_id, frozenset()))


def _by_topic(assignment: EpochAssignment, keep: Callable[[UUID, Set[int]], Set[int]]) -> EpochAssignment:
    """Return what is kept of each topic, as a whole: one member may have 100,000 partitions."""
    kept: dict[UUID, Mapping[int, int]] = {}
    for topic_id, epochs in assignment.items():
        chosen = keep(topic_id, epochs.keys())
        if len(chosen) == len(epochs):
            kept[topic_id] = epochs
        elif chosen:
            kept[topic_id] = dict(zip(chosen, map(epochs.__getitem__, chosen), strict=True))
    return kept


def of_topics(assignment: EpochAssignment, topics: Collection[UUID]) -> EpochAssignment:
    """Return the partitions of some topics."""
    return {topic_id: epochs for topic_id, epochs in assignment.items() if topic_id in topics}


def with_epoch(partitions: Indexes, epoch: int) -> EpochAssignment:
    """Return the partitions, all as got in `epoch`."""
    return {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in partitions.items() if indexes}


def union(first: EpochAssignment, second: EpochAssignment) -> EpochAssignment:
    """Return the partitions of both; where both have one, its epoch is that of `second`."""
    if not first or not second:
        return second or first
    # Without a line of Python for topics of one alone: a member may have 20,000.
    merged = {**first, **second}
    for topic_id in first.keys() & second.keys():
        merged[topic_id] = {**first[topic_id], **second[topic_id]}
    return merged


def contains(assignment: Assignment | EpochAssignment, partitions: Indexes) -> bool:
    """Whether all these partitions are assigned."""
    return all(set(indexes) <= set(assignment.get(topic_id, ())) for topic_id, indexes in partitions.items())


def touches(assignment: Assignment | EpochAssignment, partitions: Indexes) -> bool:
    """Whether any of these partitions is assigned."""
    return any(
        not set(indexes).isdisjoint(assignment.get(topic_id, ())) for topic_id, indexes in partitions.items()
    )
