"""Positions in topics: the next offset to read, per topic and partition, and the lag counted from them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Positions = dict[str, dict[str, int]]
"""topic -> partition (as text: it is a JSON key) -> next offset: the form of Spark's own offset log."""


class Range(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from"}):
    """The offsets of one topic partition in one batch: `begin` is the first, `until` is one past the last."""

    topic: str
    partition: int
    begin: int
    until: int


def offset_of(positions: Positions, topic: str, partition: str) -> int | None:
    """Return the next offset of one partition, or None when it is not among `positions`."""
    return positions.get(topic, {}).get(partition)


def moved(positions: Positions, ahead: Positions) -> Positions:
    """Return `positions`, replaced by those of `ahead` where it has any."""
    merged = {topic: dict(partitions) for topic, partitions in positions.items()}
    for topic, partitions in ahead.items():
        merged.setdefault(topic, {}).update(partitions)
    return merged


def ranges_between(begins: Positions, ends: Positions) -> list[Range]:
    """Return the ranges between two positions that hold an offset, in order; new partitions begin at 0."""
    found = [
        Range(
            topic=topic,
            partition=int(partition),
            begin=offset_of(begins, topic, partition) or 0,
            until=until,
        )
        for topic, partitions in ends.items()
        for partition, until in partitions.items()
    ]
    return sorted(
        (held for held in found if held.until > held.begin), key=lambda held: (held.topic, held.partition)
    )


def lags(behind: Positions, ahead: Positions) -> dict[tuple[str, int], int]:
    """Return how many offsets each partition of `ahead` has that `behind` has not reached."""
    return {
        (topic, int(partition)): max(0, until - (offset_of(behind, topic, partition) or 0))
        for topic, partitions in ahead.items()
        for partition, until in partitions.items()
    }


def count(lag: Mapping[tuple[str, int], int]) -> int:
    """Return the offsets of all partitions together."""
    return sum(lag.values())
