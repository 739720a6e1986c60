"""Share-partitions and members as operators see them: records by state, and what each member has.

A share-partition may have very many ranges. They are looked at some at a time, each at its moment: what
changes in between is seen as it was or as it is, and no record is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from groups.share.departures import Departure
from groups.share.record_range import Facts
from groups.share.sessions import ShareSession
from groups.share.share_partition import SharePartition
from groups.share.states import RecordState

RANGES_PER_STEP: Final = 500
"""The ranges looked at between two looks at the time, in about 0.5 ms."""

LATE_MS: Final = 15_000
"""The time without a heartbeat after which a member that never fetched seems to leave: three intervals."""

RUNNING: Final = "Running"
LEAVING: Final = "Leaving"
EXIT: Final = "Exit"
COMPLETE: Final = "Complete"


class Shown(NamedTuple):
    """Records in a row that are alike; `facts` is that of the ranges."""

    first: int
    last: int
    facts: Facts


class Totals:
    """The records of a share-partition between its start and the first that was never looked at, by state."""

    __slots__ = (
        *("acknowledged", "acquired", "archived", "archiving", "available"),
        *("deliveries", "pending", "released"),
    )

    def __init__(self) -> None:
        self.acquired = 0
        self.available = 0
        # Of those that are available: delivered before.
        self.released = 0
        # Finished, and kept because a record before them is not.
        self.acknowledged = 0
        self.archived = 0
        # Not delivered again, and waiting for their dead letters.
        self.archiving = 0
        # Records that are not finished, by the number of their deliveries, which is at least 1.
        self.deliveries: Counter[int] = Counter()
        # Acquired records by member.
        self.pending: Counter[str] = Counter()

    def add(self, count: int, facts: Facts) -> None:
        """Count records that are alike."""
        match facts.state:
            case RecordState.ACQUIRED:
                self.acquired += count
                self.pending[facts.member_id] += count
                self.deliveries[facts.delivery_count] += count
            case RecordState.AVAILABLE:
                self.available += count
                if facts.delivery_count:
                    self.released += count
                    self.deliveries[facts.delivery_count] += count
            case RecordState.ACKNOWLEDGED:
                self.acknowledged += count
            case RecordState.ARCHIVING:
                self.archiving += count
            case _:
                self.archived += count


def parts_of(partition: SharePartition) -> Iterator[list[Shown]]:
    """Yield the ranges of a share-partition, in order, some at a time; it may change in between."""
    offset = partition.start
    while some := partition.ranges.some_from(offset, RANGES_PER_STEP):
        yield [Shown(max(found.first, offset), found.last, found.facts) for found in some]
        offset = some[-1].last + 1


def totals_of(partition: SharePartition) -> Generator[None, None, Totals]:
    """Return the records of a share-partition by state; yield after some ranges."""
    totals = Totals()
    for number, part in enumerate(parts_of(partition)):
        if number:
            yield
        for shown in part:
            totals.add(shown.last - shown.first + 1, shown.facts)
    return totals


def is_unfinished(shown: Shown) -> bool:
    """Whether records are in work, or are to be delivered."""
    return shown.facts.state in (RecordState.ACQUIRED, RecordState.AVAILABLE)


def held(partition: SharePartition, first: int, last: int) -> dict[str, list[Shown]]:
    """Return the acquired records between two offsets, both included, by member."""
    found: dict[str, list[Shown]] = {}
    for part in partition.ranges.within(first, last):
        if part.facts.state == RecordState.ACQUIRED:
            shown = Shown(max(part.first, first), min(part.last, last), part.facts)
            found.setdefault(part.facts.member_id, []).append(shown)
    return found


class MemberRow(NamedTuple):
    """A member as operators see it."""

    member_id: str
    status: str
    window: int
    """The most records that it may have: those that it asked for with its last fetch, within the limit of its
    group; 0 without a share session."""
    pending: int
    """The records that it has."""
    idle_ms: int
    """The time since its last fetch or acknowledgement, or else heartbeat, or since it left; 0 while a fetch
    waits; -1: unknown."""

    @property
    def slots(self) -> int:
        """The records that it could have besides."""
        return max(self.window - self.pending, 0)


def member_row(
    member_id: str,
    *,
    session: ShareSession | None,
    departure: Departure | None,
    beat_ms: int | None,
    pending: int,
    now_ms: int,
    window_max: int = 0,
) -> MemberRow:
    """Return the row of a member; `beat_ms` is the moment of its last heartbeat, None if it is no member.

    `window_max` is the limit of the group; 0: none.

    Running: it has a share session, or sends heartbeats and has not fetched yet. Leaving: its session has
    ended, or its heartbeats are late, and it is still a member. Exit: it is no member any more, and left
    records to others, or has some whose locks run on. Complete: it is none, and finished all it was given.
    """
    if session is not None:
        window = min(session.window, window_max) if window_max else session.window
        idle_ms = 0 if session.is_waiting else max(now_ms - session.active_ms, 0)
        return MemberRow(member_id, RUNNING, window, pending, idle_ms)
    seen_ms = beat_ms if departure is None else departure.left_ms
    idle_ms = -1 if seen_ms is None else max(now_ms - seen_ms, 0)
    if beat_ms is not None:
        is_leaving = departure is not None or idle_ms > LATE_MS
        return MemberRow(member_id, LEAVING if is_leaving else RUNNING, 0, pending, idle_ms)
    has_finished = departure is not None and not (pending or departure.returned)
    return MemberRow(member_id, COMPLETE if has_finished else EXIT, 0, pending, idle_ms)


def lock_left_ms(facts: Facts, now_ms: int) -> int:
    """Return how long a member may still keep a record; 0 for one that no member has."""
    return max(facts.lock_until_ms - now_ms, 0) if facts.state == RecordState.ACQUIRED else 0
