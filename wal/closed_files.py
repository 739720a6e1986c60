"""The closed segments of a log as files: when each was closed, and what of each stream is still read there.

A segment is closed when its successor is made, and the successor's header says when that was. So the times
survive a restart, and nothing is written for them. The time of day in it lags after the server was down for
long (broker/loop/clock.py), which is why there are two more times by which to judge a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from wal.format import COPIES_BIT, FIRST_FRAME_POSITION, decode_segment_start
from wal.locate import index_of
from wal.segment import Segment
from wal.state import LogState


class ClosedFile(NamedTuple):
    """A closed segment; the newest segment of a log is not among them, even if nothing more fits into it."""

    base_version: int
    next_version: int
    closed_ms: int | None
    """The time of day at which it was closed; None if no header of its successor can be read."""
    max_timestamp: int
    """The largest timestamp of its records; negative without any."""
    closed_here_ms: int | None = None
    """The moment at which this process closed it, by the clock that never jumps; None if another did."""

    def age_ms(self, *, wall_ms: int, now_ms: int) -> int | None:
        """Return the least time for which it can have been closed; None if that is not known."""
        if self.closed_ms is None:
            return None
        since = [wall_ms - self.closed_ms]
        if self.max_timestamp <= wall_ms:
            since.append(wall_ms - self.max_timestamp)
        if self.closed_here_ms is not None:
            since.append(now_ms - self.closed_here_ms)
        return min(since)


def closed_files(state: LogState, from_version: int) -> Iterator[ClosedFile]:
    """Yield the closed files that begin at or after a version, oldest first.

    Raises: DiskError.
    """
    first = max(state.segments.row_of(from_version), 0)
    for segment, successor in pairwise(state.segments.all[first:]):
        if segment.base_version >= from_version and segment.sealed and not segment.retired:
            yield ClosedFile(
                segment.base_version,
                segment.next_version,
                created_ms(state, successor),
                segment.totals.max_timestamp,
                successor.made_ms,
            )


def created_ms(state: LogState, segment: Segment) -> int | None:
    """Return the time of day at which a segment was made; it is read from its header once."""
    if segment.created_ms is None:
        start = segment.open_shared(state.disk).file.read_at(0, FIRST_FRAME_POSITION)
        header, _ = decode_segment_start(start)
        segment.created_ms = header.created_ms if header is not None else None
    return segment.created_ms


def ends_in(state: LogState, base_version: int) -> list[tuple[int, int]]:
    """Return the streams with batches that are still read from a segment, and the end of each of them there.

    Copies made by compaction are not counted: they go with the log start of their stream.
    Raises: IndexRebuilding, DiskError.
    """
    row = state.segments.row_of(base_version)
    if row < 0 or state.segments.all[row].base_version != base_version:
        return []
    index = index_of(state, state.segments.all[row])
    found = []
    for stream_id in index.stream_ids():
        stream = state.streams.get(stream_id) if stream_id < COPIES_BIT else None
        offsets = index.range_of(stream_id) if stream is not None else None
        if stream is not None and offsets is not None and stream.data_start < offsets[1]:
            found.append((stream_id, offsets[1]))
    return found
