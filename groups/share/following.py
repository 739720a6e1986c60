"""A member of a share group follows the target, and is told what it has: of very much, by a thread.

following = Following(context, group, member_id, tells=...)    what it begins with
following.work_out()                                           in a thread, or here
following.is_current(groups)                                   False: the group has changed meanwhile
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groups.assignment import NOTHING, Assignment, count
from groups.context import Context
from groups.effects import EncodedRecord
from groups.share.group_records import ShareCurrent, ShareCurrentKey, encode_share_record
from groups.share.heartbeat import on_the_wire
from groups.share.share_group import ShareGroup
from groups.timers import TimerKey
from protocol.messages.share_group_heartbeat import Assignment as WireAssignment

TOPICS_AT_ONCE: Final = 500
"""The topics of a member that follows without a thread, in 2 ms."""

PARTITIONS_AT_ONCE: Final = 20_000
"""The same for partitions."""


class Following:
    """The way of one member to the target."""

    __slots__ = (
        "_before",
        "_context",
        "_error",
        "_group",
        "_target",
        "_target_epoch",
        "_tells",
        "current",
        "encoded",
        "key",
        "wire",
    )

    def __init__(self, context: Context, group: ShareGroup, member_id: str, *, tells: bool) -> None:
        """`tells`: the answer says what the member has, even if that stays as it is."""
        self.key = ShareCurrentKey(group.group_id, member_id)
        self._context = context
        self._group = group
        self._tells = tells
        # What it depends on.
        self._before = group.current_of(member_id)
        self._target = group.target.get(member_id, NOTHING)
        self._target_epoch = group.target_epoch
        # What comes of it: the new assignment, None if it stays, its record, and what is sent.
        self.current: ShareCurrent | None = None
        self.encoded: EncodedRecord | None = None
        self.wire: WireAssignment | None = None
        self._error: Exception | None = None

    @property
    def epoch(self) -> int:
        """The member's epoch afterwards."""
        return self._before.epoch if self.current is None else self.current.epoch

    @property
    def is_large(self) -> bool:
        """Whether it takes long."""
        changes = self._tells or self._before.epoch != self._target_epoch
        return changes and (_is_large(self._target) or _is_large(self._before.assigned))

    def work_out(self) -> None:
        """Find out what changes and what to tell, and write the record."""
        has_moved = self._before.assigned != self._target
        if has_moved or self._before.epoch != self._target_epoch:
            self.current = ShareCurrent(self._target_epoch, self._before.epoch, self._target)
            self.encoded = encode_share_record(self.key, self.current)
        if has_moved or self._tells:
            self.wire = on_the_wire(self._target)

    def is_current(self, groups: Mapping[str, ShareGroup]) -> bool:
        """Whether nothing has changed of what it depends on."""
        group, member_id = self._group, self.key.member_id
        return (
            groups.get(group.group_id) is group
            and member_id in group.members
            and group.current_of(member_id) is self._before
            and group.target.get(member_id, NOTHING) is self._target
            and group.target_epoch == self._target_epoch
        )

    def begin(self, over: Callable[[Following, Exception | None], None]) -> None:
        """Have a thread work it out; `over(self, error)` is called in a turn of the coordinator's."""

        def work() -> None:
            try:
                self.work_out()
            except Exception as error:  # noqa: BLE001  (judged by `over`)
                self._error = error

        def finish(now_ms: int) -> None:
            self._context.now_ms = now_ms
            over(self, self._error)

        def worked(error: Exception | None) -> None:
            self._error = self._error or error
            # Its own key: the group may be deleted and made anew meanwhile.
            key = TimerKey("share step", self._group.group_id, str(id(self)))
            self._context.timers.set(key, self._context.now_ms, finish)

        self._context.offload(work, worked)


def _is_large(assignment: Assignment) -> bool:
    return len(assignment) > TOPICS_AT_ONCE or count(assignment) > PARTITIONS_AT_ONCE
