"""The share groups of a node by name, and the way of their changes to the log.

with GroupChanges(table, group_id) as changes:
    changes.put(ShareMemberKey(…), member)     # changes the group at once; later steps see it
    …                                          # an exception here undoes everything
    changes.commit(answer, refuse)             # to the log; a failure there undoes everything, too
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import TracebackType
from typing import Any

from groups.assignment import count
from groups.changes import Answer, Refuse
from groups.context import Context
from groups.effects import EncodedRecord, Undo
from groups.errors import append_error
from groups.memory import ADDRESS_UNKNOWN, ASSIGNED_BYTES, MEMBER_BYTES, NAME_BYTES
from groups.share.group_records import (
    ShareCurrentKey,
    ShareGroupKey,
    ShareMember,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetKey,
    encode_share_record,
)
from groups.share.share_group import ShareGroup
from groups.sorted_names import chars_of
from protocol.error_codes import ErrorCode


class ShareGroups:
    """All share groups; they share the context, its journal and its partitions with the other kinds."""

    __slots__ = ("context", "groups", "interval_ms")

    def __init__(self, context: Context, interval_ms: Callable[[str], int]) -> None:
        """`interval_ms(group_id)` returns the shortest time between two assignments of a group."""
        self.context = context
        self.interval_ms = interval_ms
        self.groups: dict[str, ShareGroup] = {}

    def replay(self, key: ShareGroupKey, value: Any) -> Undo:
        """Apply one record, at load and at run time alike; return what undoes it."""
        group = self.groups.get(key.group_id)
        if group is None:
            if value is None:
                return _nothing_to_undo
            group = ShareGroup(key.group_id)
        undo = group.replay(key, value)
        self._keep(group)
        self._count(group, key)

        def undo_all() -> None:
            undo()
            self._keep(group)
            self._count(group, key)

        return undo_all

    def _keep(self, group: ShareGroup) -> None:
        """Keep a group as long as anything is left of it."""
        if group.is_blank:
            self.groups.pop(group.group_id, None)
        else:
            self.groups[group.group_id] = group

    def _count(self, group: ShareGroup, key: ShareGroupKey) -> None:
        """Count the memory of a member, of its assignments, and of the list of a group's states."""
        memory, group_id = self.context.memory, group.group_id
        if isinstance(key, ShareMemberKey):
            member = group.members.get(key.member_id)
            host = ADDRESS_UNKNOWN if member is None else member.client_host
            memory.count(group_id, key, host, 0 if member is None else member_bytes(member))
        elif isinstance(key, ShareTargetKey):
            partitions = count(group.target.get(key.member_id, {}))
            memory.count(group_id, key, ADDRESS_UNKNOWN, ASSIGNED_BYTES * partitions)
        elif isinstance(key, ShareCurrentKey):
            partitions = count(group.current_of(key.member_id).assigned)
            memory.count(group_id, key, ADDRESS_UNKNOWN, ASSIGNED_BYTES * partitions)
        elif isinstance(key, ShareStatesKey):
            partitions = sum(map(len, map(attrgetter("partitions"), group.initialized.values())))
            memory.count(group_id, key, ADDRESS_UNKNOWN, ASSIGNED_BYTES * partitions)

    def check_room(self, key: ShareMemberKey, member: ShareMember) -> None:
        """Check that there is memory for what a member says about itself.

        Raises: GroupFull, CoordinatorNotAvailable.
        """
        context = self.context
        context.memory.check(context.config, key.group_id, key, member.client_host, member_bytes(member))


def member_bytes(member: ShareMember) -> int:
    """Return the memory of what a member says about itself."""
    words = [word for word in (member.client_id, member.rack_id) if word is not None]
    size_bytes = sum(map(len, words)) + chars_of(member.topics)
    return MEMBER_BYTES + size_bytes + NAME_BYTES * (len(words) + len(member.topics))


def _nothing_to_undo() -> None:
    """Undo nothing: a tombstone of a group that does not exist changes nothing."""


class GroupChanges:
    """The records that one operation writes about one share group."""

    __slots__ = ("_committed", "_groups", "_records", "_undo", "group_id")

    def __init__(self, groups: ShareGroups, group_id: str) -> None:
        self._groups = groups
        self.group_id = group_id
        self._records: list[EncodedRecord] = []
        self._undo: list[Undo] = []
        self._committed = False

    def __enter__(self) -> GroupChanges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._committed:
            for undo in reversed(self._undo):
                undo()

    @property
    def context(self) -> Context:
        """The state of the coordinator."""
        return self._groups.context

    def put(self, key: ShareGroupKey, value: Any, encoded: EncodedRecord | None = None) -> None:
        """Apply a record and write it; `encoded`: its bytes, if they are made already."""
        self._undo.append(self._groups.replay(key, value))
        self._records.append(encoded or encode_share_record(key, value))

    def on_undo(self, undo: Undo) -> None:
        """Run `undo` when the changes are undone, after the undo steps of later changes."""
        self._undo.append(undo)

    def commit(self, answer: Answer, refuse: Refuse) -> None:
        """Hand the records to the log; answer when they, or those they build on, are durable."""
        self._committed = True
        context = self._groups.context

        def done(error: ErrorCode | None, now_ms: int) -> None:
            context.now_ms = now_ms
            if error is None:
                answer()
            else:
                refuse(append_error(error))

        if self._records:
            partition = context.partition(self.group_id)
            context.journal.write(partition, self._records, self._undo, done)
        else:
            context.after_writes(self.group_id, done)
