"""Assignments of classic consumers: read, written and, with `kawal.group.assignor=server`, made here.

If they are made here, no member is told that it leads, so all send an empty SyncGroup and get what the
server's assignor gives them. This works where members give up everything before they join; only a leader
among the clients knows the two steps of a cooperative rebalance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.assignors import assign
from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember, topics_in
from groups.context import Context
from groups.errors import GroupError
from groups.memory import ADDRESS_UNKNOWN
from groups.open_partitions import assign_open
from groups.split_gates import places_of, withheld_by_topic
from groups.states import GroupState
from groups.subscriber import Subscriber
from groups.timers import TimerKey
from groups.topics import TopicFacts, Topics
from groups.weights import ASSIGNMENTS
from protocol.consumer_protocol import (
    VERSION_MAX,
    ConsumerProtocolAssignment,
    TopicPartition,
    decode_assignment,
    encode_assignment,
)
from protocol.errors import Malformed

Made = TypeVar("Made")

BYTES_PER_UNIT: Final = 32
"""Bytes of subscriptions and assignments that are read in a few microseconds."""

UNFILTERED: Final = frozenset({"stream", "streams"})
"""Kafka Streams' assignors."""

EAGER: Final = frozenset({"range", "roundrobin", "sticky"})
"""The eager assignors that come with clients."""


def server_assigns(context: Context, group: ClassicGroup) -> bool:
    """Whether the server assigns the partitions of the generation that begins."""
    own = context.settings(group.group_id).kawal_group_assignor
    wanted = (context.config.kawal_group_assignor if own is None else own) == "server"
    # Last what looks at every member.
    return (
        wanted
        and group.is_consumer_group
        and group.protocol in EAGER
        and group.subscribed_topics() is not None
    )


@dataclass(frozen=True, slots=True)
class ServerTask:
    """A question to the assignor, apart from the group: a value, so that a thread can work on it."""

    assignor: str
    members: list[tuple[str, str | None, bytes, bytes]]
    """Id, instance id, subscription and last assignment."""
    topics: Mapping[str, TopicFacts]
    """By name; all that exist and that a member subscribes to."""
    closed: Mapping[str, frozenset[int]]
    """The partitions that are withheld from the group, by topic."""

    @property
    def weight(self) -> int:
        """The time it will take, in units of a few microseconds."""
        size = sum(len(wish) + len(had) for _, _, wish, had in self.members)
        return sum(topic.partition_count for topic in self.topics.values()) + size // BYTES_PER_UNIT

    def run(self) -> dict[str, bytes]:
        """Return the encoded assignment of every member; all subscriptions must be readable."""
        known = self.topics
        members = [
            Subscriber(
                member_id=member_id,
                topics=frozenset(known[name].topic_id for name in topics_in(wish) if name in known),
                had=_read(known, had),
                instance_id=instance_id,
            )
            for member_id, instance_id, wish, had in self.members
        ]
        counts = {topic.topic_id: topic.partition_count for topic in known.values()}
        names = {topic.topic_id: topic.name for topic in known.values()}
        closed = {known[name].topic_id: indexes for name, indexes in self.closed.items()}
        assignor = partial(assign, self.assignor)
        targets = assign_open(assignor, members, counts, closed) if closed else assignor(members, counts)
        return {member_id: _blob(names, target) for member_id, target in targets.items()}


class _Topic(NamedTuple):
    """A topic as it was when the task was made; the catalogue's own may change meanwhile."""

    name: str
    topic_id: UUID
    partition_count: int
    recorded: bool


def assign_on_server(
    context: Context, group: ClassicGroup, store: Callable[[dict[str, bytes]], None]
) -> None:
    """Make the assignment of the generation that begins and store it; a thread makes a large one."""
    known = context.topics.by_name
    found = [known[name] for name in group.subscribed_topics() or () if name in known]
    closed = withheld_by_topic(context, group.group_id, [topic.name for topic in found])
    group.withheld = places_of(closed)
    task = ServerTask(
        assignor=context.config.group_consumer_assignors[0],
        members=[
            (member.member_id, member.instance_id, member.metadata(group.protocol), member.assignment)
            for member in group.members.values()
        ],
        topics={
            topic.name: _Topic(topic.name, topic.topic_id, topic.partition_count, topic.recorded)
            for topic in found
        },
        closed=closed,
    )
    if task.weight > context.weight_max:
        in_thread(context, group, "assigned", task.run, store)
    else:
        store(task.run())


def in_thread(
    context: Context, group: ClassicGroup, name: str, work: Callable[[], Made], then: Callable[[Made], None]
) -> None:
    """Have a thread do work for the generation that begins, called `name`; `then` gets what it returns.

    `then` is not called if the generation is over by then.
    """
    generation = group.generation
    made: list[Made] = []

    def done(error: Exception | None) -> None:
        def go_on(now_ms: int) -> None:
            context.now_ms = now_ms
            if error is not None:
                raise error
            waiting = group.state == GroupState.COMPLETING_REBALANCE and group.generation == generation
            if waiting and context.classic(group.group_id) is group:
                then(made[0])

        context.timers.set(TimerKey(name, group.group_id, str(generation)), context.now_ms, go_on)

    context.offload(lambda: made.append(work()), done)


def open_only(context: Context, group: ClassicGroup, assignments: dict[str, bytes]) -> dict[str, bytes]:
    """Return what a leader has assigned, without partitions that are withheld from the group.

    Assignments that cannot be read, and those of Kafka Streams, which are more than partitions, pass as they
    are.
    """
    names = group.subscribed_topics()
    if not context.splits.topics or not group.is_consumer_group or group.protocol in UNFILTERED or not names:
        return assignments
    closed = withheld_by_topic(context, group.group_id, names)
    group.withheld = places_of(closed)
    if not closed:
        return assignments
    return {member_id: _without(assignment, closed) for member_id, assignment in assignments.items()}


def _without(assignment: bytes, closed: Mapping[str, frozenset[int]]) -> bytes:
    try:
        found = decode_assignment(assignment)
    except Malformed:
        return assignment
    taken = False
    for topic in found.assigned_partitions:
        kept = [index for index in topic.partitions if index not in closed.get(topic.topic, ())]
        taken |= len(kept) < len(topic.partitions)
        topic.partitions = kept
    if not taken:
        return assignment
    found.assigned_partitions = [topic for topic in found.assigned_partitions if topic.partitions]
    version = int.from_bytes(assignment[:2], "big")
    return encode_assignment(found, min(version, VERSION_MAX))


def have_room(context: Context, group: ClassicGroup, assignments: dict[str, bytes]) -> bool:
    """Whether there is memory for the assignments, in place of those of the last generation."""
    before = sum(len(member.assignment) for member in group.members.values())
    added_bytes = sum(map(len, assignments.values())) - before
    leader = group.members.get(group.leader or "")
    host = ADDRESS_UNKNOWN if leader is None else leader.client_host
    try:
        context.memory.check(context.config, group.group_id, ASSIGNMENTS, host, added_bytes)
    except GroupError:
        return False
    return True


def assignment_of(topics: Topics, member: ClassicMember) -> Assignment:
    """Return the member's last assignment, existing topics only; nothing if it is unreadable."""
    return _read(topics.by_name, member.assignment)


def _read(known: Mapping[str, TopicFacts], assignment: bytes) -> Assignment:
    try:
        found = decode_assignment(assignment)
    except Malformed:
        return NOTHING
    return _by_topic_id(known, found.assigned_partitions)


def by_topic_id(topics: Topics, partitions: Iterable[TopicPartition]) -> Assignment:
    """Return partitions by topic id, without those of topics that do not exist."""
    return _by_topic_id(topics.by_name, partitions)


def _by_topic_id(known: Mapping[str, TopicFacts], partitions: Iterable[TopicPartition]) -> Assignment:
    found: dict[UUID, set[int]] = {}
    for entry in partitions:
        topic = known.get(entry.topic)
        if topic is not None:
            found.setdefault(topic.topic_id, set()).update(entry.partitions)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items() if indexes}


def assignment_blob(topics: Topics, assignment: Assignment, version: int = 0) -> bytes:
    """Return the encoded assignment, in a version that its member can read."""
    known = topics.by_id
    names = {topic_id: known[topic_id].name for topic_id in assignment if topic_id in known}
    return _blob(names, assignment, version)


def _blob(names: Mapping[UUID, str], assignment: Assignment, version: int = 0) -> bytes:
    partitions = [
        TopicPartition(topic=names[topic_id], partitions=sorted(indexes))
        for topic_id, indexes in assignment.items()
        if topic_id in names
    ]
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=partitions), version)
