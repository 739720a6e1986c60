"""The next step of a member of a consumer group on its way to the target, and the answer that tells it.

A member with very much is brought on by a thread, as one may have 20,000 topics:

    step = NextStep(context, group, member_id, ...)    what it begins with
    step.work_out(), step.prepare()                    in a thread
    step.is_current()                                  False: the group has changed meanwhile; make another
    step.take(changes)                                 applies it, in microseconds

One thread at a time works for a group: it is told of by `group.stepping`, where other heartbeats wait.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from groups.assignment import EpochAssignment, Indexes, same_partitions
from groups.changes import Changes
from groups.consumer_group import ConsumerGroup
from groups.consumer_member import MemberAssignment
from groups.context import Context
from groups.effects import EncodedRecord, do_all
from groups.ownership import Owners, check_sole_owner, held_by_others, owners_after
from groups.reconciliation import Owned, next_assignment
from groups.record_keys import CurrentKey
from groups.records import encode_record
from groups.timers import TimerKey
from protocol.messages.consumer_group_heartbeat import TopicPartitions

TOPICS_AT_ONCE: Final = 500
"""The topics of a member with which it is brought on without a thread, in 5 ms."""

PARTITIONS_AT_ONCE: Final = 20_000
"""The same for partitions."""


class NextStep:
    """The next step of one member."""

    __slots__ = (
        "_encoded",
        "_owned",
        "_owners",
        "before",
        "context",
        "found",
        "group",
        "has_moved",
        "held_changes",
        "is_due",
        "member",
        "member_id",
        "on_the_wire",
        "target",
        "target_epoch",
        "tells",
    )

    def __init__(
        self,
        context: Context,
        group: ConsumerGroup,
        member_id: str,
        owned: Owned,
        *,
        resubscribed: bool,
        tells: bool,
    ) -> None:
        """`tells`: the answer says what the member has, even if that stays as it is."""
        self.context = context
        self.group = group
        self.member_id = member_id
        self._owned = owned
        self.tells = tells
        self.is_due = resubscribed or not group.reconciled(member_id)
        # What it depends on.
        self.member = group.metadata[member_id]
        self.before = group.assignment(member_id)
        self.target = group.target_of(member_id)
        self.target_epoch = group.target_epoch
        self.held_changes = group.held_changes
        # What comes of it.
        self.found = self.before
        self.has_moved = False
        self.on_the_wire: list[TopicPartitions] | None = None
        self._owners: Owners | None = None
        self._encoded: EncodedRecord | None = None

    @property
    def is_large(self) -> bool:
        """Whether it takes long."""
        parts = (self.before.assigned, self.before.revoking, self.target)
        return (self.is_due or self.tells) and any(_is_large(part) for part in parts)

    def work_out(self) -> None:
        """Find out what the member has next, and what to tell it.

        Raises: FencedMemberEpoch.
        """
        if self.is_due:
            self.found = self._next()
        self.has_moved = not same_partitions(self.before.assigned, self.found.assigned)
        if self.has_moved or self.tells:
            self.on_the_wire = on_the_wire(self.found.assigned)

    def _next(self) -> MemberAssignment:
        group, member = self.group, self.member
        # A new member of 20,000 topics, perhaps, has nothing yet, whatever it subscribes to.
        has_any = self.target or self.before.assigned or self.before.revoking
        return next_assignment(
            self.before,
            target=self.target,
            target_epoch=self.target_epoch,
            topics=self.context.topic_ids(group.names((member.topics, member.regex))) if has_any else (),
            owned=self._owned,
            held_by_others=partial(held_by_others, group.owners, self.member_id) if group.owners else None,
        )

    def prepare(self) -> None:
        """Write the record, and the group's table of owners after it."""
        if self.found is not self.before:
            owners = self.group.owners
            check_sole_owner(owners, self.member_id, self.before, self.found)
            self._owners = owners_after(owners, self.member_id, self.before, self.found)
            self._encoded = encode_record(CurrentKey(self.group.group_id, self.member_id), self.found)

    def is_current(self) -> bool:
        """Whether nothing has changed of what it depends on."""
        group, member_id = self.group, self.member_id
        return (
            self.context.consumer(group.group_id) is group
            and group.held_changes == self.held_changes
            and group.metadata.get(member_id) is self.member
            and group.target_of(member_id) is self.target
            and group.target_epoch == self.target_epoch
        )

    def take(self, changes: Changes) -> None:
        """Apply it and write its record, if it changes anything."""
        if self.found is self.before:
            return
        key = CurrentKey(self.group.group_id, self.member_id)
        if self._owners is None:
            changes.put(key, self.found)
        else:
            changes.adopt(key, self.found, self._owners, self._encoded)


def _is_large(partitions: Indexes) -> bool:
    return len(partitions) > TOPICS_AT_ONCE or sum(map(len, partitions.values())) > PARTITIONS_AT_ONCE


def on_the_wire(assigned: EpochAssignment) -> list[TopicPartitions]:
    """Return what a member has as it is sent."""
    # Topics with as many partitions share one mapping, mostly.
    alike = {id(partitions): partitions for partitions in assigned.values()}
    lists = {key: sorted(partitions) for key, partitions in alike.items()}
    return [
        TopicPartitions(topic_id=topic_id, partitions=lists[id(partitions)])
        for topic_id, partitions in assigned.items()
    ]


class LargeStep:
    """A step that a thread works out, and its way back."""

    __slots__ = ("_error", "_over", "_step")

    def __init__(self, step: NextStep, over: Callable[[NextStep, Exception | None], None]) -> None:
        """`over(step, error)` is called in a turn of the coordinator's."""
        self._step = step
        self._over = over
        self._error: Exception | None = None

    def begin(self) -> None:
        """Have a thread begin; heartbeats that need one, too, wait in `group.stepping`."""
        self._step.group.stepping = []
        self._step.context.offload(self._work, self._worked)

    def _work(self) -> None:
        try:
            self._step.work_out()
            self._step.prepare()
        except Exception as error:  # noqa: BLE001  (judged by `over`: the group may have changed under it)
            self._error = error

    def _worked(self, error: Exception | None) -> None:
        self._error = self._error or error
        step = self._step
        # Its own key: the group may be deleted and made anew meanwhile.
        key = TimerKey("step", step.group.group_id, str(id(self)))
        step.context.timers.set(key, step.context.now_ms, self._finish)

    def _finish(self, now_ms: int) -> None:
        step = self._step
        step.context.now_ms = now_ms
        waiting, step.group.stepping = step.group.stepping or [], None
        do_all([partial(self._over, step, self._error), *waiting])
