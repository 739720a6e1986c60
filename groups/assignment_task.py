"""A question to an assignor, apart from the group: a value, so that a thread can work on it.

Members with the same wishes share them: 10,000 members of one topic name it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID

from groups.assignment import Assignment
from groups.assignors import assign
from groups.consumer_group import ConsumerGroup, Subscription
from groups.offload import MEMBER_WEIGHT
from groups.open_partitions import assign_open
from groups.subscriber import Subscriber
from groups.topics import TopicFacts, Topics

NONE_CLOSED: Final[Mapping[str, frozenset[int]]] = {}


class Wish(NamedTuple):
    """One member, and what it had in the last assignment."""

    member_id: str
    subscription: Subscription
    had: Assignment
    instance_id: str | None


class Known(NamedTuple):
    """A topic that exists."""

    topic_id: UUID
    partition_count: int
    closed: frozenset[int] = frozenset()
    """The partitions that are withheld from the group."""


@dataclass(frozen=True, slots=True)
class AssignmentTask:
    """The members of a group, and the topics they may mean."""

    assignor: str
    wishes: list[Wish]
    topics: Mapping[str, Known]
    """By name; all that exist and that a member subscribes to."""
    regexes: Mapping[str, frozenset[str]]
    """The names that regular expressions stand for."""

    @property
    def weight(self) -> int:
        """The time it will take, in units of a few microseconds: partitions, members, and topics of each."""
        names = {regex: len(found) for regex, found in self.regexes.items()}
        wanted = sum(len(wish.subscription[0]) + names.get(wish.subscription[1], 0) for wish in self.wishes)
        wanted += MEMBER_WEIGHT * len(self.wishes)
        return wanted + sum(topic.partition_count for topic in self.topics.values())

    def run(self) -> dict[str, Assignment]:
        """Return the target of every member."""
        wanted = {wish.subscription: frozenset[UUID]() for wish in self.wishes}
        for topics, regex in wanted:
            names = {*topics, *self.regexes.get(regex, ())}
            wanted[topics, regex] = frozenset(
                self.topics[name].topic_id for name in names if name in self.topics
            )
        members = [
            Subscriber(
                member_id=wish.member_id,
                topics=wanted[wish.subscription],
                had=wish.had,
                instance_id=wish.instance_id,
            )
            for wish in self.wishes
        ]
        counts = {topic.topic_id: topic.partition_count for topic in self.topics.values()}
        closed = {topic.topic_id: topic.closed for topic in self.topics.values() if topic.closed}
        if not closed:
            return assign(self.assignor, members, counts)
        return {**assign_open(partial(assign, self.assignor), members, counts, closed)}


def assignment_task(
    assignor: str, group: ConsumerGroup, topics: Topics, closed: Mapping[str, frozenset[int]] = NONE_CLOSED
) -> AssignmentTask:
    """Return the task of assigning the group's topics to its members, as both are now.

    `closed`: the partitions that are withheld from the group, by topic.
    """
    known = topics.by_name
    found = {name: known[name] for name in group.subscribed_names() if name in known}
    return AssignmentTask(
        assignor=assignor,
        wishes=[
            Wish(member_id, (member.topics, member.regex), group.target_of(member_id), member.instance_id)
            for member_id, member in group.metadata.items()
        ],
        topics=_known(found, closed),
        regexes={regex: resolved.topics for regex, resolved in group.regexes.items()},
    )


def _known(found: Mapping[str, TopicFacts], closed: Mapping[str, frozenset[int]]) -> dict[str, Known]:
    # Without a line of Python for each: a member may name 20,000 topics.
    ids = map(attrgetter("topic_id"), found.values())
    known = dict(zip(found, map(Known, ids, map(attrgetter("partition_count"), found.values())), strict=True))
    for name in known.keys() & closed.keys():
        known[name] = known[name]._replace(closed=closed[name])
    return known
