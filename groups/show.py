"""Consumers and subscriptions as TDengine's SHOW CONSUMERS and SHOW SUBSCRIPTIONS show them.

The rows are plain values; code that can read logs adds the log ends, and with them the lag.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from groups.assignment import Partition, partitions_of, plain
from groups.classic_assignment import assignment_of
from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.consumer_target import assignor_of
from groups.context import Context
from groups.states import CLASSIC_STATUS, ConsumerStatus

LOST_SHOWN_MS = 600_000
"""The time for which a lost consumer is still shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRow:
    """One member of one group. Times are ms since 1970; 0: unknown."""

    group_id: str
    consumer_id: str
    client_id: str
    host: str
    user: str
    status: str
    topics: tuple[str, ...]
    up_ms: int
    subscribe_ms: int
    rebalance_ms: int
    poll_ms: int
    idle_ms: int
    """The time since it last did what only a polling client does; heartbeats do not count."""
    parameters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRow:
    """One partition of one topic, for one group."""

    topic: str
    group_id: str
    partition: int
    consumer_id: str | None
    client_id: str | None
    host: str | None
    user: str | None
    offset: int | None
    """The next record to read; None: nothing committed."""
    rows: int
    """Records that commits have passed since `rows_since_ms`, without those that a view leaves out."""
    rows_since_ms: int
    """The first commit since the server started; 0: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The consumer that a partition belongs to."""

    consumer_id: str
    client_id: str
    host: str
    user: str


def group_ids(context: Context) -> list[str]:
    """Return the groups that have members or progress, and those that recently lost a member."""
    lost = (consumer.group_id for consumer in context.lost)
    return sorted({*context.groups, *context.offsets.groups(), *lost})


def consumers(context: Context, chosen: Collection[str]) -> Iterator[ConsumerRow]:
    """Yield all members of these groups, then those that were recently lost."""
    for group_id in chosen:
        group = context.groups.get(group_id)
        if group is None:
            continue
        if isinstance(group, ConsumerGroup):
            yield from _consumer_rows(context, group)
        else:
            yield from _classic_rows(context, group)
    for lost in list(context.lost):
        if lost.group_id not in chosen or context.wall_ms - lost.lost_ms > LOST_SHOWN_MS:
            continue
        yield ConsumerRow(
            group_id=lost.group_id,
            consumer_id=lost.member_id,
            client_id=lost.client_id,
            host=lost.host,
            user=lost.user,
            status=ConsumerStatus.LOST.value,
            topics=lost.topics,
            up_ms=0,
            subscribe_ms=0,
            rebalance_ms=lost.lost_ms,
            poll_ms=0,
            idle_ms=0,
            parameters=f"reason:{lost.reason}",
        )


def _idle_ms(context: Context, polled_ms: int) -> int:
    return max(context.wall_ms - polled_ms, 0) if polled_ms else 0


def _classic_rows(context: Context, group: ClassicGroup) -> Iterator[ConsumerRow]:
    topics = tuple(sorted(group.subscribed_topics() or ()))
    for member in group.members.values():
        activity = member.activity
        yield ConsumerRow(
            group_id=group.group_id,
            consumer_id=member.member_id,
            client_id=member.client_id,
            host=member.client_host,
            user=activity.user,
            status=CLASSIC_STATUS[group.state].value,
            topics=topics,
            up_ms=activity.joined_ms,
            subscribe_ms=activity.subscribed_ms,
            rebalance_ms=activity.rebalanced_ms,
            poll_ms=activity.polled_ms,
            idle_ms=_idle_ms(context, activity.polled_ms),
            parameters=(
                f"protocol:classic,assignor:{group.protocol or ''},session:{member.session_timeout_ms}ms,"
                f"rebalance:{member.rebalance_timeout_ms}ms"
            ),
        )


def _consumer_rows(context: Context, group: ConsumerGroup) -> Iterator[ConsumerRow]:
    assignor = assignor_of(context.config, group)
    for member_id, member in group.metadata.items():
        activity = group.activity.get(member_id)
        yield ConsumerRow(
            group_id=group.group_id,
            consumer_id=member_id,
            client_id=member.client_id,
            host=member.client_host,
            user=activity.user if activity else "",
            status=_status(group, member_id).value,
            topics=tuple(sorted(group.names((member.topics, member.regex)))),
            up_ms=activity.joined_ms if activity else 0,
            subscribe_ms=activity.subscribed_ms if activity else 0,
            rebalance_ms=activity.rebalanced_ms if activity else 0,
            poll_ms=activity.polled_ms if activity else 0,
            idle_ms=_idle_ms(context, activity.polled_ms) if activity else 0,
            parameters=(
                f"protocol:{'consumer' if member.classic is None else 'classic'},assignor:{assignor},"
                f"epoch:{group.assignment(member_id).epoch},rebalance:{member.rebalance_timeout_ms}ms"
            ),
        )


def _status(group: ConsumerGroup, member_id: str) -> ConsumerStatus:
    if group.away(member_id):
        return ConsumerStatus.LOST
    settled = group.reconciled(member_id) and group.epoch == group.target_epoch
    return ConsumerStatus.READY if settled else ConsumerStatus.REBALANCING


def subscriptions(context: Context, chosen: Collection[str]) -> Iterator[SubscriptionRow]:
    """Yield every partition that one of these groups subscribes to or has progress in."""
    for group_id in chosen:
        yield from _rows(context, group_id, _owners(context, context.groups.get(group_id)))


def progress(context: Context, group_id: str) -> Iterator[SubscriptionRow]:
    """Yield the same rows without the partitions' owners, which takes no look at the members' assignments."""
    yield from _rows(context, group_id, {})


def _rows(context: Context, group_id: str, owners: Mapping[Partition, Owner]) -> Iterator[SubscriptionRow]:
    known = context.topics.by_name
    group = context.groups.get(group_id)
    for name in sorted(_subscribed(group) | set(context.offsets.topics(group_id))):
        if name not in known:
            continue
        topic = known[name]
        for index in range(topic.partition_count):
            owner = owners.get((topic.topic_id, index))
            committed = context.offsets.get(group_id, name, index)
            rows = context.offsets.rows(group_id, name, index)
            yield SubscriptionRow(
                topic=name,
                group_id=group_id,
                partition=index,
                consumer_id=owner.consumer_id if owner else None,
                client_id=owner.client_id if owner else None,
                host=owner.host if owner else None,
                user=owner.user if owner else None,
                offset=committed.offset if committed else None,
                rows=rows.records,
                rows_since_ms=rows.since_ms,
            )


def _subscribed(group: ClassicGroup | ConsumerGroup | None) -> frozenset[str]:
    if group is None:
        return frozenset()
    if isinstance(group, ConsumerGroup):
        return group.subscribed_names()
    return group.subscribed_topics() or frozenset()


def _owners(context: Context, group: ClassicGroup | ConsumerGroup | None) -> Mapping[Partition, Owner]:
    if group is None:
        return {}
    found: dict[Partition, Owner] = {}
    if isinstance(group, ConsumerGroup):
        for member_id, metadata in group.metadata.items():
            activity = group.activity.get(member_id)
            owner = Owner(
                consumer_id=member_id,
                client_id=metadata.client_id,
                host=metadata.client_host,
                user=activity.user if activity else "",
            )
            assigned = plain(group.assignment(member_id).assigned)
            found.update((place, owner) for place in partitions_of(assigned))
        return found
    for member in group.members.values():
        owner = Owner(
            consumer_id=member.member_id,
            client_id=member.client_id,
            host=member.client_host,
            user=member.activity.user,
        )
        assigned = assignment_of(context.topics, member)
        found.update((place, owner) for place in partitions_of(assigned))
    return found


def topics_read(context: Context, group_id: str) -> set[str]:
    """Return the topics that a group subscribes to or has committed offsets in."""
    return {*_subscribed(context.groups.get(group_id)), *context.offsets.topics(group_id)}


def subscribers(context: Context, topic: str) -> list[str]:
    """Return the groups with members that subscribe to a topic."""
    return [
        group_id
        for group_id, group in context.groups.items()
        if _has_members(group) and topic in _subscribed(group)
    ]


def _has_members(group: ClassicGroup | ConsumerGroup) -> bool:
    return bool(group.metadata if isinstance(group, ConsumerGroup) else group.members)


def counts(context: Context) -> Counter[str]:
    """Count groups, members and offsets."""
    found = Counter(context.counts)
    found["offsets"] = len(context.offsets)
    found["quarantined"] = len(context.quarantined)
    for group in context.groups.values():
        if isinstance(group, ConsumerGroup):
            found[f"consumer:{group.state.value}"] += 1
            found["members"] += len(group.metadata)
        else:
            found[f"classic:{group.state.value}"] += 1
            found["members"] += len(group.members)
    return found
