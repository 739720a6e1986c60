"""Uniform: partitions are spread as evenly as possible over all topics together.

If all members want the same topics, their totals differ by one at most. Otherwise no partition is left that
could go to a member that wants it and has two fewer (in enormous groups the work ends before that). Members
keep what they have as far as that allows.

    1. each member keeps what it had, up to its fair share
    2. a free partition goes to the member with the fewest that wants it, scarce topics first
    3. with unequal wishes: partitions move from the fullest members to the emptiest (levelling.py)
Source: KIP-848; Kafka's UniformAssignor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from uuid import UUID

from groups.assignment import Partition
from groups.levelling import Shares, level
from groups.subscriber import Subscriber, subscribers_of

Free = dict[UUID, set[int]]
"""Partitions without an owner so far, by topic."""


def assign_uniformly(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> dict[str, dict[UUID, set[int]]]:
    """Spread the partitions of all topics evenly."""
    wanted_by = {
        topic_id: [member.member_id for member in subscribed]
        for topic_id, subscribed in subscribers_of(members, counts)
    }
    shares = Shares(member.member_id for member in members)
    free = {topic_id: set(range(counts[topic_id])) for topic_id in wanted_by}
    same_wishes = all(len(wanted) == len(members) for wanted in wanted_by.values())
    if same_wishes and members:
        _keep_share(members, shares, free)
    else:
        _keep_all(members, shares, free)
    _hand_out(shares, free, wanted_by)
    if not same_wishes:
        level(shares, wanted_by)
    return {
        member_id: {topic_id: set(indexes) for topic_id, indexes in owned.items()}
        for member_id, owned in shares.owned.items()
    }


def _held(member: Subscriber, free: Free) -> Iterator[Partition]:
    """Yield what the member had, still wants, and no other has by now."""
    for topic_id in sorted(member.had):
        if topic_id in member.topics and topic_id in free:
            for index in sorted(member.had[topic_id]):
                if index in free[topic_id]:
                    yield topic_id, index


def _keep_share(members: Sequence[Subscriber], shares: Shares, free: Free) -> None:
    """Let each member keep what it had, up to its share; those with the most keep one more."""
    least, one_more = divmod(sum(map(len, free.values())), len(members))
    held = {member.member_id: list(_held(member, free)) for member in members}
    for member_id in sorted(held, key=lambda name: (-len(held[name]), name)):
        kept = [place for place in held[member_id] if place[1] in free[place[0]]][: least + (one_more > 0)]
        if len(kept) > least:
            one_more -= 1
        _keep(member_id, kept, shares, free)


def _keep_all(members: Sequence[Subscriber], shares: Shares, free: Free) -> None:
    """Let each member keep what it had; levelling removes the surplus."""
    for member in members:
        _keep(member.member_id, list(_held(member, free)), shares, free)


def _keep(member_id: str, kept: Sequence[Partition], shares: Shares, free: Free) -> None:
    for topic_id, index in kept:
        shares.give(member_id, topic_id, index)
        free[topic_id].discard(index)


def _hand_out(shares: Shares, free: Free, wanted_by: Mapping[UUID, list[str]]) -> None:
    """Give free partitions to the members with the fewest, topics that few want first."""
    size = shares.size
    queues: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for topic_id in sorted(free, key=lambda topic_id: (len(wanted_by[topic_id]), topic_id)):
        if not free[topic_id]:
            continue
        wanted = tuple(wanted_by[topic_id])
        queue = queues.get(wanted)
        if queue is None:
            queue = queues[wanted] = [(size[name], name) for name in wanted]
            heapify(queue)
        for index in sorted(free[topic_id]):
            while queue[0][0] != size[queue[0][1]]:
                # It got a partition through another queue.
                name = heappop(queue)[1]
                heappush(queue, (size[name], name))
            name = heappop(queue)[1]
            shares.give(name, topic_id, index)
            heappush(queue, (size[name], name))
