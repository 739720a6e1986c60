"""The target of a share group: which member is to have which partitions, for the group's epoch.

A target of many members and topics is computed in a thread, and stored a member at a time.  Until its epoch
is stored heartbeats wait, and what changes meanwhile makes the next target.

    assign_when_due --small--> target and its epoch, in the records of the change
                    --large--> group.assigning: thread --> targets that differ, one by one --> epoch
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.assignment_task import NAMES_AT_ONCE, known_topics, topics_hash
from groups.changes import nobody, nothing
from groups.context import Context
from groups.effects import EncodedRecord
from groups.large_target import LargeTarget, MemberTarget
from groups.offload import MEMBER_WEIGHT
from groups.open_partitions import assign_open
from groups.record_keys import GroupEpoch, TargetEpoch
from groups.share.assignor_simple import assign_shared
from groups.share.gates import share_withheld
from groups.share.group_records import (
    InitializedTopic,
    ShareEpochKey,
    ShareTargetEpochKey,
    ShareTargetKey,
    encode_share_record,
)
from groups.share.group_table import GroupChanges, ShareGroups
from groups.share.share_group import ShareGroup
from groups.subscriber import Subscriber
from groups.timers import TimerKey

NONE_HELD: Final = frozenset[int]()


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


class Openings:
    """The topics of a group with partitions that can be assigned: a value but for the topics themselves."""

    __slots__ = ("_held_back", "_known", "_names", "_states", "metadata_hash")

    def __init__(self, context: Context, group: ShareGroup) -> None:
        self._names = frozenset(group.names)
        self._known = context.topics.by_name
        self._states = group.initialized
        self._held_back = _held_back(context, group)
        # Of very many topics: their hash, once they were looked up.
        self.metadata_hash: int | None = None

    @property
    def are_many(self) -> bool:
        """Whether there are very many names, which a thread looks up."""
        return len(self._names) > NAMES_AT_ONCE

    @property
    def may_be_some(self) -> bool:
        """Whether there may be any: a new group has no state at all."""
        return bool(self._states)

    def look_up(self) -> dict[str, Open]:
        """Return them by name.

        A thread may ask: topics that come or go meanwhile may be among them or not.
        """
        if not self._states:
            return {}
        known = known_topics(self._names, self._known, {})
        if self.are_many:
            self.metadata_hash = topics_hash(known)
        found: dict[str, Open] = {}
        for name, topic in known.items():
            held_back = self._held_back.get(name, NONE_HELD)
            count = ready(self._states.get(topic.topic_id), topic.partition_count, held_back)
            if count > len(held_back):
                found[name] = Open(topic.topic_id, count, held_back)
        return found


class ShareTask:
    """A question to the assignor, apart from the group, so that a thread can work on it."""

    __slots__ = ("_look_up", "_topics", "_wishes")

    def __init__(
        self, wishes: list[Wish], look_up: Callable[[], Mapping[str, Open]], *, later: bool = False
    ) -> None:
        """`look_up()` returns the topics by name; with `later`, it is asked where the task is run."""
        self._wishes = wishes
        self._look_up = look_up
        self._topics = None if later else look_up()

    @property
    def weight(self) -> int:
        """The time it will take, in units of a few microseconds."""
        if self._topics is not None and not self._topics:
            return 0
        # Without a line of Python for each: a group may have 10,000 members, and they 20,000 topics.
        wanted: int = sum(map(len, map(attrgetter("topics"), self._wishes)))
        # With very many names it is large, however many partitions they have.
        partitions = sum(topic.partition_count for topic in (self._topics or {}).values())
        return wanted + MEMBER_WEIGHT * len(self._wishes) + partitions

    def run(self) -> dict[str, Assignment]:
        """Return the targets of the members whose last one was another, by member."""
        known = self._look_up() if self._topics is None else self._topics
        members = [
            Subscriber(
                member_id=wish.member_id,
                topics=frozenset(known[name].topic_id for name in filter(known.__contains__, wish.topics)),
                had=NOTHING if wish.had is None else wish.had,
            )
            for wish in self._wishes
        ]
        counts = {topic.topic_id: topic.partition_count for topic in known.values()}
        closed = {topic.topic_id: topic.held_back for topic in known.values() if topic.held_back}
        found = assign_open(assign_shared, members, counts, closed) if closed else {}
        targets: dict[str, Assignment] = {}
        had = {wish.member_id: wish.had for wish in self._wishes}
        for member_id, topics in (found or assign_shared(members, counts)).items():
            target = {topic_id: frozenset(indexes) for topic_id, indexes in topics.items()}
            if had[member_id] != target:
                targets[member_id] = target
        return targets


def _held_back(context: Context, group: ShareGroup) -> dict[str, frozenset[int]]:
    """Return what is held back of the group's topics with splits, by name."""
    known, splits = context.topics.by_name, context.splits.topics
    if not splits:
        return {}
    return {
        name: share_withheld(context, group, name, known[name].topic_id)
        for name in filter(splits.__contains__, group.names)
        if name in known
    }


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
    openings = Openings(context, group)
    if openings.may_be_some:
        # The first target of a group has none: nothing has a state yet.
        group.assigned_ms = context.now_ms
    task = ShareTask(_wishes(group), openings.look_up, later=openings.are_many and openings.may_be_some)
    if task.weight > table.context.weight_max:
        ShareTarget(table, group, openings).begin(task.run, changes)
        return
    for member_id, target in task.run().items():
        changes.put(ShareTargetKey(group.group_id, member_id), target)
    changes.put(ShareTargetEpochKey(group.group_id), TargetEpoch(group.epoch, table.context.wall_ms))
    _put_hash(changes, group, openings)


def _assign_later(table: ShareGroups, group_id: str, now_ms: int) -> None:
    """Compute a target that is due now, if it is still out of date."""
    table.context.now_ms = now_ms
    group = table.groups.get(group_id)
    if group is not None and group.epoch != group.target_epoch:
        with GroupChanges(table, group_id) as changes:
            assign_when_due(table, changes, group)
            changes.commit(nothing, nobody)


def ready(state: InitializedTopic | None, count: int, held_back: frozenset[int]) -> int:
    """Return how many of a topic's partitions, from the first on, have a state or are held back."""
    if state is None:
        return 0
    if not held_back and state.partitions.issuperset(range(count)):
        return count
    missing = (index for index in range(count) if index not in state.partitions and index not in held_back)
    return next(missing, count)


def _put_hash(changes: GroupChanges, group: ShareGroup, openings: Openings) -> None:
    """Write the hash of very many topics, which were looked up for a target of the group's epoch."""
    found = openings.metadata_hash
    if found is not None and found != group.metadata_hash:
        changes.put(ShareEpochKey(group.group_id), GroupEpoch(group.epoch, found))


def _wishes(group: ShareGroup) -> list[Wish]:
    return [
        Wish(member_id, member.topics, group.target.get(member_id))
        for member_id, member in sorted(group.members.items())
    ]


class ShareTarget(LargeTarget[ShareGroup]):
    """The target of a share group."""

    AT_ONCE = 1  # it may have all partitions of many topics
    TIMER = "share store"

    def __init__(self, table: ShareGroups, group: ShareGroup, openings: Openings) -> None:
        super().__init__(table.context, group)
        self._table = table
        self._openings = openings

    def is_there(self) -> bool:
        """Whether the group was not deleted, or loaded again."""
        return self._table.groups.get(self.group.group_id) is self.group

    def encode(self, member_id: str, target: Assignment) -> EncodedRecord:
        """Return the record of a member's target."""
        return encode_share_record(ShareTargetKey(self.group.group_id, member_id), target)

    def store(self, some: Sequence[MemberTarget], *, is_last: bool) -> None:
        """Write the targets of members that have not left."""
        group_id = self.group.group_id
        with GroupChanges(self._table, group_id) as changes:
            changes.on_undo(self.make_void)
            for member_id, target in some:
                if member_id in self.group.members:
                    changes.put(ShareTargetKey(group_id, member_id), target, self.encoded.get(member_id))
            if is_last:
                changes.put(ShareTargetEpochKey(group_id), TargetEpoch(self.epoch, self.context.wall_ms))
                if self.group.epoch == self.epoch:
                    _put_hash(changes, self.group, self._openings)
            changes.commit(nothing, nobody)

    def assign_next(self) -> None:
        """Compute the next target, if this one is out of date."""
        _assign_later(self._table, self.group.group_id, self.context.now_ms)
