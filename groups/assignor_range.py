"""Range: every member gets neighbouring partitions of each topic.

Members stand in one order for all topics, so of topics with as many partitions and the same subscribers each
member gets the same numbers (what joins between topics need). The order is that of what members had before,
newcomers last: ranges then shift as little as neighbours can. Static members go by their instance ids
among newcomers, so that an application that starts again finds its old ranges.
Source: KIP-848; Kafka's RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from groups.subscriber import Subscriber, subscribers_of


def assign_ranges(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> dict[str, dict[UUID, set[int]]]:
    """Give every member a range of each of its topics."""
    order = {member.member_id: place for place, member in enumerate(sorted(members, key=_place))}
    found: dict[str, dict[UUID, set[int]]] = {member.member_id: {} for member in members}
    for topic_id, subscribed in subscribers_of(members, counts):
        least, one_more = divmod(counts[topic_id], len(subscribed))
        first = 0
        subscribed.sort(key=lambda member: order[member.member_id])
        for place, member in enumerate(subscribed):
            size = least + (place < one_more)
            if size:
                found[member.member_id][topic_id] = set(range(first, first + size))
            first += size
    return found


def _place(member: Subscriber) -> tuple[bool, int, bool, str]:
    """Where the member stands: by the lowest partition it had, then by who it is."""
    lowest = min((min(partitions) for partitions in member.had.values()), default=None)
    name = member.member_id if member.instance_id is None else member.instance_id
    return (lowest is None, lowest or 0, member.instance_id is None, name)
