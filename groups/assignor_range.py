"""Range: every member gets neighbouring partitions of each topic.

Members stand in one order for all topics, so of topics with as many partitions and the same subscribers
each member gets the same numbers (what joins between topics need). It is the order they stood in before, as
far as what they had tells it, newcomers last: ranges then shift as little as neighbours can. Where nothing
tells, static members go by their instance ids, so that an application that starts again finds its old
ranges.
Source: KIP-848; Kafka's RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from uuid import UUID

from groups.subscriber import Subscriber, subscribers_of

Place = tuple[bool, int, bool, str]


def assign_ranges(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> dict[str, dict[UUID, set[int]]]:
    """Give every member a range of each of its topics."""
    order = {member_id: place for place, member_id in enumerate(_order(members, counts))}
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


def _order(members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> list[str]:
    """Return the members in an order that every topic's old ranges agree with, where there is one.

    Of each topic those that had a range stood in the order of their ranges, and before those that had none.
    """
    places = {member.member_id: _place(member) for member in members}
    followers: dict[str, list[str]] = {member_id: [] for member_id in places}
    waits_for = dict.fromkeys(places, 0)
    for topic_id, subscribed in subscribers_of(members, counts):
        had = sorted((min(one.had[topic_id]), one.member_id) for one in subscribed if one.had.get(topic_id))
        names = [name for _, name in had]
        without = [one.member_id for one in subscribed if not one.had.get(topic_id)] if names else []
        for before, after in [*pairwise(names), *((names[-1], one) for one in without)]:
            followers[before].append(after)
            waits_for[after] += 1
    ready = [(places[member_id], member_id) for member_id, count in waits_for.items() if not count]
    heapify(ready)
    order = []
    while ready:
        _, member_id = heappop(ready)
        order.append(member_id)
        for after in followers[member_id]:
            waits_for[after] -= 1
            if not waits_for[after]:
                heappush(ready, (places[after], after))
    # What another assignor left may agree with no order at all.
    return [*order, *sorted(set(places).difference(order), key=places.__getitem__)]


def _place(member: Subscriber) -> Place:
    """Where the member stands where nothing else tells: by the lowest partition it had, then by who it is."""
    lowest = min((min(partitions) for partitions in member.had.values()), default=None)
    name = member.member_id if member.instance_id is None else member.instance_id
    return (lowest is None, lowest or 0, member.instance_id is None, name)
