"""The search for the segment that holds an offset of a stream, with bounded memory for indexes.

Only the indexes say which segments hold a stream, so that an idle stream costs nothing. A look-up in an index
takes about a microsecond. The search is binary; at a segment without the stream it walks to the nearest older
one that has it. The segment found is remembered in the stream.
"""

from __future__ import annotations

from wal.disk import DiskError, File
from wal.errors import IndexNotLoaded, IndexRebuilding
from wal.format import FIRST_FRAME_POSITION
from wal.index import ActiveIndex, SegmentIndex
from wal.indexing import index_frame
from wal.remote_index import fetch_index, fetched_index
from wal.scan import NO_TIMESTAMP, Scan
from wal.segment import Segment
from wal.state import LogState
from wal.stream import Stream

REBUILT_AT_ONCE_BYTES = 256 << 10
"""The largest segment whose index a reader may rebuild: about 2 ms.  One of 64 MiB takes half a second."""


def index_of(state: LogState, segment: Segment) -> SegmentIndex:
    """Return the segment's index: from memory, from its `.idx`, or rebuilt from its frames.

    Raises: IndexRebuilding when that takes long and is left to maintenance; IndexNotLoaded if the read must
    not wait for the disk.
    """
    index = segment.index
    if index is None:
        if segment in state.to_rebuild:
            raise IndexRebuilding(segment.path)
        if segment.base_version in state.fetched_indexes:
            return fetched_index(state, segment)
        if state.must_not_wait:
            raise _not_loaded(state, segment)
        index = segment.load_index(state.disk)
        if index is None and segment.remote is not None:
            # A crash may have come between the removals of its files: then nothing of it is needed.
            return ActiveIndex() if segment.retired else fetched_index(state, segment)
        if index is None:
            # A log that has stopped has no maintenance; its readers must not wait for it.
            if segment.end_position > REBUILT_AT_ONCE_BYTES and state.stop() is None:
                state.to_rebuild.append(segment)
                raise IndexRebuilding(segment.path)
            index = rebuild_index(segment, segment.open_shared(state.disk).file)
            was_rebuilt(state, segment, index)
        else:
            state.index_cache.loaded(segment)
    return index


def _not_loaded(state: LogState, segment: Segment) -> IndexNotLoaded:
    found: list[SegmentIndex] = []

    def load() -> None:
        try:
            index = segment.read_index(state.disk)
        except DiskError:
            return  # the read that follows, which may wait, says what is wrong
        if index is not None:
            found.append(index)

    def adopt() -> bool:
        if found and segment.index is None:
            segment.index = found[0]
            state.index_cache.loaded(segment)
        if segment.index is None and segment.remote is not None and not segment.retired:
            # Then the next try waits for the object store, and not for the disk.
            fetch_index(state, segment)
            return True
        return segment.index is not None

    return IndexNotLoaded(segment.path, load, adopt)


def was_rebuilt(state: LogState, segment: Segment, index: ActiveIndex) -> None:
    """Use an index that was made again; it is stored by maintenance."""
    segment.index = index
    segment.index_stored = False
    state.unindexed = True
    state.index_cache.loaded(segment)


def rebuild_index(segment: Segment, file: File) -> ActiveIndex:
    """Build a segment's index from the headers and tables of its frames."""
    index = ActiveIndex()
    start, sequence = FIRST_FRAME_POSITION, segment.base_sequence
    for frame in Scan(file, seed=segment.seed, position=start, sequence=sequence, skim=True):
        index_frame(index, frame)
    index.trust_nothing()
    return index


def locate(state: LogState, stream: Stream, offset: int) -> Segment | None:
    """Return the segment whose extents hold `offset`, or the next one with the stream when none does."""
    segments = state.segments.all
    stream_id = stream.stream_id
    if not segments:
        return None
    newest = index_of(state, segments[-1]).range_of(stream_id)
    if newest is not None and newest[0] <= offset:
        return segments[-1]
    hinted = state.segments.row_of(stream.segment_hint)
    low, high = 0, len(segments) - 1
    for row in (hinted, hinted + 1):
        if 0 <= row < high:
            found = index_of(state, segments[row]).range_of(stream_id)
            if found is not None and found[0] <= offset < found[1]:
                return _remember(stream, segments[row])
    best = len(segments) - 1 if newest is not None else -1
    while low < high:
        middle = (low + high) // 2
        found, row = _nearest(state, stream_id, middle, low)
        if found is None:
            low = middle + 1
        elif offset < found[0]:
            best, high = row, row
        elif offset < found[1]:
            return _remember(stream, segments[row])
        else:
            low = middle + 1
    return segments[best] if best >= 0 else None


def _nearest(state: LogState, stream_id: int, row: int, low: int) -> tuple[tuple[int, int] | None, int]:
    """Return the stream's offsets in the newest segment of rows [low, row] that has it, and that row."""
    while row >= low:
        found = index_of(state, state.segments.all[row]).range_of(stream_id)
        if found is not None:
            return found, row
        row -= 1
    return None, -1


def _remember(stream: Stream, segment: Segment) -> Segment:
    stream.segment_hint = segment.base_version
    return segment


def next_with(
    state: LogState, stream_id: int, segment: Segment, *, since_ms: int = NO_TIMESTAMP
) -> Segment | None:
    """Return the next segment after `segment` that has data of the stream.

    Segments without any record at or after the time `since_ms` are passed over unseen.
    """
    segments = state.segments.all
    for row in range(state.segments.row_of(segment.base_version) + 1, len(segments)):
        if segments[row].totals.max_timestamp < since_ms:
            continue
        if index_of(state, segments[row]).slots(stream_id):
            return segments[row]
    return None
