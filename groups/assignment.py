"""Sets of partitions, by topic id, and the few things done with them.

Both kinds are values: no code changes one that others may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from uuid import UUID

Assignment = Mapping[UUID, frozenset[int]]
"""Partitions by topic; no topic without partitions."""

EpochAssignment = Mapping[UUID, Mapping[int, int]]
"""Partitions by topic, each with the epoch in which its owner got it; no topic without partitions."""

Partition = tuple[UUID, int]

NOTHING: Assignment = {}
NO_EPOCHS: EpochAssignment = {}


def partitions_of(assignment: Assignment | EpochAssignment) -> Iterator[Partition]:
    """Yield (topic id, partition) of everything assigned."""
    for topic_id, partitions in assignment.items():
        for partition in partitions:
            yield topic_id, partition


def plain(assignment: EpochAssignment) -> Assignment:
    """Return the partitions without their epochs."""
    return {topic_id: frozenset(partitions) for topic_id, partitions in assignment.items()}


def count(assignment: Assignment | EpochAssignment) -> int:
    """Return how many partitions are assigned."""
    return sum(map(len, assignment.values()))


def select(assignment: EpochAssignment, keep: Callable[[UUID, int], bool]) -> EpochAssignment:
    """Return the partitions for which `keep(topic id, partition)` is true."""
    kept = {}
    for topic_id, partitions in assignment.items():
        chosen = {index: epoch for index, epoch in partitions.items() if keep(topic_id, index)}
        if chosen:
            kept[topic_id] = chosen
    return kept


def with_epoch(partitions: Iterable[Partition], epoch: int) -> EpochAssignment:
    """Return the partitions, all as got in `epoch`."""
    found: dict[UUID, dict[int, int]] = {}
    for topic_id, index in partitions:
        found.setdefault(topic_id, {})[index] = epoch
    return found


def union(first: EpochAssignment, second: EpochAssignment) -> EpochAssignment:
    """Return the partitions of both; where both have one, its epoch is that of `second`."""
    if not first or not second:
        return second or first
    merged = {topic_id: dict(partitions) for topic_id, partitions in first.items()}
    for topic_id, partitions in second.items():
        merged.setdefault(topic_id, {}).update(partitions)
    return merged


def contains(assignment: Assignment | EpochAssignment, partitions: Iterable[Partition]) -> bool:
    """Whether all these partitions are assigned."""
    return all(index in assignment.get(topic_id, ()) for topic_id, index in partitions)


def touches(assignment: Assignment | EpochAssignment, partitions: Iterable[Partition]) -> bool:
    """Whether any of these partitions is assigned."""
    return any(index in assignment.get(topic_id, ()) for topic_id, index in partitions)
