"""Partitions of topics and their offsets, from their leaders, without a client library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from console.admin import ask, check
from console.errors import CommandError
from console.fetcher import leaders_in
from console.positions import Extent, Position, PositionKind
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

METADATA_VERSION: Final = 7
OFFSETS_VERSION: Final = 5
EARLIEST: Final = -2
LATEST: Final = -1

Place = tuple[str, int]
"""Topic and partition."""


def leaders_of(bootstrap: str, topics: Iterable[str]) -> dict[Place, str]:
    """Return the address of the leader of each partition.  Raises: CommandError for an unknown topic."""
    names = sorted(set(topics))
    if not names:
        return {}
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
    )
    answer = ask(bootstrap, request, METADATA_VERSION)
    for topic in answer.topics:
        check(topic.error_code, None, f"topic {topic.name!r}")
    return leaders_in(answer)


def offsets_at(
    leaders: dict[Place, str], places: Iterable[Place], timestamp: int, *, committed: bool = False
) -> dict[Place, int]:
    """Return the first offset not before a time, or a special one, in each partition; -1: there is none.

    `committed`: the end is that of transactions that have ended.

    Raises: CommandError.
    """
    by_leader: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place in places:
        if place not in leaders:
            raise CommandError(f"partition {place[1]} of {place[0]!r} does not exist, or has no leader")
        by_leader[leaders[place]][place[0]].append(place[1])
    found: dict[Place, int] = {}
    for address, topics in by_leader.items():
        asked = [
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in indexes
                ],
            )
            for name, indexes in topics.items()
        ]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=int(committed), topics=asked)
        answer = ask(address, request, OFFSETS_VERSION)
        for topic in answer.topics:
            for partition in topic.partitions:
                check(partition.error_code, None, f"partition {partition.partition_index} of {topic.name!r}")
                found[topic.name, partition.partition_index] = partition.offset
    return found


def extents_of(
    leaders: dict[Place, str], places: Sequence[Place], *, committed: bool = False
) -> dict[Place, Extent]:
    """Return the offsets that partitions hold now.  Raises: CommandError."""
    starts, ends = (
        offsets_at(leaders, places, special, committed=committed) for special in (EARLIEST, LATEST)
    )
    return {place: Extent(starts[place], ends[place]) for place in places}


def offsets_of(leaders: dict[Place, str], places: Sequence[Place], position: Position) -> dict[Place, int]:
    """Return the offset that a position means in each partition, within what that holds.

    Raises: CommandError.
    """
    extents = extents_of(leaders, places)
    if position.kind is PositionKind.TIME:
        at = offsets_at(leaders, places, position.number)
        return {place: at[place] if at[place] >= 0 else extents[place].end for place in places}
    return {place: _offset(position, extents[place]) for place in places}


def _offset(position: Position, extent: Extent) -> int:
    match position.kind:
        case PositionKind.EARLIEST:
            return extent.start
        case PositionKind.LATEST:
            return extent.end
        case PositionKind.BEFORE_END:
            return max(extent.end - position.number, extent.start)
        case _:
            return min(max(position.number, extent.start), extent.end)
