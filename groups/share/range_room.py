"""The memory of records in flight, in all share-partitions, and its limit.

A group bounds the records in flight of each partition, but a client may have very many partitions, and leave
every second record of each unsaid.  What takes memory are the ranges of records that are alike.  While all of
them are at their limit (`kawal.share.ranges.max.bytes`)

- a share-partition gives out records only if it has none in flight, or its first one is available: so each
  group goes on, a few ranges at a time, however much others hold;
- an acknowledgement that would cut a range is refused with COORDINATOR_NOT_AVAILABLE, unless it finishes the
  first records of a partition: members that say of records what they are done with, in order, go on.

A share-partition that is held back is remembered, and told of once there is room, in the order in which they
were, as many at a time as there are ranges free: one that takes the room again is held back again.

What is stored is loaded, however much it is.  Kafka has no such limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from groups.share.record_range import Run
from groups.share.states import Event, RecordState

if TYPE_CHECKING:
    from groups.share.ranges import Ranges
    from groups.share.state_records import ShareKey

RANGE_BYTES: Final = 700
"""The memory of a range with its places in the tables of members and of locks, if each has a lock that ends
at a moment of its own (measured); half as much if many end at once."""

TOLD_AT_ONCE: Final = 200
"""The share-partitions told of in one step, some 0.2 ms."""

_ENDING: Final = frozenset({Event.ACCEPT, Event.GAP})


class Ranged(Protocol):
    """A share-partition, as far as its ranges go."""

    @property
    def ranges(self) -> Ranges:
        """Its ranges, in order."""


class Counted(Protocol):
    """A share-partition in the table."""

    counted: int
    """The ranges of it that are counted."""

    @property
    def partition(self) -> Ranged:
        """The share-partition."""


class RangeRoom:
    """The number of all ranges, brought up to date after each change of a share-partition."""

    __slots__ = ("_held", "_limit_bytes", "_on_room", "count", "refused")

    def __init__(self, limit_bytes: Callable[[], int], on_room: Callable[[], None]) -> None:
        """`on_room` is called while there is room, and share-partitions to be told of (`take_held`)."""
        self._limit_bytes = limit_bytes
        self._on_room = on_room
        self._held: dict[ShareKey, None] = {}
        self.count = 0
        self.refused = 0
        """The acknowledgements that were refused so far for lack of memory."""

    @property
    def size_bytes(self) -> int:
        """The memory of all ranges."""
        return self.count * RANGE_BYTES

    @property
    def is_full(self) -> bool:
        """Whether they have all the memory that they may."""
        return self.size_bytes >= self._limit_bytes()

    def recount(self, share: Counted) -> None:
        """Take in what has become of a share-partition."""
        count = len(share.partition.ranges)
        self.count += count - share.counted
        share.counted = count
        self.look_for_room()

    def forget(self, share: Counted) -> None:
        """Leave out a share-partition that is not served any longer."""
        self.count -= share.counted
        share.counted = 0
        self.look_for_room()

    def look_for_room(self) -> None:
        """Have it said that there is room, if there is and something waits for it."""
        if self._held and not self.is_full:
            self._on_room()

    def take_held(self) -> list[ShareKey]:
        """Return the share-partitions that are to be told of now: they are held back no longer."""
        free = (self._limit_bytes() - self.size_bytes) // RANGE_BYTES + 1
        taken = list(islice(self._held, max(0, min(free, TOLD_AT_ONCE))))
        for key in taken:
            del self._held[key]
        return taken

    @property
    def held_count(self) -> int:
        """The number of share-partitions that are held back, as far as is known."""
        return len(self._held)

    def holds_back(self, key: ShareKey, partition: Ranged) -> bool:
        """Whether a share-partition is to give out no records now; it is told of when it may."""
        if not self.is_full:
            return False
        first = next(iter(partition.ranges), None)
        if first is None or (first.is_settled and first.facts.state == RecordState.AVAILABLE):
            return False
        self._held[key] = None
        return True

    def release(self, key: ShareKey) -> None:
        """Forget that a share-partition is held back: it was deleted, or is another now."""
        self._held.pop(key, None)

    def refuses(self, ranges: Ranges, runs: Sequence[Run]) -> bool:
        """Whether what a member says, in order, is refused; that is counted."""
        if not runs or not self.is_full:
            return False
        cuts = ranges.cuts_of(runs)
        ends = runs[0][0] == ranges.start and all(event in _ENDING for _, _, event in runs)
        if not cuts or (cuts == 1 and ends):
            return False
        self.refused += 1
        return True
