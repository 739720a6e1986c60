"""The way of a consumer group's member from the partitions it has to those of the target.

A pure function of the partitions the member has, those of the target, those it says it holds, and the holders
of the rest. It never gives a member what another has not given up. The member keeps its old epoch until it
has given up what it must, so that commits for those partitions still count.
Source: KIP-848, section "Reconciliation"; Kafka 4.3's CurrentAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import replace
from uuid import UUID

from groups.assignment import (
    NO_EPOCHS,
    Assignment,
    EpochAssignment,
    Indexes,
    common,
    of_topics,
    touches,
    union,
    without,
)
from groups.consumer_member import MemberAssignment
from groups.errors import FencedMemberEpoch
from groups.states import RECONCILIATION, MemberFacts, MemberState

Owned = Indexes | None
"""Partitions that a member says it holds; None: it did not say, so it may hold all it ever had."""


def next_assignment(
    current: MemberAssignment,
    *,
    target: Assignment,
    target_epoch: int,
    topics: Collection[UUID],
    owned: Owned,
    held_by_others: Callable[[UUID, Set[int]], Set[int]] | None,
) -> MemberAssignment:
    """Return the member's next assignment; `current` itself if nothing changes.

    `topics` are the existing ones that it subscribes to. It loses all others at once, whatever the target
    still says. `held_by_others` returns those of a topic's partitions that others have or give up; None: it
    would return none.
    Raises: FencedMemberEpoch if its state was written by a later version and it may hold partitions.
    """
    if current.state == MemberState.UNKNOWN and (owned is None or owned):
        raise FencedMemberEpoch(
            "the state of the member is unknown: it must give up all its partitions and join again"
        )
    if current.state == MemberState.UNREVOKED_PARTITIONS and _may_hold(owned, current.revoking):
        return _unsubscribed(current, topics)
    # Each look-up of an id runs a function of Python, and a member may have 20,000 topics.
    wanted: Assignment = target
    if not all(map(topics.__contains__, target)):
        wanted = {topic_id: indexes for topic_id, indexes in target.items() if topic_id in topics}
    keep = common(current.assigned, wanted)
    revoke = without(current.assigned, wanted)
    free: dict[UUID, Mapping[int, int]] = {}
    waits = False
    alike: dict[frozenset[int], Mapping[int, int]] = {}  # most topics have as many partitions as others
    for topic_id, indexes in wanted.items():
        missing: Set[int] = indexes - keep.get(topic_id, NO_EPOCHS).keys() if keep else indexes
        if held_by_others is not None and (taken := held_by_others(topic_id, missing)):
            missing, waits = missing - taken, True
        if missing:
            key = frozenset(missing)
            epochs = alike.get(key)
            if epochs is None:
                epochs = alike[key] = dict.fromkeys(sorted(key), target_epoch)
            free[topic_id] = epochs
    facts = MemberFacts(must_revoke=_may_hold(owned, revoke), must_wait=waits)
    state, moves = RECONCILIATION[facts]
    if moves:
        found = replace(
            _in_epoch(current, target_epoch),
            state=state,
            assigned=union(keep, free),
            revoking=NO_EPOCHS,
        )
    else:
        found = replace(current, state=state, assigned=keep, revoking=revoke)
    return current if found == current else found


def _may_hold(owned: Owned, partitions: EpochAssignment) -> bool:
    """Whether the member may still hold some of these partitions."""
    return bool(partitions) and (owned is None or touches(partitions, owned))


def _unsubscribed(current: MemberAssignment, topics: Collection[UUID]) -> MemberAssignment:
    """Make a member that already has partitions to give up also give up topics it no longer wants."""
    dropped = of_topics(current.assigned, current.assigned.keys() - topics)
    if not dropped:
        return current
    kept = of_topics(current.assigned, topics)
    return replace(current, assigned=kept, revoking=union(current.revoking, dropped))


def _in_epoch(current: MemberAssignment, epoch: int) -> MemberAssignment:
    """Move to an epoch; remember the old one, as the member may not have heard of the new one."""
    if epoch == current.epoch:
        return current
    return replace(current, epoch=epoch, previous_epoch=current.epoch)
