"""The states of a record in a share group, and all that changes them.

                    acquire, count + 1                  accept
    AVAILABLE --------------------------> ACQUIRED ---------------------> ACKNOWLEDGED
        ^                                  |    |
        |   release, lock runs out         |    |  reject, gap,
        +--- session closes, taken over ---+    +--- or released the last time --> ARCHIVED
                                                |                                     ^
                                                |  the same but for gaps, in groups   |  its dead letter
                                                +--- with a dead-letter topic --> ARCHIVING   is stored

A record is acquired by one member for the duration of its lock; only that is not stored. A crash therefore
releases what was acquired, and takes its last delivery from the count, as Kafka does.

The code runs on OUTCOMES, and each row is tested.
Source: KIP-932, KIP-1222 (renewal), KIP-1191 (dead letters); Kafka 4.3's RecordState, InFlightState and
SharePartition.
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

    ARCHIVING = 3
    """It is not delivered again, and is archived once its dead letter is stored."""

    ARCHIVED = 4
    """It is not delivered again: rejected, delivered too often, or not there."""

    __hash__ = int.__hash__


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
    TAKEN_OVER = "the member sat idle, and another one asked"

    # Members are singletons; the hash of Enum, that of their names, is a call in Python.
    __hash__ = object.__hash__


ACKNOWLEDGEMENTS: Final[Mapping[int, Event]] = {
    0: Event.GAP,
    1: Event.ACCEPT,
    2: Event.RELEASE,
    3: Event.REJECT,
    4: Event.RENEW,
}
"""The types of acknowledgement in requests."""


class Cause(Enum):
    """The cause for which a record is given up; the value is stored, and told in its dead letter."""

    NONE = ""
    """It is not given up, or was not there."""

    REJECTED = "rejected"
    """A member has rejected it."""

    LIMIT = "limit"
    """It was delivered as often as its group allows."""

    EXPIRED = "expired"
    """It was too old before a member could have it."""


class AtLimit(Enum):
    """The fate of records that are given up: rejected, or delivered too often."""

    DROP = "drop"
    """They are archived."""

    TAIL = "tail"
    """They are archived once their dead letters are stored."""

    KEEP = "keep"
    """Rejected ones are archived; others are delivered again, however often that was."""


class Outcome(NamedTuple):
    """The state of an acquired record after an event, and why it is given up, if it is."""

    state: RecordState
    cause: Cause = Cause.NONE


_GIVEN_BACK: Final = {
    False: Outcome(RecordState.AVAILABLE),
    True: Outcome(RecordState.ARCHIVED, Cause.LIMIT),
}
OUTCOMES: Final[Mapping[Event, Mapping[bool, Outcome]]] = {
    Event.GAP: dict.fromkeys((False, True), Outcome(RecordState.ARCHIVED)),
    Event.ACCEPT: dict.fromkeys((False, True), Outcome(RecordState.ACKNOWLEDGED)),
    Event.RELEASE: _GIVEN_BACK,
    Event.REJECT: dict.fromkeys((False, True), Outcome(RecordState.ARCHIVED, Cause.REJECTED)),
    Event.RENEW: dict.fromkeys((False, True), Outcome(RecordState.ACQUIRED)),
    Event.LOCK_EXPIRED: _GIVEN_BACK,
    # The delivery counts: the record may be what made the member fail.
    Event.SESSION_CLOSED: _GIVEN_BACK,
    Event.TAKEN_OVER: _GIVEN_BACK,
}
"""The outcome of an event for an acquired record, by whether its delivery count has reached the limit."""


def outcome_of(event: Event, *, is_last: bool, at_limit: AtLimit) -> Outcome:
    """Return the outcome of an event for an acquired record, in a group with this policy.

    `is_last`: the record was delivered as often as its group allows.
    """
    found = OUTCOMES[event][is_last and at_limit != AtLimit.KEEP]
    if found.cause != Cause.NONE and at_limit == AtLimit.TAIL:
        return found._replace(state=RecordState.ARCHIVING)
    return found
