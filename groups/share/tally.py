"""Figures of a share-partition, kept while its ranges change: these can be 10,000, and every request asks.

A range is added when it comes, and removed before it changes or goes: both cost the same, however many
there are.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush
from itertools import islice

from groups.share.record_range import Range
from groups.share.states import FINISHED, RecordState


class _Hand:
    """The records that one member has."""

    __slots__ = ("count", "firsts")

    def __init__(self) -> None:
        self.count = 0
        # The first offsets of its ranges, in the order in which they came.
        self.firsts: dict[int, None] = {}


class Tally:
    """The figures of all ranges that were added and not removed."""

    __slots__ = ("_due", "_hands", "_moments", "finished", "in_flight_bytes")

    def __init__(self) -> None:
        self.finished = 0
        """The offsets that are not delivered again."""
        self.in_flight_bytes = 0
        """The bytes of acquired records, as far as they count."""
        self._hands: dict[str, _Hand] = {}
        # The first offsets of settled ranges, by the moment until which they are locked or kept for later;
        # the moments, each once, are in the heap, those included of which no range is left.
        self._due: dict[int, dict[int, None]] = {}
        self._moments: list[int] = []

    def add(self, part: Range) -> None:
        """Count a range."""
        facts, first = part.facts, part.first
        if facts.state is RecordState.ACQUIRED:
            count = part.last - first + 1
            self.in_flight_bytes += count * facts.record_bytes
            hand = self._hands.get(facts.member_id)
            if hand is None:
                hand = self._hands[facts.member_id] = _Hand()
            hand.count += count
            hand.firsts[first] = None
        elif facts.state in FINISHED:
            self.finished += part.last - first + 1
        if facts.lock_until_ms and part.change is None:
            self.add_lock(part)

    def add_lock(self, part: Range) -> None:
        """Note the moment of a range, which has become settled."""
        moment_ms = part.facts.lock_until_ms
        firsts = self._due.get(moment_ms)
        if firsts is None:
            firsts = self._due[moment_ms] = {}
            heappush(self._moments, moment_ms)
        firsts[part.first] = None

    def remove(self, part: Range) -> None:
        """Count a range no longer."""
        facts, first = part.facts, part.first
        if facts.state is RecordState.ACQUIRED:
            count = part.last - first + 1
            self.in_flight_bytes -= count * facts.record_bytes
            hand = self._hands[facts.member_id]
            hand.count -= count
            del hand.firsts[first]
            if not hand.count:
                del self._hands[facts.member_id]
        elif facts.state in FINISHED:
            self.finished -= part.last - first + 1
        if facts.lock_until_ms and part.change is None:
            # It may have been taken already.
            self._due.get(facts.lock_until_ms, {}).pop(first, None)

    def count_of(self, member_id: str) -> int:
        """Return the number of records that a member has."""
        hand = self._hands.get(member_id)
        return 0 if hand is None else hand.count

    def firsts_of(self, member_ids: Collection[str], count_max: int | None = None) -> list[int]:
        """Return the first offsets of members' ranges in order, or those of some ranges of each."""
        hands = [self._hands[member_id] for member_id in member_ids if member_id in self._hands]
        return sorted(first for hand in hands for first in islice(hand.firsts, count_max))

    def next_due(self) -> int | None:
        """Return the first moment of a settled range."""
        while self._moments:
            moment_ms = self._moments[0]
            if self._due[moment_ms]:
                return moment_ms
            del self._due[heappop(self._moments)]
        return None

    def take_due(self, now_ms: int, count_max: int) -> list[int]:
        """Return the first offsets of ranges whose moment has come, in order, and forget their moments.

        There may be more than are returned; the caller changes those that are.
        """
        taken: list[int] = []
        while len(taken) < count_max:
            moment_ms = self.next_due()
            if moment_ms is None or moment_ms > now_ms:
                break
            firsts = self._due[moment_ms]
            some = list(islice(firsts, count_max - len(taken)))
            for first in some:
                del firsts[first]
            taken += some
        return sorted(taken)
