"""The target of a share group: which member is to have which partitions, for the group's epoch.

A target of many members and topics is computed in a thread, and stored a member at a time.  Until its epoch
is stored heartbeats wait, and what changes meanwhile makes the next target.

    assign_when_due --small--> target and its epoch, in the records of the change
                    --large--> group.assigning: thread --> targets that differ, one by one --> epoch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.changes import nobody, nothing
from groups.large_target import LargeTarget, MemberTarget
from groups.offload import MEMBER_WEIGHT
from groups.open_partitions import assign_open
from groups.record_keys import TargetEpoch
from groups.share.assignor_simple import assign_shared
from groups.share.gates import share_withheld
from groups.share.group_records import ShareTargetEpochKey, ShareTargetKey
from groups.share.group_table import GroupChanges, ShareGroups
from groups.share.share_group import ShareGroup
from groups.subscriber import Subscriber
from groups.timers import TimerKey


class Wish(NamedTuple):
    """A member, the names of its topics, and what it had in the last target."""

    member_id: str
    topics: tuple[str, ...]
    had: Assignment | None
    """None: it is new."""


class Open(NamedTuple):
    """A topic with partitions that can be assigned: those below `partition_count` but for `held_back`."""

    topic_id: UUID
    partition_count: int
    held_back: frozenset[int]


class ShareTask(NamedTuple):
    """A question to the assignor, apart from the group: a value, so that a thread can work on it."""

    wishes: list[Wish]
    topics: Mapping[str, Open]

    @property
    def weight(self) -> int:
        """The time it will take, in units of a few microseconds."""
        if not self.topics:
            return 0
        wanted = sum(len(wish.topics) for wish in self.wishes) + MEMBER_WEIGHT * len(self.wishes)
        return wanted + sum(topic.partition_count for topic in self.topics.values())

    def run(self) -> dict[str, Assignment]:
        """Return the targets of the members whose last one was another, by member."""
        known = self.topics
        members = [
            Subscriber(
                member_id=wish.member_id,
                topics=frozenset(known[name].topic_id for name in filter(known.__contains__, wish.topics)),
                had=NOTHING if wish.had is None else wish.had,
            )
            for wish in self.wishes
        ]
        counts = {topic.topic_id: topic.partition_count for topic in known.values()}
        closed = {topic.topic_id: topic.held_back for topic in known.values() if topic.held_back}
        found = assign_open(assign_shared, members, counts, closed) if closed else {}
        targets: dict[str, Assignment] = {}
        had = {wish.member_id: wish.had for wish in self.wishes}
        for member_id, topics in (found or assign_shared(members, counts)).items():
            target = {topic_id: frozenset(indexes) for topic_id, indexes in topics.items()}
            if had[member_id] != target:
                targets[member_id] = target
        return targets


def assign_when_due(table: ShareGroups, changes: GroupChanges, group: ShareGroup) -> None:
    """Compute the target of the group's epoch, now or at the end of the interval.

    What is written is what differs from the last one; the target of a large group is begun only.
    """
    if group.assigning is not None:
        return
    context, key = table.context, TimerKey("share assign", group.group_id)
    interval_ms = table.interval_ms(group.group_id)
    if interval_ms and group.assigned_ms is not None and context.now_ms < group.assigned_ms + interval_ms:
        due_ms = group.assigned_ms + interval_ms
        context.timers.set_once(key, due_ms, lambda now_ms: _assign_later(table, group.group_id, now_ms))
        return
    context.timers.cancel(key)
    task = _task_of(table, group)
    if task.topics:
        # The first target of a group has none: nothing has a state yet.
        group.assigned_ms = context.now_ms
    if task.weight > table.context.weight_max:
        ShareTarget(table, group).begin(task.run, changes)
        return
    for member_id, target in task.run().items():
        changes.put(ShareTargetKey(group.group_id, member_id), target)
    changes.put(ShareTargetEpochKey(group.group_id), TargetEpoch(group.epoch, table.context.wall_ms))


def _assign_later(table: ShareGroups, group_id: str, now_ms: int) -> None:
    """Compute a target that is due now, if it is still out of date."""
    table.context.now_ms = now_ms
    group = table.groups.get(group_id)
    if group is not None and group.epoch != group.target_epoch:
        with GroupChanges(table, group_id) as changes:
            assign_when_due(table, changes, group)
            changes.commit(nothing, nobody)


def _task_of(table: ShareGroups, group: ShareGroup) -> ShareTask:
    known = table.context.topics.by_name
    topics: dict[str, Open] = {}
    # A new group has no state at all, and asks for thousands of topics perhaps.
    for name in filter(known.__contains__, group.names) if group.initialized else ():
        topic = known[name]
        held_back = share_withheld(table.context, group, name, topic.topic_id)
        count = ready(group, topic.topic_id, topic.partition_count, held_back)
        if count > len(held_back):
            topics[name] = Open(topic.topic_id, count, held_back)
    wishes = [
        Wish(member_id, member.topics, group.target.get(member_id))
        for member_id, member in sorted(group.members.items())
    ]
    return ShareTask(wishes, topics)


def ready(group: ShareGroup, topic_id: UUID, count: int, held_back: frozenset[int]) -> int:
    """Return how many of a topic's partitions, from the first on, have a state or are held back."""
    topic = group.initialized.get(topic_id)
    if topic is None:
        return 0
    if not held_back and topic.partitions.issuperset(range(count)):
        return count
    missing = (index for index in range(count) if index not in topic.partitions and index not in held_back)
    return next(missing, count)


class ShareTarget(LargeTarget[ShareGroup]):
    """The target of a share group."""

    AT_ONCE = 1  # it may have all partitions of many topics
    TIMER = "share store"

    def __init__(self, table: ShareGroups, group: ShareGroup) -> None:
        super().__init__(table.context, group)
        self._table = table

    def is_there(self) -> bool:
        """Whether the group was not deleted, or loaded again."""
        return self._table.groups.get(self.group.group_id) is self.group

    def store(self, some: Sequence[MemberTarget], *, is_last: bool) -> None:
        """Write the targets of members that have not left."""
        group_id = self.group.group_id
        with GroupChanges(self._table, group_id) as changes:
            changes.on_undo(self.make_void)
            for member_id, target in some:
                if member_id in self.group.members:
                    changes.put(ShareTargetKey(group_id, member_id), target)
            if is_last:
                changes.put(ShareTargetEpochKey(group_id), TargetEpoch(self.epoch, self.context.wall_ms))
            changes.commit(nothing, nobody)

    def assign_next(self) -> None:
        """Compute the next target, if this one is out of date."""
        _assign_later(self._table, self.group.group_id, self.context.now_ms)
