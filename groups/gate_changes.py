"""Groups that follow their gates (groups/split_gates.py): they get partitions, or give them up.

Gates are looked at a moment after a commit, and every few seconds as long as something is withheld, for what
no commit tells: retention, and time.
"""

from __future__ import annotations

from typing import Final

from groups.classic_group import ClassicGroup
from groups.classic_rebalance import prepare
from groups.consumer_group import ConsumerGroup
from groups.context import GATES, Context
from groups.split_gates import places_of, withheld_by_topic
from groups.states import GroupState
from groups.topic_changes import refresh

GROUPS_PER_TICK: Final = 100
"""The groups that look at their gates at once, at some 10 µs each if nothing has changed."""


def follow_all(context: Context, now_ms: int) -> None:
    """Have some of the groups follow their gates, and the others in later ticks."""
    context.now_ms = now_ms
    for _ in range(min(GROUPS_PER_TICK, len(context.gated))):
        group_id = context.gated.pop()
        group = context.groups.get(group_id)
        try:
            if group is not None:
                follow_gates(context, group)
        except Exception as error:  # noqa: BLE001  (it is this group's alone)
            context.failed(group_id, error)
    if context.gated:
        context.timers.set_once(GATES, now_ms + 1, lambda later_ms: follow_all(context, later_ms))


def follow_gates(context: Context, group: ClassicGroup | ConsumerGroup) -> None:
    """Have a group follow the gates of partitions that were split: it gets a partition, or gives one up."""
    if isinstance(group, ConsumerGroup):
        if group.metadata:
            refresh(context, group)
        return
    names = group.subscribed_topics() if group.state == GroupState.STABLE else None
    if not names or not group.is_consumer_group:
        return
    now = places_of(withheld_by_topic(context, group.group_id, names))
    if now != group.withheld:
        group.withheld = now
        prepare(context, group)
