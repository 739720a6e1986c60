"""Expiry: offsets past their retention, and empty groups that hold nothing.

Offsets live for ever unless `offsets.retention.minutes` is set, or their client set a retention time
(OffsetCommit v2-v4). The time runs from the moment the group lost its last member; for groups that still
have members, and for those that never had any, from the commit. Offsets of subscribed topics are kept.

Groups are checked in slices, so that a million offsets do not stall the server.
Source: KIP-211, KIP-496; Kafka 4.3's OffsetExpirationConditionImpl and GroupMetadataManager.
"""

from __future__ import annotations

from groups.changes import Changes, nobody, nothing
from groups.classic_group import ClassicGroup
from groups.consumer_group import ConsumerGroup
from groups.context import Context
from groups.deletion import delete_all
from groups.offset_values import NO_EXPIRY, Committed, read_committed
from groups.record_keys import OffsetKey
from groups.states import GroupState
from groups.timers import TimerKey
from groups.wide_deletion import DELETED_AT_ONCE, WideDeletion, delete_offset, offsets_of
from protocol.error_codes import ErrorCode

SLICE_OFFSETS = 1_000
"""Offsets checked in one step: some 4 ms."""
PAUSE_MS = 10
"""The pause between two slices."""
MINUTE_MS = 60_000

_TIMER = TimerKey("cleanup", "")


def schedule_cleanup(context: Context) -> None:
    """Schedule the next search for what has expired, one interval from now."""
    due_ms = context.now_ms + context.config.offsets_retention_check_interval_ms
    context.timers.set(_TIMER, due_ms, lambda now_ms: _begin(context, now_ms))


def _begin(context: Context, now_ms: int) -> None:
    context.regexes.forget_unused(
        regex
        for group in context.groups.values()
        if isinstance(group, ConsumerGroup)
        for regex in group.regexes
    )
    waiting = sorted({*context.groups, *context.offsets.groups()}, reverse=True)
    _go_on(context, waiting, now_ms)


def _go_on(context: Context, waiting: list[str], now_ms: int) -> None:
    context.now_ms = now_ms
    seen = 0
    while waiting and seen < SLICE_OFFSETS:
        group_id = waiting.pop()
        try:
            seen += 1 + _clean(context, group_id)
        except Exception as error:  # noqa: BLE001  (it is this group's alone)
            context.failed(group_id, error)
    if waiting:
        context.timers.set(_TIMER, now_ms + PAUSE_MS, lambda later_ms: _go_on(context, waiting, later_ms))
    else:
        schedule_cleanup(context)


def _clean(context: Context, group_id: str) -> int:
    """Delete a group's expired offsets, or the whole group; return how many offsets were checked."""
    if context.partition(group_id) not in context.loaded or group_id in context.quarantined:
        return 0
    group = context.groups.get(group_id)
    count = sum(map(len, context.offsets.topics(group_id).values()))
    if count == 0:
        if group is not None and _is_idle(context, group):
            _delete(context, group_id)
        return 0
    if context.config.offsets_retention_minutes is None and not context.offsets.expiring:
        return 0
    if count > DELETED_AT_ONCE:
        _expire_wide(context, group_id)
        return 1
    expired = _expired(context, group_id, group)
    if len(expired) == count and (group is None or _is_empty(group)) and not context.staged.holds(group_id):
        _delete(context, group_id)
    elif expired:
        with Changes(context, group_id) as changes:
            for key in expired:
                changes.offset(key, None)
            changes.commit(nothing, nobody)
    return count


def _expire_wide(context: Context, group_id: str) -> None:
    """Delete what has expired of very many offsets, some at a time; the next search finds an empty group."""
    if any(deletion.group_id == group_id for deletion in context.wide_deletions):
        return
    wanted = _Expiry(context, group_id).is_over
    keys = offsets_of(context, group_id)
    WideDeletion(context, group_id, keys, wanted=wanted, delete=delete_offset, done=ignore).step(
        context.now_ms
    )


class _Expiry:
    """The decisions about the offsets of a group, by what it is in each step."""

    def __init__(self, context: Context, group_id: str) -> None:
        self._context = context
        self._group_id = group_id
        self._now_ms = -1
        self._used: frozenset[str] | None = None
        self._since_ms = -1

    def is_over(self, key: OffsetKey) -> bool:
        """Whether an offset has expired.  Raises: GroupError, when the group is not served here any more."""
        context = self._context
        if self._now_ms != context.now_ms:
            self._now_ms = context.now_ms
            context.check_loaded(self._group_id)
            group = context.groups.get(self._group_id)
            self._used, self._since_ms = _used_topics(group), _since_ms(group)
        if self._used is None or key.topic in self._used or context.staged.is_staged(key):
            return False
        value = context.offsets.newest(key)
        return value is not None and _is_expired(context, read_committed(value), self._since_ms)


def ignore(_code: ErrorCode) -> None:
    """Take no notice of the outcome: the next search finds what is left."""


def _delete(context: Context, group_id: str) -> None:
    with Changes(context, group_id) as changes:
        delete_all(context, changes, group_id)
        changes.commit(nothing, nobody)


def _is_empty(group: ClassicGroup | ConsumerGroup) -> bool:
    if isinstance(group, ConsumerGroup):
        return not group.metadata
    return group.state == GroupState.EMPTY and not group.pending


def _is_idle(context: Context, group: ClassicGroup | ConsumerGroup) -> bool:
    """Whether the group has been empty for an interval, so that no member is just about to come back."""
    since_ms = group.target_ms if isinstance(group, ConsumerGroup) else group.since_ms
    interval_ms = context.config.offsets_retention_check_interval_ms
    in_flight = context.journal.in_flight(context.partition(group.group_id))
    in_flight = in_flight or context.staged.holds(group.group_id)
    return _is_empty(group) and not in_flight and context.wall_ms - since_ms >= interval_ms


def _expired(context: Context, group_id: str, group: ClassicGroup | ConsumerGroup | None) -> list[OffsetKey]:
    used = _used_topics(group)
    if used is None:
        return []
    since_ms = _since_ms(group)
    return [
        key
        for key, value in context.offsets.iterate(group_id)
        if key.topic not in used
        and not context.staged.is_staged(key)
        and _is_expired(context, read_committed(value), since_ms)
    ]


def _since_ms(group: ClassicGroup | ConsumerGroup | None) -> int:
    """Return the moment from which all offsets age together: if the group had members, its own; else -1."""
    if isinstance(group, ClassicGroup) and group.protocol_type and group.state == GroupState.EMPTY:
        return group.since_ms
    return -1


def _used_topics(group: ClassicGroup | ConsumerGroup | None) -> frozenset[str] | None:
    """Return the topics whose offsets are kept; None: all of them."""
    if group is None:
        return frozenset()
    if isinstance(group, ConsumerGroup):
        return group.subscribed_names()
    if group.state == GroupState.EMPTY:
        return frozenset()
    return group.subscribed_topics() if group.state == GroupState.STABLE else None


def _is_expired(context: Context, committed: Committed, since_ms: int) -> bool:
    if committed.expire_ms != NO_EXPIRY:
        return context.wall_ms >= committed.expire_ms
    retention_minutes = context.config.offsets_retention_minutes
    if retention_minutes is None:
        return False
    base_ms = committed.commit_ms if since_ms < 0 else since_ms
    return context.wall_ms - base_ms >= retention_minutes * MINUTE_MS
