"""Deleting a group with records that cannot be read: some records at a time, and those as the last ones.

    offsets --> records of members and of the group --> records that cannot be read --> durable --> answered

As long as one of the last kind is stored, a start refuses the group.  So after a crash in between nothing of
it is served, and it can be deleted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from groups.changes import Changes
from groups.consumer_group import ConsumerGroup
from groups.discarding import emptied
from groups.downgrade import keys_of
from groups.record_keys import ClassicGroupKey, Key, OffsetKey
from groups.wide_deletion import WideDeletion, delete_offset, offsets_of
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from groups.context import Context


def delete_misread(context: Context, group_id: str, done: Callable[[ErrorCode], None]) -> None:
    """Delete a group, of which no member is served; tell the outcome when all of that is durable."""

    def wanted(item: Key | bytes) -> bool:
        context.check_here(group_id)
        if not isinstance(item, OffsetKey):
            return True
        return context.offsets.newest(item) is not None or context.staged.is_staged(item)

    def deleted(code: ErrorCode) -> None:
        if not code and group_id in context.misread:
            context.misread.forget(group_id)
            context.quarantined.pop(group_id, None)
        elif not code and (context.exists(group_id) or context.partition(group_id) not in context.loaded):
            # It was unloaded, or deleted by another request and is there again: its client may ask again.
            code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        done(code)

    items = _records_of(context, group_id)
    WideDeletion(context, group_id, items, wanted=wanted, delete=_delete, done=deleted).step(context.now_ms)


def _records_of(context: Context, group_id: str) -> Iterator[Key | bytes]:
    """Yield the records of a group until another request has deleted it, or it is unloaded."""
    for item in _all_records_of(context, group_id):
        if group_id not in context.misread:
            return
        yield item


def _all_records_of(context: Context, group_id: str) -> Iterator[Key | bytes]:
    yield from offsets_of(context, group_id)
    group = context.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        context.background(emptied(group.take_owners()))
        yield from keys_of(group)
    elif group is not None:
        yield ClassicGroupKey(group_id)
    yield from context.misread.keys_of(group_id)


def _delete(changes: Changes, item: Key | bytes) -> None:
    if isinstance(item, bytes):
        changes.tombstone(item)
    elif isinstance(item, OffsetKey):
        delete_offset(changes, item)
    else:
        changes.put(item, None)
