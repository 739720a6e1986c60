"""Counters of a share group since the server's start: what was delivered, and what became of it.

They count ranges of records, never each record. What a member says counts when it is durable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groups.share.states import Event, RecordState

if TYPE_CHECKING:
    from groups.share.found import Acquired
    from groups.share.record_range import Change


class GroupCounts:
    """The records of one group, by what happened to them; one that is delivered twice counts twice."""

    __slots__ = (
        *("accepted", "acquired", "archived", "lock_timeouts"),
        *("redeliveries", "rejected", "released", "taken_over"),
    )

    def __init__(self) -> None:
        self.acquired = 0
        # Of those: not for the first time.
        self.redeliveries = 0
        self.accepted = 0
        # Given back by members, or taken back from members that left.
        self.released = 0
        self.rejected = 0
        self.lock_timeouts = 0
        # Taken from members that sat idle, because others asked.
        self.taken_over = 0
        # Finished without being processed: rejected, delivered too often, found missing by a member, purged.
        self.archived = 0

    def delivered(self, acquired: Iterable[Acquired]) -> None:
        """Count records that a member was given."""
        for part in acquired:
            count = part.last - part.first + 1
            self.acquired += count
            if part.delivery_count > 1:
                self.redeliveries += count

    def settled(self, change: Change) -> None:
        """Count a change that is durable."""
        events = change.events
        self.accepted += events[Event.ACCEPT]
        self.released += events[Event.RELEASE] + events[Event.SESSION_CLOSED]
        self.rejected += events[Event.REJECT]
        self.lock_timeouts += events[Event.LOCK_EXPIRED]
        self.taken_over += events[Event.TAKEN_OVER]
        for part in change.ranges:
            if part.state == RecordState.ARCHIVED:
                self.archived += part.last - part.first + 1

    def as_dict(self) -> dict[str, int]:
        """Return all counters by name."""
        return {name: getattr(self, name) for name in self.__slots__}
