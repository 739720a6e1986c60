"""Uniform: partitions are spread as evenly as possible over all topics together.

If all members want the same topics, their totals differ by one at most. Otherwise no partition is left that
could go to a member that wants it and has two fewer. Members keep what they have as far as that allows.

    1. each member keeps what it had, up to its fair share
    2. a free partition goes to the member with the fewest that wants it, scarce topics first
    3. with unequal wishes: partitions move along chains of members from the fullest to the emptiest
Source: KIP-848; Kafka's UniformAssignor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from uuid import UUID

from groups.assignment import Partition
from groups.subscriber import Subscriber, still_held, subscribers_of

Owned = dict[str, set[Partition]]
Move = tuple[str, str, Partition]
"""Giver, taker, partition."""


def assign_uniformly(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> dict[str, dict[UUID, set[int]]]:
    """Spread the partitions of all topics evenly."""
    wanted_by = {
        topic_id: [member.member_id for member in subscribed]
        for topic_id, subscribed in subscribers_of(members, counts)
    }
    owned: Owned = {member.member_id: set() for member in members}
    free = {(topic_id, index) for topic_id in wanted_by for index in range(counts[topic_id])}
    same_wishes = all(len(wanted) == len(members) for wanted in wanted_by.values())
    if same_wishes and members:
        _keep_share(members, counts, owned, free)
    else:
        _keep_all(members, counts, owned, free)
    _hand_out(owned, sorted(free), wanted_by)
    if not same_wishes:
        _level(owned, wanted_by)
    found: dict[str, dict[UUID, set[int]]] = {member.member_id: {} for member in members}
    for member_id, partitions in owned.items():
        for topic_id, index in partitions:
            found[member_id].setdefault(topic_id, set()).add(index)
    return found


def _held(member: Subscriber, counts: Mapping[UUID, int]) -> list[Partition]:
    return [
        (topic_id, index)
        for topic_id in sorted(member.had)
        if topic_id in member.topics and topic_id in counts
        for index in still_held(member, topic_id, counts[topic_id])
    ]


def _keep_share(
    members: Sequence[Subscriber], counts: Mapping[UUID, int], owned: Owned, free: set[Partition]
) -> None:
    """Let each member keep what it had, up to its share; those with the most keep one more."""
    least, one_more = divmod(len(free), len(members))
    held = {member.member_id: _held(member, counts) for member in members}
    for member_id in sorted(held, key=lambda name: (-len(held[name]), name)):
        kept = [place for place in held[member_id] if place in free][: least + (one_more > 0)]
        if len(kept) > least:
            one_more -= 1
        owned[member_id].update(kept)
        free.difference_update(kept)


def _keep_all(
    members: Sequence[Subscriber], counts: Mapping[UUID, int], owned: Owned, free: set[Partition]
) -> None:
    """Let each member keep what it had; levelling removes the surplus."""
    for member in members:
        kept = [place for place in _held(member, counts) if place in free]
        owned[member.member_id].update(kept)
        free.difference_update(kept)


def _hand_out(owned: Owned, free: list[Partition], wanted_by: Mapping[UUID, list[str]]) -> None:
    """Give free partitions to the members with the fewest, topics that few want first."""
    queues: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for topic_id, index in sorted(free, key=lambda place: (len(wanted_by[place[0]]), place)):
        wanted = tuple(wanted_by[topic_id])
        queue = queues.get(wanted)
        if queue is None:
            queue = queues[wanted] = [(len(owned[name]), name) for name in wanted]
            heapify(queue)
        while True:
            size, name = heappop(queue)
            if size == len(owned[name]):
                break
            heappush(queue, (len(owned[name]), name))  # It got a partition through another queue.
        owned[name].add((topic_id, index))
        heappush(queue, (size + 1, name))


def _level(owned: Owned, wanted_by: Mapping[UUID, list[str]]) -> None:
    """Move partitions while a member can get one, directly or not, from another that has two more.

    A chain A -> B -> C gives one of A's to B and one of B's to C: A has one fewer, C one more. Each round
    lowers the sum of the squares, so the loop ends.
    """
    while (chain := _find_chain(owned, wanted_by)) is not None:
        for giver, taker, place in chain:
            owned[giver].remove(place)
            owned[taker].add(place)


def _find_chain(owned: Owned, wanted_by: Mapping[UUID, list[str]]) -> list[Move] | None:
    """Return a short chain of moves from a member to one that has at least two fewer.

    A member that was reached in vain from a fuller one is not tried again: all that it can reach was reached,
    too. So a round visits every member and topic once.
    """
    came: dict[str, Move | None] = {}
    seen: set[UUID] = set()
    for start in sorted(owned, key=lambda name: (-len(owned[name]), name)):
        if start in came:
            continue
        came[start] = None
        queue = deque([start])
        while queue:
            giver = queue.popleft()
            for topic_id, place in sorted({place[0]: place for place in sorted(owned[giver])}.items()):
                if topic_id in seen:
                    continue
                seen.add(topic_id)
                for taker in wanted_by[topic_id]:
                    if taker in came:
                        continue
                    came[taker] = (giver, taker, place)
                    if len(owned[taker]) <= len(owned[start]) - 2:
                        return _steps(came, taker)
                    queue.append(taker)
    return None


def _steps(came: Mapping[str, Move | None], end: str) -> list[Move]:
    steps = []
    while (step := came[end]) is not None:
        steps.append(step)
        end = step[0]
    return steps
