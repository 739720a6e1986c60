"""Deleting very many offsets of one group: some at a time, each part when the one before it is durable.

    begun --some records--> durable --a moment later--> some more --> ... --> durable --> done(code)

A group may have 200,000 offsets: in one batch they took seconds, in which no client was answered.  What is
deleted so far is gone if the server crashes, or if the group may not be deleted any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Final

from groups.changes import Changes
from groups.errors import GroupError
from groups.record_keys import OffsetKey
from groups.timers import TimerKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from groups.context import Context

DELETED_AT_ONCE: Final = 200
"""The offsets that are deleted in one batch and in one go, about 4 ms."""

DELETED_PER_STEP: Final = 50
"""The offsets of a step when there are more: 1 ms to write, and 1 ms when that is durable."""

LOOKED_PER_STEP: Final = 500
"""The offsets of which a step looks whether they are still there, or expired: some 2 ms."""

_numbers = count()


def offsets_of(context: Context, group_id: str) -> Iterator[OffsetKey]:
    """Yield the partitions in which a group has, or may come to have, offsets; they may change meanwhile."""
    for topic in context.offsets.newest_topics(group_id):
        for index in context.offsets.each_partition(group_id, topic):
            yield OffsetKey(group_id, topic, index)
    yield from context.staged.each_of_group(group_id)


def is_wide(context: Context, group_id: str) -> bool:
    """Whether a group has too many offsets to be deleted in one go."""
    return next(islice(offsets_of(context, group_id), DELETED_AT_ONCE, None), None) is not None


class WideDeletion:
    """The deletion of offsets of one group."""

    def __init__(
        self,
        context: Context,
        group_id: str,
        keys: Iterable[OffsetKey],
        *,
        wanted: Callable[[OffsetKey], bool],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """`wanted(key)` says whether an offset is to be deleted; it raises GroupError to end the deletion."""
        self._context = context
        self._group_id = group_id
        self._keys = iter(keys)
        self._wanted = wanted
        self._done = done
        self._timer = TimerKey("shrink", group_id, str(next(_numbers)))
        context.wide_deletions.add(self)

    @property
    def group_id(self) -> str:
        """The group whose offsets are deleted."""
        return self._group_id

    def step(self, now_ms: int) -> None:
        """Delete some offsets, and go on when that is durable."""
        self._context.now_ms = now_ms
        try:
            some, is_last = self._next_ones()
        except GroupError as error:
            self.end(error.code)
            return
        with Changes(self._context, self._group_id) as changes:
            for key in some:
                changes.offset(key, None)
            changes.commit(lambda: self.end(ErrorCode.NONE) if is_last else self._later(), self.end)

    def _next_ones(self) -> tuple[list[OffsetKey], bool]:
        """Return the next offsets to be deleted, and whether they are the last ones."""
        found: list[OffsetKey] = []
        looked = 0
        for looked, key in enumerate(islice(self._keys, LOOKED_PER_STEP), start=1):  # noqa: B007
            if self._wanted(key):
                found.append(key)
                if len(found) == DELETED_PER_STEP:
                    return found, False
        return found, looked < LOOKED_PER_STEP

    def _later(self) -> None:
        """Go on in a turn of its own."""
        self._context.timers.set(self._timer, self._context.now_ms + 1, self.step)

    def end(self, code: ErrorCode) -> None:
        """Tell the outcome, once."""
        if self in self._context.wide_deletions:
            self._context.wide_deletions.discard(self)
            self._context.timers.cancel(self._timer)
            self._done(code)
