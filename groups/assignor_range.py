"""Range: every member gets neighbouring partitions of each topic.

All topics share one order of members. So in topics with equally many partitions and the same subscribers,
each member gets the same partition numbers, as joins between topics need. The order follows from the ranges
that members had before, newcomers last, so that ranges shift as little as neighbours can. Where that
decides nothing, static members go by instance id, so that a restarted application finds its old ranges.
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
    """Return the members in an order that fits every topic's old ranges, if there is one.

    In each topic, members that had a range come in the order of their ranges, before those that had none.
    """
    places = {member.member_id: _place(member) for member in members}
    followers: dict[str, list[str]] = {member_id: [] for member_id in places}
    waits_for = dict.fromkeys(places, 0)
    for topic_id, subscribed in subscribers_of(members, counts):
        had = sorted(
            (min(member.had[topic_id]), member.member_id) for member in subscribed if member.had.get(topic_id)
        )
        names = [name for _, name in had]
        without = [member.member_id for member in subscribed if not member.had.get(topic_id)] if names else []
        for before, after in [*pairwise(names), *((names[-1], newcomer) for newcomer in without)]:
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
    # Assignments that another assignor left may fit no order at all.
    return [*order, *sorted(set(places).difference(order), key=places.__getitem__)]


def _place(member: Subscriber) -> Place:
    """Return the member's place where nothing else decides: by its lowest old partition, then by its id."""
    lowest = min((min(partitions) for partitions in member.had.values() if partitions), default=None)
    name = member.member_id if member.instance_id is None else member.instance_id
    return (lowest is None, lowest or 0, member.instance_id is None, name)
