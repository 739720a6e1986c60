"""Server-side assignors: they divide the partitions among the members.

An assignor is a pure function of the members, what they had before, and the existing topics. It gives each
partition of each subscribed topic to exactly one of the topic's subscribers, and moves as few partitions as
its rule allows. The same input gives the same output, whatever its order.

    tdengine   per topic V div C partitions each, V mod C members get one more         assignor_tdengine.py
    uniform    as even as possible over all topics together                            assignor_uniform.py
    range      per topic neighbouring partitions, members in one order for all topics  assignor_range.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.assignor_range import assign_ranges
from groups.assignor_tdengine import assign_evenly
from groups.assignor_uniform import assign_uniformly
from groups.subscriber import Subscriber

PartitionCounts = Mapping[UUID, int]
Assignor = Callable[[Sequence[Subscriber], PartitionCounts], dict[str, dict[UUID, set[int]]]]

ASSIGNORS: Final[Mapping[str, Assignor]] = {
    "tdengine": assign_evenly,
    "uniform": assign_uniformly,
    "range": assign_ranges,
}
"""All assignors, by their names in `group.consumer.assignors`."""


def assign(name: str, members: Sequence[Subscriber], counts: PartitionCounts) -> dict[str, Assignment]:
    """Return the target assignment of every member.

    `counts` holds the partitions of each topic that exists; other topics are ignored.
    """
    ordered = sorted(members, key=lambda member: member.member_id)
    found = ASSIGNORS[name](ordered, counts)
    return {
        member.member_id: {
            topic_id: frozenset(partitions)
            for topic_id, partitions in found.get(member.member_id, {}).items()
            if partitions
        }
        or NOTHING
        for member in ordered
    }


def preferred(wishes: Sequence[str | None], default: str) -> str:
    """Return the assignor that most members ask for; the default if none asks."""
    votes: dict[str, int] = {}
    for wish in wishes:
        if wish is not None:
            votes[wish] = votes.get(wish, 0) + 1
    if not votes:
        return default
    return min(votes, key=lambda name: (-votes[name], name))
