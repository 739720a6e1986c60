"""The states of a record in a share group, and all that changes them.

                    acquire, count + 1                  accept
    AVAILABLE --------------------------> ACQUIRED ---------------------> ACKNOWLEDGED
        ^                                  |    |
        |   release, lock runs out         |    |  reject, gap,
        +--- or the session closes --------+    +--- or released the last time --> ARCHIVED

A record is acquired by one member for the duration of its lock; only that is not stored. A crash therefore
releases what was acquired, and takes its last delivery from the count, as Kafka does.

The code runs on OUTCOMES, and each row is tested.
Source: KIP-932, KIP-1222 (renewal); Kafka 4.3's RecordState, InFlightState and SharePartition.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final, NamedTuple


class RecordState(IntEnum):
    """The state of a record between the start and the end of a share-partition; the numbers are stored."""

    AVAILABLE = 0
    """Any member may have it."""

    ACQUIRED = 1
    """A member has it, until it says what became of it or its lock runs out; never stored."""

    ACKNOWLEDGED = 2
    """It was processed."""

    ARCHIVED = 4
    """It is not delivered again: rejected, delivered too often, or not there."""


FINISHED: Final = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""States of records that are not delivered again: the start moves over them."""


class Event(Enum):
    """An event that ends, or prolongs, the time for which a member has a record; the value describes it."""

    GAP = "the member found no record at the offset"
    ACCEPT = "the member has processed it"
    RELEASE = "the member gives it back"
    REJECT = "the member cannot process it, nor could another"
    RENEW = "the member needs more time"
    LOCK_EXPIRED = "the member took too long"
    SESSION_CLOSED = "the member left, or its connection was lost"


ACKNOWLEDGEMENTS: Final[Mapping[int, Event]] = {
    0: Event.GAP,
    1: Event.ACCEPT,
    2: Event.RELEASE,
    3: Event.REJECT,
    4: Event.RENEW,
}
"""The types of acknowledgement in requests."""


class Outcome(NamedTuple):
    """The state of an acquired record after an event."""

    state: RecordState


OUTCOMES: Final[Mapping[Event, Mapping[bool, Outcome]]] = {
    Event.GAP: dict.fromkeys((False, True), Outcome(RecordState.ARCHIVED)),
    Event.ACCEPT: dict.fromkeys((False, True), Outcome(RecordState.ACKNOWLEDGED)),
    Event.RELEASE: {False: Outcome(RecordState.AVAILABLE), True: Outcome(RecordState.ARCHIVED)},
    Event.REJECT: dict.fromkeys((False, True), Outcome(RecordState.ARCHIVED)),
    Event.RENEW: dict.fromkeys((False, True), Outcome(RecordState.ACQUIRED)),
    Event.LOCK_EXPIRED: {False: Outcome(RecordState.AVAILABLE), True: Outcome(RecordState.ARCHIVED)},
    # The delivery counts: the record may be what made the member fail.
    Event.SESSION_CLOSED: {False: Outcome(RecordState.AVAILABLE), True: Outcome(RecordState.ARCHIVED)},
}
"""The outcome of an event for an acquired record, by whether its delivery count has reached the limit."""
