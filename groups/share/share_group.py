"""A share group: what its records say, and what follows from them.

Only `replay` changes it, at load and at run time alike; it returns what undoes the change. Nothing is revoked
in a share group: a member follows the target with its next heartbeat.

    subscription or topics change --> group epoch + 1 --> target of that epoch --heartbeat--> member's epoch
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any
from uuid import UUID

from groups.assignment import NOTHING, Assignment
from groups.effects import Undo
from groups.name_counts import forget_names
from groups.record_keys import GroupEpoch, TargetEpoch
from groups.share.group_records import (
    Initialized,
    ShareCurrent,
    ShareCurrentKey,
    ShareEpochKey,
    ShareGroupKey,
    ShareMember,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetEpochKey,
    ShareTargetKey,
)

JOINING_EPOCH = 0
"""In a request: the member joins, or joins again."""
LEAVING_EPOCH = -1
"""In a request: the member leaves."""

NEW_MEMBER = ShareCurrent(JOINING_EPOCH, JOINING_EPOCH, NOTHING)
"""The assignment of a member before its first answer."""


class ShareGroupState(Enum):
    """The state of a share group; the value is what Kafka's APIs show."""

    EMPTY = "Empty"
    """No members. Its offsets can be set, and the group can be deleted."""

    STABLE = "Stable"
    """It has members."""


class ShareGroup:
    """One group. Dictionaries are keyed by member id unless a comment says otherwise."""

    __slots__ = (
        "assigned_ms",
        "assigning",
        "current",
        "epoch",
        "group_id",
        "initialized",
        "is_stale",
        "members",
        "metadata_hash",
        "names",
        "target",
        "target_epoch",
        "target_ms",
        "waiting",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.members: dict[str, ShareMember] = {}
        self.target: dict[str, Assignment] = {}
        self.target_epoch = 0
        self.target_ms = 0
        self.current: dict[str, ShareCurrent] = {}
        # By topic id: the partitions in which the group has a state. Only these are assigned.
        self.initialized: Initialized = {}
        # How many members subscribe to a topic, by name.
        self.names: Counter[str] = Counter()
        # Whether topics may have changed since the last target: they may have while the server was down.
        self.is_stale = True
        # While partitions are being initialized: what to call when that is done.
        self.waiting: list[Callable[[], None]] | None = None
        # When the last target of any topic was computed, since the start.
        self.assigned_ms: int | None = None
        # While a thread computes the target: what to call when it is stored.
        self.assigning: list[Callable[[], None]] | None = None

    @property
    def state(self) -> ShareGroupState:
        """The state that Kafka's APIs show."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def is_blank(self) -> bool:
        """Whether nothing is left of it: the last tombstone has been replayed."""
        return not (self.epoch or self.members or self.current or self.target or self.initialized)

    def current_of(self, member_id: str) -> ShareCurrent:
        """Return a member's assignment."""
        return self.current.get(member_id, NEW_MEMBER)

    def make_stale(self) -> None:
        """Have the next heartbeat look at the topics again."""
        self.is_stale = True

    def is_initialized(self, topic_id: UUID, partition: int) -> bool:
        """Whether the group has a state in a partition."""
        topic = self.initialized.get(topic_id)
        return topic is not None and partition in topic.partitions

    def records(self) -> Iterator[tuple[ShareGroupKey, Any]]:
        """Yield the records that make up the group; what changes meanwhile is shown as it is then."""
        for key in self._keys():
            value = self.value_of(key)
            if value is not None:
                yield key, value

    def _keys(self) -> Iterator[ShareGroupKey]:
        group_id = self.group_id
        for member_id in list(self.members):
            yield ShareMemberKey(group_id, member_id)
        yield ShareEpochKey(group_id)
        for member_id in list(self.target):
            yield ShareTargetKey(group_id, member_id)
        yield ShareTargetEpochKey(group_id)
        for member_id in list(self.current):
            yield ShareCurrentKey(group_id, member_id)
        yield ShareStatesKey(group_id)

    def value_of(self, key: ShareGroupKey) -> Any:
        """Return what a record says now; None if there is none."""
        match key:
            case ShareMemberKey():
                return self.members.get(key.member_id)
            case ShareEpochKey():
                return GroupEpoch(self.epoch, self.metadata_hash)
            case ShareTargetKey():
                return self.target.get(key.member_id)
            case ShareTargetEpochKey():
                return TargetEpoch(self.target_epoch, self.target_ms)
            case ShareCurrentKey():
                return self.current.get(key.member_id)
            case ShareStatesKey():
                return self.initialized or None

    def replay(self, key: ShareGroupKey, value: Any) -> Undo:
        """Apply one record and return what undoes it."""
        match key:
            case ShareEpochKey():
                return self._set_epoch(value or GroupEpoch(0, 0))
            case ShareTargetEpochKey():
                return self._set_target_epoch(value or TargetEpoch(0, 0))
            case ShareStatesKey():
                return self._set_initialized(value or {})
            case ShareMemberKey():
                return self._set_member(key.member_id, value)
            case ShareTargetKey():
                return _put(self.target, key.member_id, value)
            case ShareCurrentKey():
                return _put(self.current, key.member_id, value)

    def _set_member(self, member_id: str, value: ShareMember | None) -> Undo:
        before = self.members.get(member_id)
        if before is None or value is None or before.topics != value.topics:
            if before is not None:
                forget_names(self.names, before.topics)
            if value is not None:
                self.names.update(value.topics)
        _store(self.members, member_id, value)
        return lambda: _ignore(self._set_member(member_id, before))

    def _set_epoch(self, value: GroupEpoch) -> Undo:
        before = GroupEpoch(self.epoch, self.metadata_hash)
        self.epoch, self.metadata_hash = value

        def undo() -> None:
            self.epoch, self.metadata_hash = before

        return undo

    def _set_target_epoch(self, value: TargetEpoch) -> Undo:
        before = TargetEpoch(self.target_epoch, self.target_ms)
        self.target_epoch, self.target_ms = value

        def undo() -> None:
            self.target_epoch, self.target_ms = before

        return undo

    def _set_initialized(self, value: Initialized) -> Undo:
        before, self.initialized = self.initialized, value

        def undo() -> None:
            self.initialized = before

        return undo


def _put(table: dict[str, Any], key: str, value: Any) -> Undo:
    before = table.get(key)
    _store(table, key, value)
    return lambda: _store(table, key, before)


def _store(table: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _ignore(undo: Undo) -> None:
    """Drop the undo of an undo: it is never needed."""
