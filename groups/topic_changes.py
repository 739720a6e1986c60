"""Topics created, deleted and grown: groups that subscribe to them get another assignment.

The broker reports changes at once; groups are told a moment later, once for all changes until then.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from groups.assignment import partitions_of
from groups.assignment_task import NAMES_AT_ONCE
from groups.changes import Changes, nothing
from groups.classic_assignment import assignment_of, server_assigns
from groups.classic_group import ClassicGroup
from groups.classic_rebalance import prepare
from groups.consumer_group import ConsumerGroup
from groups.consumer_target import assign_when_due, bump_if_topics_changed
from groups.context import Context
from groups.errors import InvalidRegularExpression
from groups.record_keys import RegexKey, ResolvedRegex
from groups.split_gates import places_of, withheld_by_topic
from groups.states import GroupState
from groups.timers import TimerKey
from groups.topic_deletion import RETRY_MS, forget_topics

logger = logging.getLogger("kawal.groups")

GATHER_MS = 100
"""The time to gather changes: creating a hundred topics in a row causes one rebalance, not a hundred."""

GROUPS_PER_TICK = 500
"""The groups told at once, at about 1 µs each if none of their topics has changed."""

_GATHERED = TimerKey("topics", "")
_TELLING = TimerKey("tell", "")


def topics_changed(
    context: Context, *, created: Collection[str], deleted: Collection[str], grown: Collection[str]
) -> None:
    """Note what has changed."""
    context.regexes.changed(created, deleted)
    # What there is under the name of a new topic is of a former one: no client could commit in it before.
    forget_topics(context, (*deleted, *created))
    context.changed_topics.update(created, deleted, grown)
    due_ms = context.now_ms + GATHER_MS
    context.timers.set_once(_GATHERED, due_ms, lambda now_ms: _tell_groups(context, now_ms))


def _tell_groups(context: Context, now_ms: int) -> None:
    if _TELLING in context.timers:
        # Groups are still being told of earlier changes.
        context.timers.set(_GATHERED, now_ms + GATHER_MS, lambda later_ms: _tell_groups(context, later_ms))
        return
    changed = frozenset(context.changed_topics)
    context.changed_topics.clear()
    _tell_some(context, list(context.groups), changed, now_ms)


def _tell_some(context: Context, waiting: list[str], changed: frozenset[str], now_ms: int) -> None:
    """Tell some of the groups that wait, and the others in later ticks."""
    context.now_ms = now_ms
    told = 0
    while waiting and told < GROUPS_PER_TICK:
        group_id = waiting.pop()
        group = context.groups.get(group_id)
        told += _weight(group)
        try:
            if group is not None:
                _follow(context, group, changed)
        except Exception as error:  # noqa: BLE001  (it is this group's alone)
            context.failed(group_id, error)
    if waiting:
        context.timers.set(
            _TELLING, now_ms + 1, lambda later_ms: _tell_some(context, waiting, changed, later_ms)
        )


def _weight(group: ClassicGroup | ConsumerGroup | None) -> int:
    """Return how many groups it takes as long as to tell this one."""
    if not isinstance(group, ConsumerGroup) or len(group.subscribed_names()) <= NAMES_AT_ONCE:
        return 1
    return GROUPS_PER_TICK


def _follow(context: Context, group: ClassicGroup | ConsumerGroup, changed: frozenset[str]) -> None:
    if isinstance(group, ConsumerGroup):
        if group.metadata and (group.regexes or group.subscribed_names() & changed):
            refresh(context, group, changed)
    elif _server_must_assign(group, changed):
        prepare(context, group)


def _server_must_assign(group: ClassicGroup, changed: frozenset[str]) -> bool:
    """Whether only the server sees the change: a client that leads would see it itself."""
    if not group.server_assigned or group.state != GroupState.STABLE:
        return False
    return bool(changed & (group.subscribed_topics() or frozenset()))


def _note_withheld(context: Context, group: ClassicGroup) -> None:
    """After a start, find out what was withheld from a group whose leader assigns: what no member has."""
    names = group.subscribed_topics()
    if not context.splits.topics or not names:
        return
    held = {
        place
        for member in group.members.values()
        for place in partitions_of(assignment_of(context.topics, member))
    }
    known = context.topics.by_name
    group.withheld = frozenset(
        (name, split.child)
        for name in names
        if (topic := context.splits.topics.get(name)) is not None and topic.tree is not None
        for split in topic.tree.splits
        if (known[name].topic_id, split.child) not in held
    )
    context.look_soon(group.group_id)


def follow_since_start(context: Context, group: ClassicGroup) -> None:
    """Notice what the records of a classic group do not say, and changes of topics that a stop kept from it.

    The records tell neither whether the server assigned the partitions, which follows from the settings, nor
    of how many partitions.
    """
    group.server_assigned = group.state == GroupState.STABLE and server_assigns(context, group)
    if not group.server_assigned:
        _note_withheld(context, group)
        return
    held = {
        place
        for member in group.members.values()
        for place in partitions_of(assignment_of(context.topics, member))
    }
    known = context.topics.by_name
    topics = [known[name] for name in group.subscribed_topics() or () if name in known]
    closed = withheld_by_topic(context, group.group_id, [topic.name for topic in topics])
    group.withheld = places_of(closed)
    open_now = {
        (topic.topic_id, index)
        for topic in topics
        for index in range(topic.partition_count)
        if index not in closed.get(topic.name, ())
    }
    if held != open_now:
        prepare(context, group)


def refresh(context: Context, group: ConsumerGroup, changed: frozenset[str] | None = None) -> None:
    """Bring a group up to date with the existing topics, of which these have changed; None: any may have."""
    before = group.subscribed_names()
    with Changes(context, group.group_id) as changes:
        for regex, old in _resolved(group):
            try:
                known = old.topics if context.config.hides_topics else None
                found = context.regexes.visible(group.group_id, regex, known=known)
            except InvalidRegularExpression as error:
                # Heartbeats refuse such a pattern; a record in the log may have one all the same.
                logger.warning("group %r: %s", group.group_id, error.message)
                continue
            if found != old.topics:
                changes.put(RegexKey(group.group_id, regex), ResolvedRegex(found, context.wall_ms))
        affected = None if changed is None else bool((before | group.subscribed_names()) & changed)
        bump_if_topics_changed(context, changes, group, affected=affected)
        assign_when_due(context, changes, group)
        changes.commit(nothing, lambda _: _refresh_later(context, group.group_id))


def _refresh_later(context: Context, group_id: str) -> None:
    """Retry a change that could not be stored and was undone: no member's request would repeat it."""

    def again(now_ms: int) -> None:
        context.now_ms = now_ms
        group = context.consumer(group_id)
        if group is not None and group.metadata:
            refresh(context, group)

    context.timers.set_once(TimerKey("refresh", group_id), context.now_ms + RETRY_MS, again)


def _resolved(group: ConsumerGroup) -> Iterable[tuple[str, ResolvedRegex]]:
    return list(group.regexes.items())
