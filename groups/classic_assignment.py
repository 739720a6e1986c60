"""Assignments of classic consumers: read, written and, with `kawal.group.assignor=server`, made here.

If they are made here, no member is told that it leads, so all send an empty SyncGroup and get what the
server's assignor gives them. This works where members give up everything before they join; only a leader
among the clients knows the two steps of a cooperative rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.assignors import assign
from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember
from groups.context import Context
from groups.subscriber import Subscriber
from groups.topics import Topics
from protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from protocol.errors import Malformed

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


def assign_on_server(context: Context, group: ClassicGroup) -> dict[str, bytes]:
    """Return the encoded assignment of every member; all subscriptions must be readable."""
    known = context.topics.by_name
    members = []
    counts: dict[UUID, int] = {}
    for member in group.members.values():
        names = decode_subscription(member.metadata(group.protocol)).topics
        topics = [known[name] for name in names if name in known]
        counts.update((topic.topic_id, topic.partition_count) for topic in topics)
        members.append(
            Subscriber(
                member_id=member.member_id,
                topics=frozenset(topic.topic_id for topic in topics),
                had=assignment_of(context.topics, member),
                instance_id=member.instance_id,
            )
        )
    targets = assign(context.config.group_consumer_assignors[0], members, counts)
    return {member_id: assignment_blob(context.topics, target) for member_id, target in targets.items()}


def assignment_of(topics: Topics, member: ClassicMember) -> Assignment:
    """Return the member's last assignment, existing topics only; nothing if it is unreadable."""
    try:
        found = decode_assignment(member.assignment)
    except Malformed:
        return NOTHING
    return by_topic_id(topics, found.assigned_partitions)


def by_topic_id(topics: Topics, partitions: Iterable[TopicPartition]) -> Assignment:
    """Return partitions by topic id, without those of topics that do not exist."""
    found: dict[UUID, set[int]] = {}
    for entry in partitions:
        topic = topics.by_name.get(entry.topic)
        if topic is not None:
            found.setdefault(topic.topic_id, set()).update(entry.partitions)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items() if indexes}


def assignment_blob(topics: Topics, assignment: Assignment, version: int = 0) -> bytes:
    """Return the encoded assignment, in a version that its member can read."""
    partitions = [
        TopicPartition(topic=topics.by_id[topic_id].name, partitions=sorted(indexes))
        for topic_id, indexes in assignment.items()
        if topic_id in topics.by_id
    ]
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=partitions), version)
