"""Members that leave a classic group, and what is remembered of those that vanish."""

from __future__ import annotations

from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember, join_refused, sync_refused
from groups.context import Context
from groups.lost import LostConsumer
from groups.timers import TimerKey
from protocol.error_codes import ErrorCode


def end_session(context: Context, group: ClassicGroup, member_id: str) -> None:
    """End the session of a member that has left, so that its silence means nothing."""
    context.timers.cancel(TimerKey("heartbeat", group.group_id, member_id))


def note_lost(context: Context, group: ClassicGroup, member: ClassicMember, reason: str) -> None:
    """Remember a member that vanished without leaving."""
    context.lost.append(
        LostConsumer(
            group_id=group.group_id,
            member_id=member.member_id,
            client_id=member.client_id,
            host=member.client_host,
            user=member.activity.user,
            topics=member.subscribed_topics(group.protocol),
            lost_ms=context.wall_ms,
            reason=reason,
        )
    )


def remove_member(context: Context, group: ClassicGroup, member: ClassicMember) -> None:
    """Remove a member; its waiting calls are told that it is unknown, so its client joins anew."""
    end_session(context, group, member.member_id)
    group.remove(member.member_id)
    context.memory.count(group.group_id, member.member_id, "", 0)
    member.answer_join(join_refused(ErrorCode.UNKNOWN_MEMBER_ID))
    member.answer_sync(sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
