"""The search for segments that no stream needs any more, a few indexes at a time."""

from __future__ import annotations

from wal.locate import index_of
from wal.segment import Segment
from wal.state import LogState

INDEXES_PER_CALL = 8
"""Indexes that one call opens: 1 to 2 ms each for 64 MiB of small batches."""

NOWHERE = -1


class RetirableSearch:
    """A search through the segments of a log, oldest first, which goes on where the last call stopped."""

    def __init__(self, state: LogState) -> None:
        self._state = state
        self._examined = NOWHERE
        """The base version of the last segment examined; NOWHERE when the search is over."""

    def next_segments(self) -> list[Segment]:
        """Return the retirable ones of the next segments; an index in memory costs next to nothing."""
        found, opened = [], 0
        after, self._examined = self._examined, NOWHERE
        for segment in self._state.segments.all:
            if segment.base_version <= after:
                continue
            if segment.index is None and not _is_blocked(self._state, segment):
                if opened == INDEXES_PER_CALL:
                    self._examined = after
                    break
                opened += 1
            after = segment.base_version
            if retirable(self._state, segment):
                found.append(segment)
        return found

    @property
    def goes_on(self) -> bool:
        """Whether the last call stopped before the newest segment."""
        return self._examined != NOWHERE


def retirable(state: LogState, segment: Segment) -> bool:
    """Return whether no live stream has data at or above its log start in the segment."""
    if not segment.sealed or segment.retired:
        return False
    if _is_blocked(state, segment):
        return False
    index = index_of(state, segment)
    for stream_id in index.stream_ids():
        offsets = index.range_of(stream_id) if stream_id in state.streams else None
        if offsets is not None and _needs(state, stream_id, offsets[1]):
            segment.blocker = stream_id, offsets[1]
            return False
    return True


def note_blocker(state: LogState, segment: Segment) -> None:
    """Find out what needs a segment while its index is in memory, so that it need not be loaded for that."""
    if segment.index is not None:
        retirable(state, segment)


def _is_blocked(state: LogState, segment: Segment) -> bool:
    """Return whether the stream that was found to need the segment still does."""
    return segment.blocker is not None and _needs(state, *segment.blocker)


def _needs(state: LogState, stream_id: int, end_offset: int) -> bool:
    """Whether the stream has data below `end_offset`, where its extents in the segment end."""
    stream = state.streams.get(stream_id)
    return stream is not None and stream.data_start < end_offset
