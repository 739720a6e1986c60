"""The target of a share group: which member is to have which partitions, for the group's epoch.

A target of many members and topics is computed in a thread, and stored a member at a time.  Until its epoch
is stored heartbeats wait, and what changes meanwhile makes the next target.

    assign --small--> target and its epoch, in the records of the change
           --large--> group.assigning: thread --> targets that differ, one by one --> epoch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.changes import nobody, nothing
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
        return sum(len(wish.topics) for wish in self.wishes) + sum(
            topic.partition_count for topic in self.topics.values()
        )

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


def assign(table: ShareGroups, changes: GroupChanges, group: ShareGroup) -> None:
    """Compute the target of the group's epoch, and write what differs from the last one; or begin to."""
    if group.assigning is not None:
        return
    task = _task_of(table, group)
    if task.weight > table.context.weight_max:
        _LargeTarget(table, group).begin(task, changes)
        return
    for member_id, target in task.run().items():
        changes.put(ShareTargetKey(group.group_id, member_id), target)
    changes.put(ShareTargetEpochKey(group.group_id), TargetEpoch(group.epoch, table.context.wall_ms))


def _task_of(table: ShareGroups, group: ShareGroup) -> ShareTask:
    known = table.context.topics.by_name
    topics: dict[str, Open] = {}
    for name in filter(known.__contains__, group.names):
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
    missing = (index for index in range(count) if index not in topic.partitions and index not in held_back)
    return next(missing, count)


class _LargeTarget:
    """A target that a thread computes, and its way to the log, a member at a time."""

    __slots__ = ("_epoch", "_found", "_group", "_left", "_table", "_void")

    def __init__(self, table: ShareGroups, group: ShareGroup) -> None:
        self._table = table
        self._group = group
        self._epoch = group.epoch
        self._found: dict[str, Assignment] = {}
        self._left: Iterator[tuple[str, Assignment]] = iter(())
        self._void = False

    def begin(self, task: ShareTask, changes: GroupChanges) -> None:
        """Have it computed; it is void if the changes that it follows are undone."""
        self._group.assigning = []
        changes.on_undo(self._make_void)
        self._table.context.offload(lambda: self._found.update(task.run()), self._computed)

    def _make_void(self) -> None:
        self._void = True

    def _computed(self, error: Exception | None) -> None:
        def store(now_ms: int) -> None:
            self._left = iter(self._found.items())
            if error is not None:
                self._table.context.now_ms = now_ms
                self._end()
                raise error
            self._store_one(now_ms)

        self._soon(store, self._table.context.now_ms)

    def _soon(self, action: Callable[[int], None], at_ms: int) -> None:
        # Its own key: the group may be deleted and made anew meanwhile.
        key = TimerKey("share store", self._group.group_id, str(id(self)))
        self._table.context.timers.set(key, at_ms, action)

    def _store_one(self, now_ms: int) -> None:
        """Store the target of a member, the rest soon; after the last one, the epoch."""
        context, group = self._table.context, self._group
        context.now_ms = now_ms
        if self._void or not self._is_there:
            # It may have been deleted, or loaded again.
            self._end()
            return
        found = next(self._left, None)
        with GroupChanges(self._table, group.group_id) as changes:
            changes.on_undo(self._make_void)
            if found is None:
                epoch = TargetEpoch(self._epoch, context.wall_ms)
                changes.put(ShareTargetEpochKey(group.group_id), epoch)
            elif found[0] in group.members:
                changes.put(ShareTargetKey(group.group_id, found[0]), found[1])
            changes.commit(nothing, nobody)
        if found is None:
            self._end()
        else:
            self._soon(self._store_one, now_ms + 1)

    @property
    def _is_there(self) -> bool:
        return self._table.groups.get(self._group.group_id) is self._group

    def _end(self) -> None:
        """Let those go on that waited for the target, and begin the next one if it is out of date."""
        group = self._group
        waiting, group.assigning = group.assigning or [], None
        for go_on in waiting:
            go_on()
        if self._is_there and group.epoch != group.target_epoch:
            with GroupChanges(self._table, group.group_id) as changes:
                assign(self._table, changes, group)
                changes.commit(nothing, nobody)
