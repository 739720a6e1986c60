"""A question to an assignor, apart from the group, so that a thread can work on it.

Members with the same wishes share them: 10,000 members of one topic name it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import blake2b
from itertools import filterfalse, repeat
from operator import attrgetter, is_, lshift, methodcaller, or_
from typing import Final, NamedTuple
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.assignors import assign
from groups.consumer_group import ConsumerGroup, Subscription
from groups.offload import MEMBER_WEIGHT
from groups.open_partitions import assign_open
from groups.subscriber import Subscriber
from groups.topics import TopicFacts, Topics
from protocol.parts import parts_of, sorted_names_of

NAMES_AT_ONCE: Final = 1_000
"""The names of topics that are looked up without a thread, in 2 ms."""

NO_TOPICS_HASH: Final = 0
"""The hash of no topics: none that the group subscribes to exists, or none was looked up so far."""

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


class AssignmentTask:
    """The members of a group, and the topics they may mean.

    Topics are looked up when it is made, or by the thread if there are very many names.
    """

    __slots__ = (
        "_closed",
        "_found",
        "_hash",
        "_known",
        "_members",
        "_names",
        "_targets",
        "assignor",
        "regexes",
    )

    def __init__(
        self, assignor: str, group: ConsumerGroup, topics: Topics, closed: Mapping[str, frozenset[int]]
    ) -> None:
        self.assignor = assignor
        # Copies, which take microseconds: a group may have 10,000 members.
        self._members = dict(group.metadata)
        self._targets = dict(group.target)
        self.regexes = {regex: resolved.topics for regex, resolved in group.regexes.items()}
        """The names that regular expressions stand for."""
        self._names = group.subscribed_names()
        self._known = topics.by_name
        self._closed = closed
        self._found: Mapping[str, Known] | None = None
        self._hash: int | None = None
        if len(self._names) <= NAMES_AT_ONCE:
            self.look_up()

    @property
    def wishes(self) -> list[Wish]:
        """The members, and what each had."""
        # Without a line of Python for each.
        members = self._members.values()
        subscriptions = map(attrgetter("topics", "regex"), members)
        had = map(self._targets.get, self._members, repeat(NOTHING))
        instances = map(attrgetter("instance_id"), members)
        fields = zip(self._members, subscriptions, had, instances, strict=True)
        return list(map(partial(tuple.__new__, Wish), fields))

    def look_up(self) -> Mapping[str, Known]:
        """Return the topics that exist and that a member subscribes to, by name: at the first call."""
        if self._found is None:
            self._found = known_topics(self._names, self._known, self._closed)
        return self._found

    @property
    def weight(self) -> int:
        """The time it will take, in units of a few microseconds: partitions, members, and topics of each."""
        members = self._members.values()
        # Without a line of Python for each: a group may have 10,000 members, and they 20,000 topics.
        wanted: int = sum(map(len, map(attrgetter("topics"), members)))
        if self.regexes:
            names = {regex: len(found) for regex, found in self.regexes.items()}
            wanted += sum(map(names.get, map(attrgetter("regex"), members), repeat(0)))
        wanted += MEMBER_WEIGHT * len(members)
        # With very many names it is large, however many partitions they have.
        partitions: int = sum(map(attrgetter("partition_count"), (self._found or {}).values()))
        return wanted + partitions

    def metadata_hash(self) -> int:
        """Return the hash of the topics that it assigns; the thread that assigns them makes it."""
        if self._hash is None:
            self._hash = topics_hash(self.look_up())
        return self._hash

    def run(self) -> dict[str, Assignment]:
        """Return the target of every member."""
        known, wishes = self.look_up(), self.wishes
        self.metadata_hash()
        wanted = {wish.subscription: frozenset[UUID]() for wish in wishes}
        for topics, regex in wanted:
            names = {*topics, *self.regexes.get(regex, ())}
            wanted[topics, regex] = frozenset(known[name].topic_id for name in names if name in known)
        members = [
            Subscriber(
                member_id=wish.member_id,
                topics=wanted[wish.subscription],
                had=wish.had,
                instance_id=wish.instance_id,
            )
            for wish in wishes
        ]
        counts = {topic.topic_id: topic.partition_count for topic in known.values()}
        closed = {topic.topic_id: topic.closed for topic in known.values() if topic.closed}
        if not closed:
            return assign(self.assignor, members, counts)
        return {**assign_open(partial(assign, self.assignor), members, counts, closed)}


def assignment_task(
    assignor: str, group: ConsumerGroup, topics: Topics, closed: Mapping[str, frozenset[int]] = NONE_CLOSED
) -> AssignmentTask:
    """Return the task of assigning the group's topics to its members, as both are now.

    `closed`: the partitions that are withheld from the group, by topic.
    """
    return AssignmentTask(assignor, group, topics, closed)


def topics_hash(topics: Mapping[str, Known]) -> int:
    """Return a number that changes when one of the topics comes, goes or grows, or one is opened."""
    if not topics:
        return NO_TOPICS_HASH
    digest = blake2b(digest_size=8)
    for part in parts_of(sorted_names_of(topics)):
        found = list(map(topics.__getitem__, part))
        # The bytes of id and count, in one number; without a line of Python for each.
        ids = map(lshift, map(attrgetter("topic_id.int"), found), repeat(32))
        numbers = map(or_, ids, map(attrgetter("partition_count"), found))
        made = list(map(methodcaller("to_bytes", 20, "big"), numbers))
        if any(map(attrgetter("closed"), found)):
            for place, topic in enumerate(found):
                for partition in sorted(topic.closed):
                    made[place] += partition.to_bytes(4, "big")
        digest.update(b"".join(made))
    return int.from_bytes(digest.digest(), "big", signed=True)


def known_topics(
    names: Iterable[str], by_name: Mapping[str, TopicFacts], closed: Mapping[str, frozenset[int]]
) -> dict[str, Known]:
    """Return those of the names that are topics, with what is withheld of them.

    A thread may ask: topics that come or go meanwhile may be among them or not.
    """
    # Without a line of Python for each: a member may name 20,000 topics.
    known: dict[str, Known] = {}
    for part in parts_of(names):
        found = list(filterfalse(partial(is_, None), map(by_name.get, part)))
        ids = map(attrgetter("topic_id"), found)
        counts = map(attrgetter("partition_count"), found)
        made = map(partial(tuple.__new__, Known), zip(ids, counts, repeat(frozenset()), strict=False))
        known.update(zip(map(attrgetter("name"), found), made, strict=True))
    for name in known.keys() & closed.keys():
        known[name] = known[name]._replace(closed=closed[name])
    return known
