"""The epochs of a consumer group: what counts as a change, and when the target assignment follows it.

    subscription or topics change --bump--> group epoch + 1 --assign_when_due--> target of that epoch

The first change after a quiet time is assigned at once; those that come within the rebalance interval of the
last assignment are gathered and assigned together at its end, by a timer if no heartbeat comes.

The target of a large group is computed in a thread, and stored some members at a time. Until its epoch is
stored, too, members may follow parts of it: none gets what another has not given up. What changes meanwhile
makes the next target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groups.assignment import Assignment
from groups.assignment_task import (
    NAMES_AT_ONCE,
    NO_TOPICS_HASH,
    NONE_CLOSED,
    AssignmentTask,
    assignment_task,
    known_topics,
    topics_hash,
)
from groups.assignors import preferred
from groups.changes import Changes, nobody, nothing
from groups.config import GroupConfig
from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.effects import EncodedRecord
from groups.large_target import LargeTarget, MemberTarget
from groups.record_keys import GroupEpoch, GroupEpochKey, TargetEpoch, TargetEpochKey, TargetKey
from groups.records import encode_record
from groups.split_gates import withheld_by_topic
from groups.timers import TimerKey

NOT_ASSIGNED_HERE = NO_TOPICS_HASH
"""The hash of a group whose topics were not looked up: it was a classic one, or a thread is to do it."""

FIRST_EPOCH_WITH_TOPICS = 2
"""A group begins in epoch 1, or in 2 if its first subscription names topics, as in Kafka."""


def metadata_hash(
    context: Context, names: frozenset[str], closed: Mapping[str, frozenset[int]] = NONE_CLOSED
) -> int:
    """Return a number that changes when one of these topics comes, goes or grows, or one is opened.

    `closed`: the partitions that are withheld from the group, by topic.
    """
    return topics_hash(known_topics(names, context.topics.by_name, closed))


def bump(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Count a change, which makes the target assignment out of date."""
    names = group.subscribed_names()
    epoch = group.epoch + 1
    if names:
        epoch = max(epoch, FIRST_EPOCH_WITH_TOPICS)
    found = NOT_ASSIGNED_HERE
    if len(names) <= NAMES_AT_ONCE:
        found = metadata_hash(context, names, withheld_by_topic(context, group.group_id, names))
    changes.put(GroupEpochKey(group.group_id), GroupEpoch(epoch, found))
    context.counts["rebalances"] += 1


def bump_unless_assigned(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Count a change if topics exist but no target was computed here, as the group was a classic one.

    This costs nothing for all other groups.
    """
    if group.metadata_hash == NOT_ASSIGNED_HERE:
        bump_if_topics_changed(context, changes, group)


def bump_if_topics_changed(
    context: Context, changes: Changes, group: ConsumerGroup, *, affected: bool | None = None
) -> None:
    """Count a change if the topics that the group subscribes to have changed.

    `affected`: whether one of them is among those that have, None if that is not known.
    """
    names = group.subscribed_names()
    if len(names) > NAMES_AT_ONCE:
        if _may_have_changed(context, group, names, affected):
            bump(context, changes, group)
        return
    closed = withheld_by_topic(context, group.group_id, names)
    if metadata_hash(context, names, closed) != group.metadata_hash:
        bump(context, changes, group)


def _may_have_changed(
    context: Context, group: ConsumerGroup, names: frozenset[str], affected: bool | None
) -> bool:
    """Whether the topics of a group with very many of them may have changed since its last target."""
    if group.metadata_hash == NOT_ASSIGNED_HERE:
        if group.assigning is not None:
            return bool(affected)  # A thread may have looked at them before the change.
        if group.target_epoch != group.epoch:
            return False  # The next target looks at them.
        return not context.topics.by_name.keys().isdisjoint(names)
    if affected is not None:
        return affected
    closed = withheld_by_topic(context, group.group_id, names)
    return metadata_hash(context, names, closed) != group.metadata_hash


def assign_when_due(context: Context, changes: Changes, group: ConsumerGroup) -> bool:
    """Compute the target for the group's epoch, now or at the end of the rebalance interval.

    True if a thread computes it from now on: `group.assigning` holds what is called when it is stored.
    """
    if group.target_epoch == group.epoch or not group.metadata or group.assigning is not None:
        return False
    due_ms = context.now_ms
    if group.assigned_ms is not None and group.target_epoch:
        due_ms = group.assigned_ms + _interval_ms(context, group.group_id)
    key = TimerKey("assign", group.group_id)
    if due_ms > context.now_ms:
        context.timers.set_once(key, due_ms, lambda now_ms: _assign_later(context, group.group_id, now_ms))
        return False
    context.timers.cancel(key)
    return _assign(context, changes, group)


def _interval_ms(context: Context, group_id: str) -> int:
    own = context.settings(group_id).consumer_assignment_interval_ms
    return context.config.kawal_rebalance_interval_ms if own is None else own


def _assign_later(context: Context, group_id: str, now_ms: int) -> None:
    context.now_ms = now_ms
    group = context.consumer(group_id)
    if group is None:
        return
    with Changes(context, group_id) as changes:
        assign_when_due(context, changes, group)
        changes.commit(nothing, nobody)


def _assign(context: Context, changes: Changes, group: ConsumerGroup) -> bool:
    """Run the assignor and write what differs from the last target; True if a thread runs it."""
    group.assigned_ms = context.now_ms
    closed = withheld_by_topic(context, group.group_id, group.subscribed_names())
    task = assignment_task(assignor_of(context.config, group), group, context.topics, closed)
    if task.weight > context.weight_max:
        ConsumerTarget(context, group, task).begin(task.run, changes)
        return True
    _put_targets(changes, group, task.run().items(), {})
    _put_hash(changes, group, task)
    changes.put(TargetEpochKey(group.group_id), TargetEpoch(group.epoch, context.wall_ms))
    return False


def _put_targets(
    changes: Changes,
    group: ConsumerGroup,
    targets: Iterable[tuple[str, Assignment]],
    encoded: Mapping[str, EncodedRecord],
) -> None:
    for member_id, target in targets:
        if group.target.get(member_id) != target and member_id in group.metadata:
            changes.put(TargetKey(group.group_id, member_id), target, encoded.get(member_id))


def _put_hash(changes: Changes, group: ConsumerGroup, task: AssignmentTask) -> None:
    """Write the hash of the topics that were assigned, unless it was known before."""
    if group.metadata_hash == NOT_ASSIGNED_HERE and (found := task.metadata_hash()) != NOT_ASSIGNED_HERE:
        changes.put(GroupEpochKey(group.group_id), GroupEpoch(group.epoch, found))


class ConsumerTarget(LargeTarget[ConsumerGroup]):
    """The target of a consumer group."""

    AT_ONCE = 100  # at about 20 us each
    TIMER = "store"

    def __init__(self, context: Context, group: ConsumerGroup, task: AssignmentTask) -> None:
        super().__init__(context, group)
        self._task = task

    def is_there(self) -> bool:
        """Whether the group was not deleted, converted, or loaded again."""
        return self.context.consumer(self.group.group_id) is self.group

    def encode(self, member_id: str, target: Assignment) -> EncodedRecord:
        """Return the record of a member's target."""
        return encode_record(TargetKey(self.group.group_id, member_id), target)

    def store(self, some: Sequence[MemberTarget], *, is_last: bool) -> None:
        """Write what differs from the last target."""
        with Changes(self.context, self.group.group_id) as changes:
            changes.on_undo(self.make_void)
            _put_targets(changes, self.group, some, self.encoded)
            if is_last:
                self._put_epoch(changes)
            changes.commit(nothing, nobody)

    def _put_epoch(self, changes: Changes) -> None:
        group = self.group
        changes.put(TargetEpochKey(group.group_id), TargetEpoch(self.epoch, self.context.wall_ms))
        if group.epoch == self.epoch:
            _put_hash(changes, group, self._task)
        if group.epoch == self.epoch and group.metadata.keys() != self.found.keys():
            # A static member came back under another id.
            bump(self.context, changes, group)

    def assign_next(self) -> None:
        """Compute the next target when it is due."""
        _assign_later(self.context, self.group.group_id, self.context.now_ms)


def assignor_of(config: GroupConfig, group: ConsumerGroup) -> str:
    """Return the name of the assignor that the group uses."""
    allowed = config.group_consumer_assignors
    wishes = [member.assignor for member in group.metadata.values() if member.assignor in allowed]
    return preferred(wishes, allowed[0])
