"""Everything that a vnode's log tells without changing: offsets, batches, times, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wal.lookup import StreamExtent, TimeHit, find_timestamp, max_timestamp, stream_extents
from wal.producers import StreamProducers
from wal.reader import ReadResult, read
from wal.state import LogState
from wal.stream import StreamIds
from wal.versions import (
    FrameRef,
    VersionedEntry,
    end_of_frames_with,
    first_frame_since,
    frames_from,
    newest_frames,
    read_versions,
    version_of,
)


class LogReading:
    """The reading half of `VnodeLog`: shows what is visible, except `next_offset` and `producers`."""

    def __init__(self, state: LogState) -> None:
        self._state = state

    def next_offset(self, stream_id: int) -> int:
        """The stream's log end: what the next batch gets; 0 for a stream the log does not know."""
        stream = self._state.streams.get(stream_id)
        return stream.next_offset if stream is not None else 0

    def high_watermark(self, stream_id: int) -> int:
        """The offset behind the last visible record."""
        stream = self._state.streams.get(stream_id)
        return stream.high_watermark if stream is not None else 0

    def log_start(self, stream_id: int) -> int:
        """The first offset that may be read."""
        stream = self._state.streams.get(stream_id)
        return stream.log_start if stream is not None else 0

    def streams(self) -> StreamIds:
        """The ids of the streams that the log knows."""
        return StreamIds(self._state.streams)

    def stream_size_bytes(self, stream_id: int) -> int:
        """Bytes of the stream's visible batches."""
        stream = self._state.streams.get(stream_id)
        return stream.size_bytes if stream is not None else 0

    def producers(self, stream_id: int) -> StreamProducers:
        """The stream's producers and transactions, to check a batch against."""
        return self._state.producers.of(stream_id)

    def leader_epoch(self, stream_id: int) -> int:
        """The stream's leader epoch."""
        stream = self._state.streams.get(stream_id)
        return stream.leader_epoch if stream is not None else 0

    def leader_epochs(self, stream_id: int) -> list[tuple[int, int]]:
        """Every leader epoch of the stream with its first offset, oldest first."""
        stream = self._state.streams.get(stream_id)
        return [(0, 0), *stream.epochs] if stream is not None else [(0, 0)]

    def find_timestamp(self, stream_id: int, timestamp_ms: int, *, from_offset: int = 0) -> TimeHit | None:
        """The first visible batch at or after `from_offset` with a record at or after `timestamp_ms`.

        The caller looks for the record; when the only ones lie below the log start, it asks again from the
        batch's `next_offset`.
        """
        stream = self._state.streams.get(stream_id)
        return find_timestamp(self._state, stream, timestamp_ms, from_offset) if stream is not None else None

    def max_timestamp(self, stream_id: int) -> TimeHit | None:
        """The first visible batch that has the stream's largest timestamp; None when the stream is empty."""
        stream = self._state.streams.get(stream_id)
        found = max_timestamp(self._state, stream) if stream is not None else None
        return self.find_timestamp(stream_id, found[0], from_offset=found[1]) if found is not None else None

    def largest_timestamp(self, stream_id: int) -> int | None:
        """The stream's largest timestamp; None when it is empty. Reads no batch as a rule."""
        stream = self._state.streams.get(stream_id)
        found = max_timestamp(self._state, stream) if stream is not None else None
        return found[0] if found is not None else None

    def extents(self, stream_id: int, from_offset: int = 0) -> Iterator[StreamExtent]:
        """The visible extents of a stream from the log start, or a later offset, on."""
        stream = self._state.streams.get(stream_id)
        return stream_extents(self._state, stream, from_offset) if stream is not None else iter(())

    def read_versions(self, from_version: int, max_bytes: int) -> list[VersionedEntry]:
        """Visible entries of all streams from `from_version` on, in arrival order, whole frames at a time."""
        return read_versions(self._state, from_version, max_bytes)

    def frames(self, from_version: int) -> Iterator[FrameRef]:
        """The visible data frames from the one that holds `from_version` on."""
        return frames_from(self._state, from_version)

    def end_of_frames_with(self, wanted: Callable[[int], bool]) -> int:
        """The version behind the newest visible frame with records of a wanted stream."""
        return end_of_frames_with(self._state, wanted)

    def first_frame_since(
        self, wanted: Callable[[int], bool], timestamp_ms: int, from_version: int
    ) -> FrameRef | None:
        """The first frame from a version on that may hold a wanted stream's record at or after the time."""
        return first_frame_since(self._state, wanted, timestamp_ms, from_version)

    def newest_frames(
        self, wanted: Callable[[int], bool], first: int, end: int
    ) -> Iterator[tuple[int, FrameRef]]:
        """Frames with versions from `first` up to `end`, by the newest of their wanted records."""
        return newest_frames(self._state, wanted, first, end)

    def version_of(self, stream_id: int, offset: int) -> int | None:
        """The version of a stream's record, None when it is not stored any more; may block."""
        stream = self._state.streams.get(stream_id)
        return version_of(self._state, stream, offset) if stream is not None else None

    def undecided_streams(self) -> list[int]:
        """The streams in which a transaction is open, or ended with a marker that is not durable yet."""
        return self._state.producers.undecided_streams()

    @property
    def deletions(self) -> int:
        """A number that grows whenever records are deleted: what was kept of them elsewhere is void then."""
        return self._state.deletions

    def usage(self) -> tuple[int, int]:
        """How many segments there are, and the bytes written to them; preallocated room is not counted."""
        segments = self._state.segments.all
        return len(segments), sum(segment.end_position for segment in segments)

    @property
    def first_version(self) -> int:
        """The version that the oldest kept segment begins with."""
        segments = self._state.segments.all
        return segments[0].base_version if segments else self._state.written_version

    @property
    def next_version(self) -> int:
        """The version after the last visible entry."""
        return self._state.written_version

    def read(self, stream_id: int, offset: int, max_bytes: int, *, minimum_one: bool = True) -> ReadResult:
        """Return whole batches from the one that holds `offset` on, at most `max_bytes`, at least one.

        Batches are returned as stored (v2, CRC not checked again); the first may begin before `offset`. Only
        what the high watermark covers is visible. The result may hold less than fits: it ends at a place
        where going on costs nothing. With `minimum_one` false it is empty when the first batch does not fit.
        Raises: OffsetOutOfRange below the log start or above the high watermark; LogDamaged when the batch
        was lost.  Source: KIP-74 (the first batch may exceed the limit).
        """
        return read(self._state, stream_id, offset, max_bytes, minimum_one=minimum_one)
