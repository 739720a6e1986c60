"""Members of a consumer group over time: sessions, reconciliation, removal of those that do not keep up."""

from __future__ import annotations

from collections.abc import Collection

from groups.activity import Activity
from groups.changes import Changes, nobody, nothing
from groups.consumer_group import ConsumerGroup
from groups.consumer_members import drop_member, forget_regex
from groups.consumer_target import assign_when_due, bump
from groups.context import Context
from groups.downgrade import can_become_classic, to_classic
from groups.lost import LostConsumer
from groups.next_step import NextStep
from groups.reconciliation import Owned
from groups.states import MemberState
from groups.timers import TimerKey
from groups.topics import Client

MEMBER_TIMERS = ("session", "revoke", "join", "sync")
"""Timers that may remove a member: for silence, a revocation, or a classic one's JoinGroup or SyncGroup."""


def heartbeat_interval_ms(context: Context, group_id: str) -> int:
    """Return the interval at which the group's members send heartbeats."""
    own = context.settings(group_id).consumer_heartbeat_interval_ms
    return context.config.group_consumer_heartbeat_interval_ms if own is None else own


def start_session(context: Context, group: ConsumerGroup, member_id: str) -> None:
    """Restart the member's session."""
    classic = group.metadata[member_id].classic
    timeout_ms = context.config.group_consumer_session_timeout_ms
    if classic is not None:
        timeout_ms = classic.session_timeout_ms
    elif (own := context.settings(group.group_id).consumer_session_timeout_ms) is not None:
        timeout_ms = own
    remove_after(context, group.group_id, member_id, "session", timeout_ms)


def remove_after(context: Context, group_id: str, member_id: str, kind: str, timeout_ms: int) -> None:
    """Remove the member when the timeout has passed, unless the timer is moved or cancelled."""
    key = TimerKey(kind, group_id, member_id)
    context.timers.set(
        key, context.now_ms + timeout_ms, lambda now_ms: _expire(context, group_id, member_id, kind, now_ms)
    )


def cancel_timer(context: Context, group_id: str, member_id: str, kind: str) -> None:
    """Cancel a timer of a member that did what it had to do in time."""
    context.timers.cancel(TimerKey(kind, group_id, member_id))


def _expire(context: Context, group_id: str, member_id: str, kind: str, now_ms: int) -> None:
    context.now_ms = now_ms
    group = context.consumer(group_id)
    if group is None or member_id not in group.metadata:
        return
    note_lost(context, group, member_id, _REASONS[kind])
    with Changes(context, group_id) as changes:
        fence(context, changes, group, [member_id])
        changes.commit(nothing, nobody)


_REASONS = {
    "session": "its session timed out",
    "revoke": "it did not give up partitions within its rebalance timeout",
    "join": "it did not join again within its rebalance timeout",
    "sync": "it did not ask for its assignment within its rebalance timeout",
}


def note_lost(context: Context, group: ConsumerGroup, member_id: str, reason: str) -> None:
    """Remember a member that is removed without having left."""
    member = group.metadata[member_id]
    activity = group.activity.get(member_id)
    context.lost.append(
        LostConsumer(
            group_id=group.group_id,
            member_id=member_id,
            client_id=member.client_id,
            host=member.client_host,
            user=activity.user if activity else "",
            # A subscription without an expression is sorted already.
            topics=tuple(sorted(group.names((member.topics, member.regex))))
            if member.regex
            else member.topics,
            lost_ms=context.wall_ms,
            reason=reason,
        )
    )


def fence(context: Context, changes: Changes, group: ConsumerGroup, leaving: Collection[str]) -> None:
    """Remove members; if only classic ones remain, the group may become a classic one."""
    for member_id in leaving:
        for kind in MEMBER_TIMERS:
            cancel_timer(context, group.group_id, member_id, kind)
    if can_become_classic(context, group, leaving):
        to_classic(context, changes, group, leaving)
        return
    regexes = {group.metadata[member_id].regex for member_id in leaving}
    for member_id in leaving:
        drop_member(changes, group, member_id)
    for regex in regexes:
        forget_regex(changes, group, regex)
    bump(context, changes, group)
    if not group.metadata:
        # The next member need not wait for the end of an interval that began with earlier ones.
        group.assigned_ms = None
    assign_when_due(context, changes, group)


def reconcile(
    context: Context,
    changes: Changes,
    group: ConsumerGroup,
    member_id: str,
    owned: Owned,
    *,
    resubscribed: bool,
) -> None:
    """Bring a member's assignment nearer to the target.

    Raises: FencedMemberEpoch.
    """
    step = NextStep(context, group, member_id, owned, resubscribed=resubscribed, tells=False)
    step.work_out()
    take_step(changes, step)


def take_step(changes: Changes, step: NextStep) -> None:
    """Let a member take a step, and give it time to give up what it must."""
    step.take(changes)
    if step.found is step.before or step.member.classic is not None:
        return  # Classic members have a limit for each of their steps instead.
    context, group_id, member_id = step.context, step.group.group_id, step.member_id
    if step.found.state == MemberState.UNREVOKED_PARTITIONS:
        remove_after(context, group_id, member_id, "revoke", step.member.rebalance_timeout_ms)
    else:
        cancel_timer(context, group_id, member_id, "revoke")


def arm(context: Context, group: ConsumerGroup) -> None:
    """Set the timers that the group lacks, after loading or after a failed append."""
    for member_id, member in group.metadata.items():
        if TimerKey("session", group.group_id, member_id) not in context.timers:
            start_session(context, group, member_id)
        revoking = group.assignment(member_id).state == MemberState.UNREVOKED_PARTITIONS
        key = TimerKey("revoke", group.group_id, member_id)
        if revoking and member.classic is None and key not in context.timers:
            remove_after(context, group.group_id, member_id, "revoke", member.rebalance_timeout_ms)


def note_beat(
    context: Context,
    group: ConsumerGroup,
    member_id: str,
    client: Client,
    *,
    polled: bool,
    subscribed: bool,
    moved: bool,
) -> None:
    """Remember the times of the member's actions, for display."""
    wall_ms = context.wall_ms
    activity = group.activity.get(member_id)
    if activity is None:
        activity = Activity(joined_ms=wall_ms, subscribed_ms=wall_ms, polled_ms=wall_ms)
        group.activity[member_id] = activity
    activity.user = client.user
    activity.heartbeat_ms = wall_ms
    if polled:
        activity.polled_ms = wall_ms
    if subscribed:
        activity.subscribed_ms = wall_ms
    if moved:
        activity.rebalanced_ms = wall_ms
