"""The choice of records for one acquisition: where it ends, and what is delivered in smaller portions.

A record that makes members fail takes all records delivered with it along: their counts rise together. So
records that were delivered often go out in ever smaller portions, and one on its last try goes out alone.
Source: KIP-932 (limits), KIP-1206 (record limit), Kafka 4.3's SharePartition (bad records).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from groups.share.states import AtLimit, Event, Outcome, outcome_of

SUSPECT_COUNT_MIN: Final = 2
"""No record is suspect before so many deliveries.  Source: Kafka's SharePartition."""


class AcquireMode(IntEnum):
    """The meaning of a request's record limit; the numbers are those of the requests."""

    BATCH_OPTIMIZED = 0
    """The batch of the log in which the limit is reached is acquired to its end."""

    RECORD_LIMIT = 1
    """The limit is exact."""


class Wish(NamedTuple):
    """The wish of one fetch."""

    member_id: str
    max_records: int
    """1 or more."""
    batch_size: int
    """The best number of records in one range of the answer."""
    mode: AcquireMode
    priority: int | None = None
    """The only class that is wished for; None: any, also what was not looked at before."""


class Limits(NamedTuple):
    """The settings of a group that bound its deliveries."""

    lock_ms: int = 30_000
    delivery_count_max: int = 5
    in_flight_max: int = 2_000
    """The records between the start and the end of a share-partition; a whole batch may exceed it."""
    at_limit: AtLimit = AtLimit.DROP
    """The fate of records that are given up."""
    in_flight_bytes_max: int = 0
    """The bytes of a share-partition's acquired records; one record may exceed it.  0: any number."""
    avoid_last_ms: int = 0
    """The time for which a record that is given back goes to other members than the last."""

    @property
    def suspect_count(self) -> int:
        """The number of deliveries from which on a record goes out in smaller portions."""
        return max(SUSPECT_COUNT_MIN, (self.delivery_count_max + 1) // 2)

    def outcome(self, event: Event, delivery_count: int) -> Outcome:
        """Return what becomes of a record, delivered so often, with which this has happened."""
        is_last = delivery_count >= self.delivery_count_max
        return outcome_of(event, is_last=is_last, at_limit=self.at_limit)


class Portion:
    """The records that one acquisition may still take."""

    __slots__ = ("_limits", "_wish", "is_full", "may_exceed", "rest", "room_bytes", "taken")

    def __init__(self, wish: Wish, limits: Limits) -> None:
        self._wish = wish
        self._limits = limits
        self.rest = wish.max_records
        self.taken = 0
        self.is_full = False
        # The bytes that may still be under way; None: any number.
        self.room_bytes: int | None = None
        # One record may exceed them: none is under way.
        self.may_exceed = False

    def take(self, count: int, delivered: int, record_bytes: int = 0) -> int:
        """Return how many of `count` records in a row, delivered so often before, may be acquired.

        `record_bytes` is the mean size of a record, if there is a limit of bytes.
        """
        if self.is_full:
            return 0
        allowed = count
        if self._wish.mode == AcquireMode.RECORD_LIMIT:
            allowed = min(count, self.rest)
        suspect_from = self._limits.suspect_count
        if delivered >= suspect_from:
            self.is_full = True
            allowed = min(allowed, self._portion(delivered, suspect_from))
        if self.room_bytes is not None and record_bytes:
            fitting = max(self.room_bytes, 0) // record_bytes
            if not fitting and self.may_exceed and not self.taken:
                fitting = 1
            if fitting < allowed:
                self.is_full = True
                allowed = fitting
            self.room_bytes -= allowed * record_bytes
        self.taken += allowed
        self.rest -= allowed
        if self._wish.mode == AcquireMode.RECORD_LIMIT and self.rest <= 0:
            self.is_full = True
        return allowed

    def _portion(self, delivered: int, suspect_from: int) -> int:
        limit = self._limits.delivery_count_max
        if limit > SUSPECT_COUNT_MIN and delivered >= limit - 1:
            return 0 if self.taken else 1
        return max(1, self._wish.batch_size >> (delivered - suspect_from + 1))

    def end_of_batch(self) -> None:
        """Stop here if the limit is reached: the rest of the log's batch has been acquired."""
        if self.rest <= 0:
            self.is_full = True
