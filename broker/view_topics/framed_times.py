"""Lookups by time in views over a database: frames are asked by their times, and their batches looked into.

A frame is read in a thread unless it is in memory, and a batch is opened and shown in slices, as a fetch does
it: what must be walked may be the whole log, if no batch keeps what the times of its frame promise.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING

from broker.loop.slices import Offload, Until, WaitingSteps, chunks, in_thread
from broker.storage.timestamps import Hits, newest_of
from broker.view_topics.opening import with_opened
from broker.view_topics.rooms import FramesRoom
from broker.view_topics.scanned_view import ScannedPartition
from protocol.records import read_batch_header
from wal.format import EntryKind
from wal.lookup import TimeHit
from wal.versions import FrameRef, VersionedEntry, frame_entries

if TYPE_CHECKING:
    from broker.view_topics.stream_owners import StreamOwners
    from views.opening import Opened


class FramedTimes(ScannedPartition):
    """The lookups by time of a view whose offsets are versions."""

    __slots__ = ("_owners", "_shows_records")

    _owners: StreamOwners
    _shows_records: bool

    def bytes_of(self, frame: FrameRef) -> Generator[Until, None, bytes]:
        """Return the bytes of a frame; a thread reads those that have to come from the device."""
        data = frame.read_if_cached()
        if data is None:
            data = yield from in_thread(self.host.loop.scheduler.offload, frame.read)
        return data

    def shown_steps(
        self, entry: VersionedEntry, content: Opened | None
    ) -> Generator[None, None, bytearray | None]:
        """Return the part of an entry that the view shows, but for what records tell of sub-tables."""
        raise NotImplementedError

    def prepare(self, entry: VersionedEntry) -> WaitingSteps:
        """Do what takes long before an entry can be shown."""
        yield from ()

    def time_steps(
        self, timestamp_ms: int, *, from_offset: int, offload: Offload
    ) -> Generator[Until | None, None, TimeHit | None]:
        """Return the first batch from a version on with a record at or after the time."""
        end = self.high_watermark
        frame = yield from self._first_frame(timestamp_ms, from_offset)
        while frame is not None and frame.base_version < end:
            for hit in self._hits_in(frame, from_offset, end):
                if hit is None or isinstance(hit, Until):
                    yield hit
                elif hit.max_timestamp >= timestamp_ms:
                    return hit
            yield None
            frame = yield from self._first_frame(timestamp_ms, frame.next_version)
        return None

    def _hits_in(self, frame: FrameRef, first: int, end: int) -> Iterator[TimeHit | Until | None]:
        """Read a frame; yield the batches between two versions that the view shows, and pauses."""
        room = self.host.shared(FramesRoom)
        yield from room.enter()
        try:
            data = yield from self.bytes_of(frame)
            for entry in frame_entries(frame, data):
                next_version = entry.version + entry.record_count
                if entry.kind != EntryKind.DATA or next_version <= first or entry.version >= end:
                    continue
                batch = yield from self._shown_for_time(entry)
                if batch is not None:
                    newest = read_batch_header(batch).max_timestamp
                    yield TimeHit(entry.version, next_version, newest, memoryview(batch))
        finally:
            room.leave()

    def _shown_for_time(self, entry: VersionedEntry) -> WaitingSteps:
        if self._owners.find(entry.stream_id) is None:
            return None
        yield from self.prepare(entry)
        return (yield from with_opened(self.host, memoryview(entry.data), partial(self.shown_steps, entry)))

    def _first_frame(self, timestamp_ms: int, from_version: int) -> Generator[None, None, FrameRef | None]:
        if not self._shows_records:
            return None
        return (yield from self.vnode.log.first_frame_since(self._owners.owns, timestamp_ms, from_version))

    def newest_steps(self, offload: Offload) -> Generator[Until | None, None, TimeHit | None]:
        """Return the first batch with the largest timestamp that the view shows."""
        log = self.vnode.log
        times: list[int] = []
        for streams in chunks(list(log.streams())):
            found = [log.largest_timestamp(number) for number in streams if self._owners.owns(number)]
            times += (time for time in found if time is not None)
            yield None
        if not times:
            return None
        hit = yield from self.time_steps(max(times), from_offset=self.log_start, offload=offload)
        if hit is not None:
            return hit
        # The newest record may be undecided or aborted.
        return (yield from newest_of(self.hits_by_time(self.log_start, self.high_watermark)))

    def hits_by_time(self, first: int, end: int) -> Hits:
        """Yield (timestamp, batch) shown from `first` up to `end`, by the frames' largest timestamps.

        The timestamps descend, and no batch is newer than its own.
        """
        if not self._shows_records:
            return
        for found in self.vnode.log.newest_frames(self._owners.owns, first, end):
            yield None
            if found is None:
                continue
            timestamp, frame = found
            for hit in self._hits_in(frame, first, end):
                yield (timestamp, hit) if isinstance(hit, TimeHit) else hit
