"""Levelling: partitions move from members with many to members with few, where each wants topics of its own.

    1. within a topic, from the member with the most to the one with the fewest, while they differ by two
    2. along chains A -> B -> C, which give some of A's to B and as many of B's to C: B keeps its number

Each move lowers the sum of the squares of the members' numbers, so both end; and the work is limited, as
members may want 10,000 topics each. What is not level by then stays so: the assignment is complete all the
same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heapreplace
from typing import Final, NamedTuple
from uuid import UUID

STEPS_MAX: Final = 2_000_000
"""Looks at a member that wants a topic; they take about a second."""


class Shares:
    """The partitions that each member has so far, by topic; what came last is the first to be given away."""

    __slots__ = ("owned", "size")

    def __init__(self, member_ids: Iterable[str]) -> None:
        self.owned: dict[str, dict[UUID, list[int]]] = {member_id: {} for member_id in member_ids}
        self.size = dict.fromkeys(self.owned, 0)

    def give(self, member_id: str, topic_id: UUID, index: int) -> None:
        """Give a member one more."""
        self.owned[member_id].setdefault(topic_id, []).append(index)
        self.size[member_id] += 1

    def move(self, giver: str, taker: str, topic_id: UUID, count: int = 1) -> None:
        """Move that many partitions of a topic; the giver must have them."""
        had = self.owned[giver][topic_id]
        self.owned[taker].setdefault(topic_id, []).extend(had[-count:])
        del had[-count:]
        if not had:
            del self.owned[giver][topic_id]
        self.size[giver] -= count
        self.size[taker] += count


class Move(NamedTuple):
    """One step of a chain."""

    giver: str
    taker: str
    topic_id: UUID


class _Work:
    """The steps that are left."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps


def level(shares: Shares, wanted_by: Mapping[UUID, list[str]], *, steps_max: int = STEPS_MAX) -> None:
    """Move partitions while a member can get one, directly or not, from another that has two more."""
    work = _Work(steps_max)
    while work.left > 0 and sum(_level_topic(shares, *topic, work) for topic in wanted_by.items()):
        continue
    while work.left > 0 and (chain := _find_chain(shares, wanted_by, work)):
        count = (shares.size[chain[-1].giver] - shares.size[chain[0].taker]) // 2
        count = min(count, *(len(shares.owned[step.giver][step.topic_id]) for step in chain))
        for step in chain:
            shares.move(*step, count)


def _level_topic(shares: Shares, topic_id: UUID, wanted: list[str], work: _Work) -> bool:
    """Move partitions of one topic; return whether any was moved.

    A member that has got one here is never the one with the most, nor one that has given the one with the
    fewest, before the loop ends: so only the tops of the heaps are brought up to date.
    """
    size = shares.size
    work.left -= len(wanted)
    givers = [(-size[name], name) for name in wanted if topic_id in shares.owned[name]]
    if not givers or -min(givers)[0] - min(size[name] for name in wanted) < 2:
        return False
    takers = [(size[name], name) for name in wanted]
    heapify(givers)
    heapify(takers)
    while givers and size[givers[0][1]] - size[takers[0][1]] >= 2:
        giver, taker = givers[0][1], takers[0][1]
        shares.move(giver, taker, topic_id)
        work.left -= 1
        heapreplace(takers, (size[taker], taker))
        if topic_id in shares.owned[giver]:
            heapreplace(givers, (-size[giver], giver))
        else:
            heappop(givers)
    return True


def _find_chain(shares: Shares, wanted_by: Mapping[UUID, list[str]], work: _Work) -> list[Move]:
    """Return a short chain of moves, the last first, to a member with at least two fewer than the giver.

    A member that was reached in vain from a fuller one is not tried again: all that it can reach was reached,
    too. So a search visits every member and topic once.
    """
    size = shares.size
    came: dict[str, Move | None] = {}
    seen: set[UUID] = set()
    for start in sorted(size, key=lambda name: (-size[name], name)):
        if start in came:
            continue
        came[start] = None
        queue = deque([start])
        while queue:
            giver = queue.popleft()
            for topic_id in sorted(shares.owned[giver].keys() - seen):
                seen.add(topic_id)
                work.left -= len(wanted_by[topic_id])
                for taker in wanted_by[topic_id]:
                    if taker in came:
                        continue
                    came[taker] = Move(giver, taker, topic_id)
                    if size[taker] <= size[start] - 2:
                        return _steps(came, taker)
                    queue.append(taker)
    return []


def _steps(came: Mapping[str, Move | None], end: str) -> list[Move]:
    steps = []
    while (step := came[end]) is not None:
        steps.append(step)
        end = step.giver
    return steps
