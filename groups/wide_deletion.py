"""Deleting very many records of one group: some at a time, each part when the one before it is durable.

    begun --some records--> durable --a moment later--> some more --> ... --> durable --> done(code)

A group may have 200,000 offsets: in one batch they took seconds, in which no client was answered.  What is
deleted so far is gone if the server crashes, or if the group may not be deleted any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Final, Generic, TypeVar

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
"""The records of a step when there are more: 1 ms to write, and 1 ms when that is durable."""

LOOKED_PER_STEP: Final = 500
"""The offsets of which a step looks whether they are still there, or expired: some 2 ms."""

Item = TypeVar("Item")

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


def delete_offset(changes: Changes, key: OffsetKey) -> None:
    """Delete one offset."""
    changes.offset(key, None)


class WideDeletion(Generic[Item]):
    """The deletion of records of one group."""

    def __init__(
        self,
        context: Context,
        group_id: str,
        items: Iterable[Item],
        *,
        wanted: Callable[[Item], bool],
        delete: Callable[[Changes, Item], None],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """`wanted(item)` says whether a record is to be deleted; it raises GroupError to end the deletion."""
        self._context = context
        self._group_id = group_id
        self._items = iter(items)
        self._wanted = wanted
        self._delete = delete
        self._done = done
        self._timer = TimerKey("shrink", group_id, str(next(_numbers)))
        context.wide_deletions.add(self)

    @property
    def group_id(self) -> str:
        """The group whose records are deleted."""
        return self._group_id

    def step(self, now_ms: int) -> None:
        """Delete some records, and go on when that is durable."""
        self._context.now_ms = now_ms
        try:
            some, is_last = self._next_ones()
        except GroupError as error:
            self.end(error.code)
            return
        with Changes(self._context, self._group_id) as changes:
            for item in some:
                self._delete(changes, item)
            changes.commit(lambda: self.end(ErrorCode.NONE) if is_last else self._later(), self.end)

    def _next_ones(self) -> tuple[list[Item], bool]:
        """Return the next records to be deleted, and whether they are the last ones."""
        found: list[Item] = []
        looked = 0
        for looked, item in enumerate(islice(self._items, LOOKED_PER_STEP), start=1):  # noqa: B007
            if self._wanted(item):
                found.append(item)
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
