"""The epochs of a consumer group: what counts as a change, and when the target assignment follows it.

    subscription or topics change --bump--> group epoch + 1 --assign_when_due--> target of that epoch

The first change after a quiet time is assigned at once; those that come within the rebalance interval of the
last assignment are gathered and assigned together at its end, by a timer if no heartbeat comes.
"""

from __future__ import annotations

from hashlib import blake2b
from uuid import UUID

from groups.assignors import assign, preferred
from groups.changes import Changes, nobody, nothing
from groups.config import GroupConfig
from groups.consumer_group import ConsumerGroup, Subscription
from groups.context import Context
from groups.record_keys import GroupEpoch, GroupEpochKey, TargetEpoch, TargetEpochKey, TargetKey
from groups.subscriber import Subscriber
from groups.timers import TimerKey

NOT_ASSIGNED_HERE = 0
"""The hash of no topics: none that the group subscribes to exists, or none was looked up so far."""

FIRST_EPOCH_WITH_TOPICS = 2
"""A group begins in epoch 1, or in 2 if its first subscription names topics, as in Kafka."""


def metadata_hash(context: Context, names: frozenset[str]) -> int:
    """Return a number that changes when one of these topics comes, goes or grows."""
    known = context.topics.by_name
    found = [known[name] for name in sorted(names) if name in known]
    if not found:
        return NOT_ASSIGNED_HERE
    digest = blake2b(digest_size=8)
    for topic in found:
        digest.update(topic.topic_id.bytes)
        digest.update(topic.partition_count.to_bytes(4, "big"))
    return int.from_bytes(digest.digest(), "big", signed=True)


def bump(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Count a change, which makes the target assignment out of date."""
    names = group.subscribed_names()
    epoch = group.epoch + 1
    if names:
        epoch = max(epoch, FIRST_EPOCH_WITH_TOPICS)
    changes.put(GroupEpochKey(group.group_id), GroupEpoch(epoch, metadata_hash(context, names)))
    context.counts["rebalances"] += 1


def bump_unless_assigned(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Count a change if topics exist but no target was computed here, as the group was a classic one.

    This costs nothing for all other groups.
    """
    if group.metadata_hash == NOT_ASSIGNED_HERE:
        bump_if_topics_changed(context, changes, group)


def bump_if_topics_changed(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Count a change if the topics that the group subscribes to have changed."""
    if metadata_hash(context, group.subscribed_names()) != group.metadata_hash:
        bump(context, changes, group)


def assign_when_due(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Compute the target for the group's epoch, now or at the end of the rebalance interval."""
    if group.target_epoch == group.epoch or not group.metadata:
        return
    due_ms = context.now_ms
    if group.assigned_ms is not None:
        due_ms = group.assigned_ms + _interval_ms(context, group.group_id)
    key = TimerKey("assign", group.group_id)
    if due_ms > context.now_ms:
        context.timers.set_once(key, due_ms, lambda now_ms: _assign_later(context, group.group_id, now_ms))
        return
    context.timers.cancel(key)
    _assign(context, changes, group)


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


def _assign(context: Context, changes: Changes, group: ConsumerGroup) -> None:
    """Run the assignor and write what differs from the last target."""
    group.assigned_ms = context.now_ms
    counts: dict[UUID, int] = {}
    topics = {
        subscription: _topics(context, group, subscription, counts) for subscription in group.subscriptions
    }
    members = [
        Subscriber(
            member_id=member_id,
            topics=topics[member.topics, member.regex],
            had=group.target_of(member_id),
            instance_id=member.instance_id,
        )
        for member_id, member in group.metadata.items()
    ]
    found = assign(assignor_of(context.config, group), members, counts)
    for member_id, target in found.items():
        if group.target.get(member_id) != target:
            changes.put(TargetKey(group.group_id, member_id), target)
    changes.put(TargetEpochKey(group.group_id), TargetEpoch(group.epoch, context.wall_ms))


def _topics(
    context: Context, group: ConsumerGroup, subscription: Subscription, counts: dict[UUID, int]
) -> frozenset[UUID]:
    """Return the topics of a subscription that exist, and note how many partitions they have."""
    known = context.topics.by_name
    found = [known[name] for name in group.names(subscription) if name in known]
    counts.update((topic.topic_id, topic.partition_count) for topic in found)
    return frozenset(topic.topic_id for topic in found)


def assignor_of(config: GroupConfig, group: ConsumerGroup) -> str:
    """Return the name of the assignor that the group uses."""
    allowed = config.group_consumer_assignors
    wishes = [member.assignor for member in group.metadata.values() if member.assignor in allowed]
    return preferred(wishes, allowed[0])
