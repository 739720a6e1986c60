"""The offsets in deleted topics: taken out of sight, and deleted from the log some at a time.

    deleted --hide--> hidden --a step: records that delete some--> durable --the next step--> ...

A topic may have 200,000 partitions, and 100,000 groups may have an offset in it.  What groups have is out of
sight first, so that a new topic of the same name begins at 0 for them; 200 of them in the same step.
A commit in the new topic is newer than what is hidden, and stays, in a transaction too.

A crash leaves what is not deleted yet, and the new topic may be there by then.  So each offset has the id of
its topic (offset_values.py): one that is read, or comes to count at the end of a transaction, is hidden if it
is of another topic than that of the name now, or of none.  The catalogue of a start is never older than the
offsets: what a node knows of topics is durable, and a node begins with all that the controller knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Final

from groups.changes import Changes
from groups.context import Context
from groups.hidden_offsets import HiddenOffsets, StagedKeys
from groups.offset_values import is_of_another
from groups.record_keys import OffsetKey
from groups.timers import TimerKey
from protocol.error_codes import ErrorCode

HIDDEN_AT_ONCE: Final = 200
"""The groups whose offsets are taken out of sight without a pause, in about 1 ms."""

OFFSETS_PER_STEP: Final = 50
"""The offsets that are deleted from the log without a pause: 1 ms to write, and 1 ms when that is durable."""

GROUPS_PER_STEP: Final = 10
"""The groups of which offsets are deleted in a step: each takes a batch of its own."""

RETRY_MS: Final = 1_000
"""The delay before the server retries a write that no client asked for, or would ask for again."""

_STEP: Final = TimerKey("forget", "")


class _Step:
    """Deletions on their way to the disk; the next step comes when all of them are there."""

    __slots__ = ("context", "failed", "left")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.left = 1
        self.failed = False

    def lost(self, part: HiddenOffsets, _error: ErrorCode) -> None:
        """Keep a part whose deletion could not be stored."""
        self.context.offsets.put_back(part)
        self.failed = True
        self.done()

    def done(self) -> None:
        """Count one of those that were waited for."""
        self.left -= 1
        if not self.left:
            self.context.forgets = False
            if has_more(self.context):
                pause_ms = RETRY_MS if self.failed else 1
                self.context.timers.set(_STEP, self.context.now_ms + pause_ms, partial(_go_on, self.context))


def forget_topics(context: Context, names: Iterable[str]) -> None:
    """Delete all groups' offsets of deleted topics: a new topic of the same name begins at 0 again."""
    for name in names:
        context.offsets.doom(name)
        if keys := context.staged.of_topic(name):
            context.doomed_staged.append(StagedKeys(iter(keys), context.staged.number))
    _begin(context)


def set_aside(context: Context, partition: int, key: OffsetKey, value: bytes) -> bool:
    """Hide a stored offset until its partition is loaded, if its topic was deleted; return whether it was.

    It takes the place of what was read for the key before, as any other offset does.
    """
    if not _is_left_over(context, key, value):
        return False
    context.offsets.set_aside(partition, key, value)
    return True


def _is_left_over(context: Context, key: OffsetKey, value: bytes) -> bool:
    """Whether the topic of an offset does not exist."""
    topic = context.topics.by_name.get(key.topic)
    return topic is None or is_of_another(value, topic.topic_id)


def forget_set_aside(context: Context, partitions: Iterable[int]) -> None:
    """Delete what was hidden while these partitions were being loaded."""
    context.offsets.hide_aside(partitions)
    _begin(context)


def forget_if_former(context: Context, key: OffsetKey, value: bytes) -> bool:
    """Delete an offset instead of letting it count, if its topic was deleted since a transaction staged it.

    Return whether there is another topic of that name.
    """
    if not context.is_of_former(key, value):
        return False
    context.offsets.hide_late(key, value)
    _begin(context)
    return True


def _begin(context: Context) -> None:
    if context.forgets or _STEP in context.timers:
        _hide_some(context)
    elif has_more(context):
        _go_on(context, context.now_ms)


def _hide_some(context: Context) -> None:
    context.offsets.hide_some(HIDDEN_AT_ONCE)


def has_more(context: Context) -> bool:
    """Whether something is left to hide or to delete."""
    return bool(context.offsets.hidden or context.offsets.has_doomed or context.doomed_staged)


def _go_on(context: Context, now_ms: int) -> None:
    """Delete some of what is hidden."""
    context.now_ms = now_ms
    _hide_some(context)
    context.forgets = True
    step = _Step(context)
    left = OFFSETS_PER_STEP
    for _ in range(GROUPS_PER_STEP):
        if not left or not context.offsets.hidden:
            break
        part = context.offsets.take_hidden(left)
        left -= len(part)
        _delete(context, step, part, _old_ones(context, part))
    if left and not context.offsets.hidden:
        _delete_staged(context, step, left)
    step.done()


def _old_ones(context: Context, part: HiddenOffsets) -> list[OffsetKey]:
    """Return the keys for which nothing newer has been written, or staged."""
    if context.loading(part.group_id) is not None:
        return []  # what is read again is looked at then
    found = []
    for index in sorted({*part.values, *part.on_their_way}):
        key = OffsetKey(part.group_id, part.topic, index)
        newest = context.offsets.newest(key)
        if newest in (None, part.on_their_way.get(index)) and not _is_staged_anew(context, key):
            found.append(key)
    return found


def _is_staged_anew(context: Context, key: OffsetKey) -> bool:
    """Whether a transaction has staged an offset in a new topic of the name: a deletion would drop it.

    If it is aborted, the old offset stays in the log, out of sight, and a start deletes it.
    """
    staged = context.staged.newest(key)
    return staged is not None and not _is_left_over(context, key, staged[1])


def _delete(context: Context, step: _Step, part: HiddenOffsets, keys: Iterable[OffsetKey]) -> None:
    step.left += 1
    with Changes(context, part.group_id) as changes:
        for key in keys:
            changes.offset(key, None)
        changes.commit(step.done, partial(step.lost, part))


def _delete_staged(context: Context, step: _Step, at_most: int) -> None:
    """Delete some of what transactions had staged in deleted topics, or have committed since."""
    while context.doomed_staged and at_most:
        doomed = context.doomed_staged[0]
        keys = list(islice(doomed.keys, at_most))
        at_most -= len(keys)
        if not keys:
            context.doomed_staged.popleft()
        by_group: dict[str, list[OffsetKey]] = {}
        for key in keys:
            if _is_old(context, doomed, key):
                by_group.setdefault(key.group_id, []).append(key)
        for group_id, old in by_group.items():
            part = HiddenOffsets(group_id, old[0].topic, {}, {})
            _delete(context, step, part, old)


def _is_old(context: Context, doomed: StagedKeys, key: OffsetKey) -> bool:
    """Whether nothing newer has been written, by a transaction or without."""
    if context.loading(key.group_id) is not None:
        return False
    staged = context.staged.newest(key)
    if staged is not None:
        return staged[0] <= doomed.mark
    value = context.offsets.newest(key)
    return value is not None and _is_left_over(context, key, value)


def drop_hidden(context: Context, partitions: Iterable[int]) -> None:
    """Forget what is hidden in partitions that are unloaded: it is found when they are read again."""
    unloaded = frozenset(partitions)
    context.offsets.hide_aside(unloaded)
    context.offsets.drop_hidden(lambda group_id: context.partition(group_id) in unloaded)
