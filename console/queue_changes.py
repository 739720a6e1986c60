"""The changes of `kawal queues`: records given back, groups that go on elsewhere, queues emptied."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

from console.admin import ask, ask_private, check
from console.client import refusal
from console.errors import CommandError
from console.partition_offsets import Place, leaders_of, offsets_of
from console.positions import Position
from console.queue_rows import Row, coordinator_of
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.kawal_queue_changes import KawalQueueChangesRequest, QueueAction, QueueTopicItem

Topics = dict[str, set[int] | None]
"""Topics and some of their partitions, None for all."""


class Move(NamedTuple):
    """A change of where a group goes on in a partition; a `current` of None: it has not begun there."""

    topic: str
    partition: int
    current: int | None
    new: int


def released(
    bootstrap: str, group_id: str, topics: Topics, *, member_id: str | None, offset: int | None
) -> list[Row]:
    """Give back records that members have; return how many by partition.  Raises: CommandError."""
    request = KawalQueueChangesRequest(
        group_id=group_id,
        action=QueueAction.RELEASE,
        member_id=member_id,
        offset=-1 if offset is None else offset,
        topics=_items(topics),
    )
    return _changed(bootstrap, request)


def purged(bootstrap: str, group_id: str, topics: Topics) -> list[Row]:
    """Finish all records that are there; return how many by partition.  Raises: CommandError."""
    request = KawalQueueChangesRequest(group_id=group_id, action=QueueAction.PURGE, topics=_items(topics))
    return _changed(bootstrap, request)


def _items(topics: Topics) -> list[QueueTopicItem] | None:
    items = [
        QueueTopicItem(topic_name=name, partitions=sorted(chosen or ())) for name, chosen in topics.items()
    ]
    return items or None


def _changed(bootstrap: str, request: KawalQueueChangesRequest) -> list[Row]:
    answer = ask_private(coordinator_of(bootstrap, request.group_id), request)
    check(answer.error_code, answer.error_message, f"share group {request.group_id!r}")
    rows: list[Row] = []
    refused: list[str] = []
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code:
                place = f"{topic.topic_name}-{partition.partition_index}"
                where = topic.topic_name if partition.partition_index < 0 else place
                refused.append(f"{where}: {refusal(partition.error_code, partition.error_message)}")
            else:
                rows.append(
                    {
                        "topic": topic.topic_name,
                        "partition": partition.partition_index,
                        "records": partition.records,
                    }
                )
    if refused:
        done = sum(row["records"] for row in rows)
        others = f"; in the other partitions {done} records were changed" if rows else ""
        raise CommandError(f"share group {request.group_id!r}: {'; '.join(refused)}{others}")
    return sorted(rows, key=lambda row: (row["topic"], row["partition"]))


# --- where a group goes on ----------------------------------------------------------------------------------


def chosen_places(row: Row, topics: Topics) -> list[Place]:
    """Return the partitions of a group that are named, or all.  Raises: CommandError for an unknown one."""
    known = [(partition["topic"], partition["partition"]) for partition in row["partitions"]]
    for name, chosen in topics.items():
        for index in sorted(chosen) if chosen else [None]:
            if not any(place[0] == name and index in (None, place[1]) for place in known):
                where = name if index is None else f"{name}-{index}"
                raise CommandError(f"share group {row['group']!r} has not begun to read {where}")
    return [
        (name, index)
        for name, index in known
        if not topics or (name in topics and index in (topics[name] or {index}))
    ]


def planned(
    bootstrap: str, current: dict[Place, int | None], topics: Topics, position: Position
) -> list[Move]:
    """Return where a group would go on, in the partitions it has, or in those of the topics that are named.

    Raises: CommandError.
    """
    leaders = leaders_of(bootstrap, topics or {name for name, _ in current})
    places = [
        place for place in sorted(leaders) if (place in current if not topics else _is_named(place, topics))
    ]
    for name, chosen in topics.items():
        for index in sorted(chosen or ()):
            if (name, index) not in leaders:
                raise CommandError(f"topic {name!r} has no partition {index}")
    wanted = offsets_of(leaders, places, position)
    return [Move(*place, current.get(place), wanted[place]) for place in places]


def _is_named(place: Place, topics: Topics) -> bool:
    return place[0] in topics and place[1] in (topics[place[0]] or {place[1]})


def move(bootstrap: str, group_id: str, moves: Sequence[Move]) -> None:
    """Let a group without members go on elsewhere.  Raises: CommandError."""
    topics: dict[str, list[Any]] = {}
    for change in moves:
        partition = AlterShareGroupOffsetsRequestPartition(
            partition_index=change.partition, start_offset=change.new
        )
        topics.setdefault(change.topic, []).append(partition)
    request = AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=[
            AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )
    answer = ask(coordinator_of(bootstrap, group_id), request, 0)
    check(answer.error_code, answer.error_message, f"share group {group_id!r}")
    refused = [
        f"{topic.topic_name}-{item.partition_index}: {refusal(item.error_code, item.error_message)}"
        for topic in answer.responses
        for item in topic.partitions
        if item.error_code
    ]
    if refused:
        raise CommandError(f"share group {group_id!r}: {'; '.join(refused)}")


def add_topics(parser: argparse.ArgumentParser) -> None:
    """Declare --topic."""
    parser.add_argument(
        "--topic",
        "-t",
        metavar="TOPIC[:P,P…]",
        action="append",
        default=[],
        help="only this topic, or some of its partitions; repeatable",
    )
