"""New offsets for a group, and the end of one: what would happen, and the requests that do it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from console.admin import ask, check
from console.client import refusal
from console.errors import CommandError
from console.group_reset import Move, Place, parse_topics
from console.partition_offsets import leaders_of, offsets_of
from console.positions import parse_position
from console.web.errors import PageError
from console.web.group_facts import committed_of, coordinator_of
from console.web.group_list import groups_of
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

COMMIT_VERSION, DELETE_VERSION = 7, 1
WITHOUT_MEMBERS = ("Empty", "Dead")
REFUSED_SHOWN = 5


def state_of(bootstrap: str, group: str) -> str:
    """Return a group's state, Dead if it does not exist.  Raises: CommandError."""
    return next((name.state for name in groups_of(bootstrap) if name.group == group), "Dead")


def members_problem(group: str, state: str) -> str:
    """Return why a group in this state cannot be changed, "" if it can."""
    if state in WITHOUT_MEMBERS:
        return ""
    return f"group {group!r} is {state}: stop its consumers first, or they commit over it"


def moves_to(bootstrap: str, group: str, to: str, topics: Sequence[str]) -> list[Move]:
    """Return what setting a group to a position would change.

    `topics` are written TOPIC or TOPIC:P,P…; without any, all partitions with a committed offset.
    Raises: UsageError, PageError, CommandError.
    """
    position = parse_position(to, "to")
    chosen = parse_topics(topics)
    committed = committed_of(bootstrap, group)
    names = set(chosen) or {topic for topic, _ in committed}
    if not names:
        raise PageError(404, f"group {group!r} has committed nothing; name a topic")
    leaders = leaders_of(bootstrap, names)
    places = _chosen(chosen, leaders) if chosen else sorted(committed.keys() & leaders.keys())
    new = offsets_of(leaders, places, position)
    return [Move(*place, committed.get(place), new[place]) for place in places]


def _chosen(chosen: dict[str, set[int] | None], leaders: Iterable[Place]) -> list[Place]:
    """Return the partitions that are named.  Raises: PageError for one that has no leader."""
    known = set(leaders)
    named = {(topic, index) for topic, indexes in chosen.items() for index in indexes or ()}
    if missing := sorted(named - known):
        topic, index = missing[0]
        raise PageError(404, f"partition {index} of {topic!r} does not exist, or has no leader")
    whole = {topic for topic, indexes in chosen.items() if indexes is None}
    return sorted(named | {place for place in known if place[0] in whole})


def commit(bootstrap: str, group: str, moves: Sequence[Move]) -> None:
    """Commit the new offsets, as only a group without members lets anyone.

    Raises: CommandError with the broker's words for the partitions that it refuses.
    """
    by_topic: defaultdict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for move in moves:
        by_topic[move.topic].append(
            OffsetCommitRequestPartition(
                partition_index=move.partition, committed_offset=move.new, committed_metadata=""
            )
        )
    topics = [OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in by_topic.items()]
    request = OffsetCommitRequest(group_id=group, member_id="", topics=topics)
    answer = ask(coordinator_of(bootstrap, group), request, COMMIT_VERSION)
    refused = [
        f"partition {partition.partition_index} of {topic.name!r}: {refusal(partition.error_code, None)}"
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code
    ]
    if refused:
        problem = members_problem(group, state_of(bootstrap, group))
        raise CommandError("; ".join([*([problem] if problem else []), *refused[:REFUSED_SHOWN]]))


def delete(bootstrap: str, group: str) -> None:
    """Delete a group with its offsets.  Raises: CommandError with the broker's words."""
    request = DeleteGroupsRequest(groups_names=[group])
    for result in ask(coordinator_of(bootstrap, group), request, DELETE_VERSION).results:
        check(result.error_code, None, f"group {result.group_id!r}")
