"""Records of a share-partition that are given up, on their way to their dead letters.

available --give_up--> ARCHIVING, and so are records that OUTCOMES (states.py) gives up
ARCHIVING --archive--> ARCHIVED, once the letters are stored
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groups.share.ranges import Ranges
from groups.share.record_range import Change, Facts, StoredRange
from groups.share.states import Cause, RecordState

Pairs = Iterable[tuple[int, int]]
"""First and last offsets, in order."""


def give_up(ranges: Ranges, pairs: Pairs, cause: Cause) -> Change | None:
    """Let dead letters be written for what is available between pairs of offsets."""
    return _changed(ranges, pairs, RecordState.AVAILABLE, RecordState.ARCHIVING, cause.value)


def archive(ranges: Ranges, pairs: Pairs) -> Change | None:
    """Archive what is being archived between pairs of offsets."""
    return _changed(ranges, pairs, RecordState.ARCHIVING, RecordState.ARCHIVED, "")


def archiving(ranges: Ranges) -> Iterator[StoredRange]:
    """Yield what waits for its dead letters, durably."""
    for part in ranges:
        facts = part.facts
        if facts.state == RecordState.ARCHIVING and part.is_settled:
            yield StoredRange(part.first, part.last, facts.state, facts.delivery_count, facts.cause)


def _changed(
    ranges: Ranges, pairs: Pairs, before: RecordState, after: RecordState, cause: str
) -> Change | None:
    change = Change()
    for first, last in pairs:
        for part in ranges.within(first, last):
            if part.facts.state == before and part.is_settled:
                for piece in ranges.cut(max(part.first, first), min(part.last, last)):
                    facts = Facts(after, piece.facts.delivery_count, cause=cause)
                    ranges.begin(piece, facts, change)
    return change if change.ranges else None
