"""The first record of a share-partition that a member may have, without going over all ranges at every look.

Every fetch looks at every partition of its session, when it comes and when it is woken; the ranges between
start and end can be thousands. So some things are remembered:

    from      no record before it is available, unless one is told of by `lower`
    the last answer, until something changes or the first moment comes for which a record was kept
"""

from __future__ import annotations

from typing import NamedTuple

from groups.share.ranges import Ranges
from groups.share.record_range import Change
from groups.share.states import RecordState


class _Answer(NamedTuple):
    """An answer that holds for every member until a moment; None: as long as nothing changes."""

    offset: int
    until_ms: int | None


class FirstFree:
    """The first available record; whatever changes the ranges has to tell it."""

    __slots__ = ("_answer", "_from", "_ranges")

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._from = ranges.start
        self._answer: _Answer | None = None

    def changed(self) -> None:
        """Note that what is available is about to change, but that nothing becomes so that was not."""
        self._answer = None

    def lower(self, offset: int) -> None:
        """Note that records from this one on may become available."""
        self.changed()
        self._from = min(self._from, offset)

    def settled(self, change: Change) -> None:
        """Note that a change counts: it may have made records available."""
        first = next((part.first for part in change.ranges if part.state is RecordState.AVAILABLE), None)
        if first is not None:
            self.lower(first)

    def best(self, member_id: str, now_ms: int) -> tuple[int, int] | None:
        """Return the largest class of the records that a member may have, and the first of these."""
        found: tuple[int, int] | None = None
        for part in self._ranges:
            is_better = found is None or part.facts.priority > found[0]
            if is_better and part.is_settled and part.facts.is_free(member_id, now_ms):
                found = part.facts.priority, part.first
        return found

    def find(self, member_id: str, now_ms: int) -> int:
        """Return the first offset that a member may have, the end if there is none."""
        answer = self._answer
        if answer is not None and (answer.until_ms is None or now_ms < answer.until_ms):
            return answer.offset
        ranges = self._ranges
        offset, until_ms, is_for_all, is_first = ranges.end, None, True, True
        for part in ranges.beginning(self._from):
            facts = part.facts
            if part.change is not None or facts.state != RecordState.AVAILABLE:
                continue
            if is_first:
                self._from, is_first = part.first, False
            if facts.is_free(member_id, now_ms):
                # It may be kept from another member.
                is_for_all = is_for_all and facts.lock_until_ms <= now_ms
                offset = part.first
                break
            is_for_all = is_for_all and not facts.member_id
            until_ms = facts.lock_until_ms if until_ms is None else min(until_ms, facts.lock_until_ms)
        if is_first:
            self._from = ranges.end
        self._answer = _Answer(offset, until_ms) if is_for_all else None
        return offset
