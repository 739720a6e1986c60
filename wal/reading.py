"""Reading a vnode's log: offsets, batches, times and versions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import islice

from wal.closed_files import ClosedFile, closed_files, ends_in
from wal.errors import LogDamaged
from wal.ledgers import Ledgers
from wal.log_view import LogView
from wal.lookup import (
    StreamExtent,
    bytes_between,
    stream_extents,
)
from wal.named_producers import NamedProducers
from wal.newest_frames import NewestFrame
from wal.producers import StreamProducers
from wal.reader import ReadResult, read
from wal.stream import LOG_STREAM, StreamIds
from wal.time_reading import TimeReading
from wal.versions import (
    FrameRef,
    VersionedEntry,
    end_of_frames_with,
    extent_version,
    first_frame_since,
    frames_from,
    newest_frames,
    offset_at_version,
    read_versions,
    version_of,
)


class LogReading(TimeReading):
    """The reading half of `VnodeLog`: only visible records, except in `next_offset` and `producers`."""

    def next_offset(self, stream_id: int) -> int:
        """Return the stream's log end, the offset of the next batch; 0 for an unknown stream."""
        stream = self._state.streams.get(stream_id)
        return stream.next_offset if stream is not None else 0

    def high_watermark(self, stream_id: int) -> int:
        """Return the offset after the last visible record."""
        hidden, stream = self._state.hidden, self._state.streams.get(stream_id)
        if stream is None:
            return 0
        if hidden is not None and stream_id in hidden.starts:
            return max(stream.log_start, hidden.starts[stream_id])
        return stream.high_watermark

    def counted_end(self, stream_id: int) -> int:
        """Return the same with the records of an earlier process that are not shown yet."""
        stream = self._state.streams.get(stream_id)
        return stream.high_watermark if stream is not None else 0

    def log_start(self, stream_id: int) -> int:
        """Return the first offset that may be read."""
        stream = self._state.streams.get(stream_id)
        return stream.log_start if stream is not None else 0

    def streams(self) -> StreamIds:
        """Return the ids of the streams that the log knows."""
        return StreamIds(self._state.streams)

    @property
    def stream_count(self) -> int:
        """The number of streams, with those of copies."""
        return len(self._state.streams)

    def stream_size_bytes(self, stream_id: int) -> int:
        """Return the size in bytes of the stream's visible batches."""
        stream = self._state.streams.get(stream_id)
        return stream.size_bytes if stream is not None else 0

    def forgets_producers(self, stream_id: int) -> bool:
        """Whether producers of a stream may have been forgotten so that others could be remembered."""
        return self._state.producers.is_full(stream_id)

    @property
    def producers_bytes(self) -> int:
        """The memory of the producers of all streams."""
        return self._state.producers.size_bytes

    @property
    def producers_forgotten(self) -> int:
        """The producers that were forgotten so far for lack of memory."""
        return self._state.producers.forgotten

    @property
    def has_aborted_room(self) -> bool:
        """Whether there is memory for more aborted transactions, which stay as long as their records."""
        producers = self._state.producers
        return producers.aborted_bytes < producers.aborted_bytes_max

    @property
    def aborted_bytes(self) -> int:
        """The memory of aborted transactions."""
        return self._state.producers.aborted_bytes

    def producers(self, stream_id: int) -> StreamProducers:
        """Return the stream's producers and transactions, for the check of a batch."""
        return self._state.producers.of(stream_id)

    def producer_count(self, stream_id: int) -> int:
        """Return the number of producers that are known in a stream."""
        return len(self._state.producers.of(stream_id).states)

    def hanging_streams(self, since_ms: int) -> Generator[None, None, int]:
        """Return in steps how many streams have a transaction open, and nothing was written since then."""
        return self._state.producers.hanging_streams(since_ms)

    def largest_producer_id(self, below: int) -> int:
        """Return the largest id less than `below` of a producer that a stream remembers; -1 without any."""
        return self._state.producers.largest_id(below)

    @property
    def named_producers(self) -> NamedProducers:
        """The named producers of all streams, for the check of a batch; `append` changes them."""
        return self._state.named

    @property
    def damaged_end(self) -> LogDamaged | None:
        """The damage after which frames are not known, up to a repair: what was written last is missing."""
        return self._state.damage

    def leader_epoch(self, stream_id: int) -> int:
        """Return the stream's leader epoch."""
        stream = self._state.streams.get(stream_id)
        return stream.leader_epoch if stream is not None else 0

    def own_epoch(self, stream_id: int) -> int:
        """Return the epoch that clients of a stream are told if the server's is smaller.

        It is that of the newest durable ledger, or if batches are not counted, the last one that was begun.
        """
        stream = self._state.streams.get(stream_id)
        if stream is None:
            return 0
        return stream.leader_epoch if stream.ledgers is None else stream.ledgers.epoch

    def largest_leader_epoch(self) -> int:
        """Return the largest leader epoch of any stream, but for those with ledgers."""
        streams = self._state.streams.values()
        return max((stream.leader_epoch for stream in streams if stream.ledgers is None), default=0)

    @property
    def history(self) -> int:
        """The leader epoch that began when the log last lost something, or was restored; 0 if never."""
        return self.leader_epoch(LOG_STREAM)

    def ledgers(self, stream_id: int) -> Ledgers | None:
        """Return a stream's ledgers, if its batches are counted; only its log may change them."""
        stream = self._state.streams.get(stream_id)
        return stream.ledgers if stream is not None else None

    def ledger_epoch(self, stream_id: int) -> int:
        """Return the id of a stream's newest durable ledger; 0 if its batches are not counted."""
        stream = self._state.streams.get(stream_id)
        return stream.ledgers.epoch if stream is not None and stream.ledgers is not None else 0

    @property
    def ledgers_begun(self) -> int:
        """The number of ledgers, of all streams, that have begun durably since the start."""
        return self._state.ledgers_begun

    def epoch_up_to(self, stream_id: int, epoch: int) -> tuple[int, int]:
        """Return the largest leader epoch of a stream up to a given one, and the offset at which it ends."""
        stream = self._state.streams.get(stream_id)
        return stream.epoch_up_to(epoch) if stream is not None else (0, 0)

    def epoch_at(self, stream_id: int, offset: int) -> int:
        """Return the leader epoch in which the record at an offset was written."""
        stream = self._state.streams.get(stream_id)
        return stream.epoch_at(offset) if stream is not None else 0

    def leader_epochs(self, stream_id: int) -> list[tuple[int, int]]:
        """Return every leader epoch of the stream with its first offset, oldest first."""
        stream = self._state.streams.get(stream_id)
        return [(0, 0), *stream.epochs] if stream is not None else [(0, 0)]

    def extents(
        self, stream_id: int, from_offset: int = 0, *, may_wait: bool = True
    ) -> Iterator[StreamExtent]:
        """Return the visible extents of a stream from the log start, or a later offset, on.

        Raises: IndexNotLoaded, without `may_wait`, where an index must be read from the disk first.
        """
        stream = self._state.streams.get(stream_id)
        if stream is None:
            return iter(())
        found = stream_extents(self._state, stream, from_offset)
        return found if may_wait else self._without_waiting(found)

    def _without_waiting(self, found: Iterator[StreamExtent]) -> Iterator[StreamExtent]:
        """Yield the same; between two of them others may read, and wait."""
        state = self._state
        while True:
            state.must_not_wait = True
            try:
                extent = next(found, None)
            finally:
                state.must_not_wait = False
            if extent is None:
                return
            yield extent

    def bytes_between(self, stream_id: int, start: int, end: int, *, may_wait: bool = True) -> int:
        """Return the total size of the extents from the one with `start` on that end at or below `end`.

        Raises: IndexNotLoaded, without `may_wait`, if an index must be read from the disk first.
        """
        state, stream = self._state, self._state.streams.get(stream_id)
        if stream is None:
            return 0
        state.must_not_wait = not may_wait
        try:
            return bytes_between(state, stream, start, end)
        finally:
            state.must_not_wait = False

    def read_versions(self, from_version: int, max_bytes: int) -> list[VersionedEntry]:
        """Return visible entries of all streams from `from_version` on, in arrival order, in whole frames."""
        return read_versions(self._state, from_version, max_bytes)

    def frames(self, from_version: int) -> Iterator[FrameRef]:
        """Return the visible data frames from the one that holds `from_version` on."""
        return frames_from(self._state, from_version)

    def newest_streams(self, from_version: int) -> list[NewestFrame] | None:
        """Return the streams of each frame from a version on, without a look at the file.

        None: there are too many frames, some are too wide, or they were written before the start.
        """
        return self._state.newest_frames.since(from_version)

    def end_of_frames_with(self, wanted: Callable[[int], bool]) -> int:
        """Return the version after the newest visible frame with records of a wanted stream."""
        return end_of_frames_with(self._state, wanted)

    def first_frame_since(
        self, wanted: Callable[[int], bool], timestamp_ms: int, from_version: int
    ) -> Generator[None, None, FrameRef | None]:
        """Return the first frame from a version on that may hold a wanted record at or after the time.

        It pauses after some streams.
        """
        return first_frame_since(self._state, wanted, timestamp_ms, from_version)

    def newest_frames(
        self, wanted: Callable[[int], bool], first: int, end: int
    ) -> Iterator[tuple[int, FrameRef] | None]:
        """Return the frames with versions from `first` up to `end`, by the newest of their wanted records.

        None is a pause.
        """
        return newest_frames(self._state, wanted, first, end)

    def version_of(self, stream_id: int, offset: int) -> int | None:
        """Return the version of a stream's record, None when it is no longer stored; may block."""
        stream = self._state.streams.get(stream_id)
        return version_of(self._state, stream, offset) if stream is not None else None

    def extent_version(self, stream_id: int, offset: int) -> int | None:
        """Return the version of the first record in the extent of a stream's record, from indexes alone.

        None when it is no longer stored.
        """
        stream = self._state.streams.get(stream_id)
        return extent_version(self._state, stream, offset) if stream is not None else None

    def offset_at_version(self, stream_id: int, version: int) -> int:
        """Return the first offset of a stream whose record has that version or a later one; may block.

        If only copies of compaction may be that old, it is the log start.
        """
        stream = self._state.streams.get(stream_id)
        return offset_at_version(self._state, stream, version) if stream is not None else 0

    def undecided_streams(self) -> list[int]:
        """Return the streams that may have a transaction that is open, or whose marker is not durable yet."""
        return self._state.producers.undecided_streams()

    def streams_with_producers(self) -> list[int]:
        """Return the streams that may have a transaction, as they have producers; 190,000 take 1 ms."""
        return self._state.producers.streams()

    @property
    def deletions(self) -> int:
        """A number that grows whenever records are deleted, which makes copies of them elsewhere invalid.

        Compaction deletes records when the segment in which they were written is deleted.
        """
        return self._state.deletions

    def deleted_since(self, number: int) -> list[int] | None:
        """Return the streams of the deletions after so many of them; None: they are not known any more.

        Where segments were deleted, `first_version` may tell of it.
        """
        count, kept = self._state.deletions - number, self._state.deleted_in
        return list(islice(reversed(kept), count)) if count <= len(kept) else None

    @property
    def compactions(self) -> int:
        """A number that grows when compaction replaces batches of any stream."""
        return self._state.compactions

    def compaction(self, stream_id: int) -> int:
        """Return a number that grows when compaction replaces a stream's batches below its clean end.

        Copies of them elsewhere are then invalid; 0 for a stream that was never compacted.
        """
        stream = self._state.streams.get(stream_id)
        return stream.copies_id if stream is not None else 0

    def usage(self) -> tuple[int, int]:
        """Return the number of segments and the bytes written to them, without preallocated room."""
        segments = self._state.segments.all
        return len(segments), sum(segment.end_position for segment in segments)

    def closed_files(self, from_version: int = 0) -> Iterator[ClosedFile]:
        """Return the closed files of the log that begin at or after a version, oldest first; may block."""
        return closed_files(self._state, from_version)

    def ends_in(self, base_version: int) -> list[tuple[int, int]]:
        """Return the streams that still have batches in the file that begins there, and their ends in it.

        Raises: IndexRebuilding, DiskError.
        """
        return ends_in(self._state, base_version)

    def view(self) -> LogView:
        """Return what a copy of the log made now has to hold; a segment takes less than 0.1 µs."""
        state = self._state
        return LogView(
            state.durable_sequence, self.next_version, state.segments.bases(), state.remote_records
        )

    @property
    def first_version(self) -> int:
        """The version with which the oldest kept segment begins."""
        segments = self._state.segments.all
        return segments[0].base_version if segments else self._state.written_version

    @property
    def next_version(self) -> int:
        """The version after the last visible entry."""
        return self._state.written_version

    @property
    def shown_version(self) -> int:
        """The version after the last entry that readers are shown."""
        hidden = self._state.hidden
        return self.next_version if hidden is None or hidden.version is None else hidden.version

    def read(
        self,
        stream_id: int,
        offset: int,
        max_bytes: int,
        *,
        minimum_one: bool = True,
        end: int | None = None,
        may_wait: bool = True,
    ) -> ReadResult:
        """Return whole batches from the one that holds `offset` on, at most `max_bytes`, at least one.

        Batches are returned as stored (v2, CRC not checked again); the first may begin before `offset`.
        Only records below the high watermark are visible. The result may hold less than fits: it ends where
        the next read can continue at no cost. With `minimum_one` false it is empty when the first batch
        does not fit. Batches that reach beyond `end`, such as the last stable offset, are left out.
        Raises: OffsetOutOfRange below the log start or above the high watermark; LogDamaged when the batch
        was lost; IndexNotLoaded, without `may_wait`, if an index must be read from the disk first.
        Source: KIP-74 (the first batch may exceed the limit).
        """
        return read(
            self._state, stream_id, offset, max_bytes, minimum_one=minimum_one, below=end, may_wait=may_wait
        )
