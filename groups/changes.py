"""The records of one operation, applied as they are made.

with Changes(context, group_id) as changes:
    changes.put(MemberKey(…), metadata)        # changes the group at once; later steps see it
    changes.offset(OffsetKey(…), value)        # takes effect once it is durable
    …                                          # an exception here undoes everything
    changes.commit(answer, refuse)             # to the log; a failure there undoes everything, too
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from groups.consumer_member import MemberAssignment
from groups.context import Context
from groups.effects import EncodedRecord, Undo
from groups.errors import append_error
from groups.offset_values import offset_of
from groups.ownership import Owners
from groups.record_keys import ClassicGroupKey, CurrentKey, Key, OffsetKey
from groups.record_schemas import GroupMetadataValue
from groups.records import encode_record
from protocol.error_codes import ErrorCode

Answer = Callable[[], None]
Refuse = Callable[[ErrorCode], None]


class Changes:
    """The records that one operation writes about one group."""

    __slots__ = ("_committed", "_context", "_offsets", "_records", "_undo", "group_id")

    def __init__(self, context: Context, group_id: str) -> None:
        self._context = context
        self.group_id = group_id
        self._records: list[EncodedRecord] = []
        self._offsets: list[tuple[OffsetKey, bytes | None]] = []
        self._undo: list[Undo] = []
        self._committed = False

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._committed:
            for undo in reversed(self._undo):
                undo()
            self._settle_offsets()

    def put(self, key: Key, value: Any, encoded: EncodedRecord | None = None) -> None:
        """Apply a record of a group and write it; `encoded`: its bytes, if they are made already."""
        if isinstance(key, CurrentKey) and value is not None:
            group = self._context.consumer(key.group_id)
            if group is not None:
                group.check_sole_owner(key.member_id, value)
        undo = self._context.replay(key, value)
        if undo is not None:
            self._undo.append(undo)
        self.write(key, value, encoded)

    def adopt(
        self, key: CurrentKey, value: MemberAssignment, owners: Owners, encoded: EncodedRecord | None
    ) -> None:
        """Apply and write what a member has next, with the group's table of owners after it."""
        self._undo.append(self._context.adopt(key, value, owners))
        self.write(key, value, encoded)

    def write(self, key: Key, value: Any, encoded: EncodedRecord | None = None) -> None:
        """Write a record that has already been applied; `encoded`: its bytes, if they are made already."""
        if isinstance(key, ClassicGroupKey) and value is not None:
            self._note_written(key.group_id, value)
        self._records.append(encoded or encode_record(key, value))

    def tombstone(self, key: bytes) -> None:
        """Delete a record by the bytes of its key."""
        self._records.append((key, None))

    def _note_written(self, group_id: str, record: GroupMetadataValue) -> None:
        group = self._context.classic(group_id)
        assert group is not None, f"a record of group {group_id!r}, which does not exist"
        before = group.written

        def undo() -> None:
            group.written = before

        group.written = record
        self._undo.append(undo)

    def offset(self, key: OffsetKey, value: bytes | None) -> None:
        """Write the record of an offset; it takes effect once it is durable."""
        self._context.offsets.announce(key, value)
        self._offsets.append((key, value))
        if self._context.staged:
            self._undo += self._context.staged.supersede(key)
        self.write(key, value)

    def on_undo(self, undo: Undo) -> None:
        """Run `undo` when the changes are undone, after the undo steps of later changes."""
        self._undo.append(undo)

    def commit(self, answer: Answer, refuse: Refuse) -> None:
        """Hand the records to the log; answer when they, or those they build on, are durable.

        `refuse` is called with the error for the client.
        """
        self._committed = True
        context = self._context

        def done(error: ErrorCode | None, now_ms: int) -> None:
            context.now_ms = now_ms
            self._settle_offsets()
            if error is None:
                self._replay_offsets()
                answer()
            else:
                refuse(append_error(error))

        if self._records:
            partition = context.partition(self.group_id)
            context.journal.write(partition, self._records, self._undo, done)
        else:
            context.after_writes(self.group_id, done)

    def _settle_offsets(self) -> None:
        for key, _ in self._offsets:
            self._context.offsets.settle(key)

    def _replay_offsets(self) -> None:
        context = self._context
        # What was on its way when its topic was deleted is not to be seen, not even until it is deleted, too.
        forgetting = context.forgetting
        for key, value in self._offsets:
            if value is not None:
                if forgetting and context.is_of_former(key, value):
                    context.offsets.hide_late(key, value)
                    continue
                context.count_rows(key, context.offsets.position(key), offset_of(value))
            context.put_offset(key, value)


def nothing() -> None:
    """Send no answer: the operation was the server's own."""


def nobody(_: ErrorCode) -> None:
    """Send no refusal: what could not be stored is tried again when the next request needs it."""
