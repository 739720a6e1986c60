"""Records in a row that are alike: all that is known of them, and a change on its way."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from groups.share.states import Event, RecordState


class Facts(NamedTuple):
    """All that is known of a record."""

    state: RecordState
    delivery_count: int
    """The number of deliveries, including the present one."""
    member_id: str = ""
    """The member that has it, if it is acquired."""
    lock_until_ms: int = 0
    """The monotonic moment until which that member has it; of an available record, that until which
    `member_id` is not given it, or no member if that is ""."""
    cause: str = ""
    """The cause for which it is being archived, or "" if it is not."""
    record_bytes: int = 0
    """The mean size of the records of its batch, if that counts."""
    priority: int = 0
    """Its class, in groups that have classes; larger ones come first."""

    def is_free(self, member_id: str, now_ms: int, priority: int | None = None) -> bool:
        """Whether a member may have it now, if it is of this class."""
        if self.state != RecordState.AVAILABLE or (priority is not None and self.priority != priority):
            return False
        return self.lock_until_ms <= now_ms or self.member_id not in ("", member_id)


Run = tuple[int, int, Event]
"""First and last offset of records, and what happens to them."""


class StoredRange(NamedTuple):
    """Records in a row, as their state is stored."""

    first: int
    last: int
    state: RecordState
    delivery_count: int
    cause: str = ""
    """As in Facts."""


class Change:
    """A change of states that is being stored."""

    __slots__ = ("events", "ranges")

    def __init__(self) -> None:
        self.ranges: list[StoredRange] = []
        # The number of records by what happened to them.
        self.events: Counter[Event] = Counter()

    @property
    def first(self) -> int:
        """The first offset that changes."""
        return self.ranges[0].first

    @property
    def last(self) -> int:
        """The last offset that changes."""
        return self.ranges[-1].last


class Range:
    """Records in a row that are alike.  While a change of them is being stored, nothing else may change."""

    __slots__ = ("before", "change", "facts", "first", "last")

    def __init__(self, first: int, last: int, facts: Facts) -> None:
        self.first = first
        self.last = last
        self.facts = facts
        self.change: Change | None = None
        self.before: Facts | None = None

    @property
    def is_settled(self) -> bool:
        """Whether its state is durable, or need not be."""
        return self.change is None

    @property
    def is_held(self) -> bool:
        """Whether a member has it, and has said nothing of it yet."""
        return self.change is None and self.facts.state is RecordState.ACQUIRED

    def __len__(self) -> int:
        return self.last - self.first + 1

    def split(self, offset: int) -> Range:
        """End before an offset inside, and return the rest."""
        tail = Range(offset, self.last, self.facts)
        tail.change, tail.before = self.change, self.before
        self.last = offset - 1
        return tail
