"""A log that is read without opening it: what is durable in it, as places in its files.

    stopped    all that a start would find, by a recovery on a disk on which nothing changes
    running    what the newest checkpoint covers: it is durable, and the server goes on writing behind it
    a copy     all that its cut leads to, in an object store (wal.remote.copy_disk)

Nothing is read but checkpoints, indexes, and the frames for which there is no index yet. The
reader of the places compares the batches with their CRCs. What has left the disk for an object store has a
place, too, in the object of its record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wal.checkpoint import load_checkpoints
from wal.disk import Disk
from wal.errors import LogDamaged, NotUsable, OffsetOutOfRange
from wal.extents import slots_from
from wal.format import FIRST_FRAME_POSITION, decode_segment_start
from wal.leftovers import adopt_records
from wal.locate import rebuild_index
from wal.options import LogOptions
from wal.read_only import ReadOnlyDisk
from wal.recovery import Recovery
from wal.remote.copy_disk import CopyDisk
from wal.remote_record import RemoteRecord
from wal.segment import Segment, base_version_of, segment_name
from wal.snapshot import restore
from wal.state import LogState
from wal.stream import Stream, StreamIds
from wal.transactions import AbortedTransaction


class Place(NamedTuple):
    """Batches of one stream that lie together in a segment."""

    base_version: int
    """The segment, by the number in its name."""
    position: int
    size_bytes: int
    base: int
    """The offset with which the first batch begins."""
    next_offset: int
    """The offset after the last batch."""
    since: int
    """Records below this offset do not count."""
    until: int
    """Nor do records from this offset on."""
    max_timestamp: int
    record: RemoteRecord | None = None
    """The object that has the segment, if it has left the disk."""


class OfflineLog:
    """A log at the moment when it was looked at; made with `open_offline`."""

    def __init__(self, state: LogState) -> None:
        self._state = state

    def streams(self) -> StreamIds:
        """Return the ids of the streams that the log knows."""
        return StreamIds(self._state.streams)

    def bounds(self, stream_id: int) -> tuple[int, int]:
        """Return the first offset of a stream, and the end of what is decided in it; (0, 0) without one."""
        stream = self._state.streams.get(stream_id)
        if stream is None:
            return 0, 0
        producers = self._state.producers.of(stream_id)
        return stream.log_start, producers.last_stable_offset(stream.high_watermark, stream.log_start)

    def places(self, stream_id: int, begin: int, end: int) -> Iterator[Place]:
        """Yield where the records with offsets in [`begin`, `end`) lie, in order.

        Raises: OffsetOutOfRange when some were removed since; LogDamaged, DiskError; RemoteReadError when an
        index of a segment in the object store is missing.
        """
        stream = self._state.streams.get(stream_id)
        reached = begin
        for found in slots_from(self._state, stream, begin) if stream is not None and begin < end else ():
            assert stream is not None
            index, base_version = found.index, found.segment.base_version
            reached = max(reached, found.data_start)
            for row in found.rows[found.place :]:
                base, next_offset = index.base[row], index.base[row] + index.count[row]
                if base >= end:
                    break
                if next_offset <= reached:
                    continue
                self._check_no_gap(stream, reached, base)
                yield Place(
                    base_version, index.position[row], index.size[row], base, next_offset, reached, end,
                    index.max_timestamp[row], found.segment.remote,
                )  # fmt: skip
                reached = next_offset
        if stream is not None:
            self._check_no_gap(stream, reached, end)

    @staticmethod
    def _check_no_gap(stream: Stream, reached: int, base: int) -> None:
        """Only compaction leaves gaps.  Raises: OffsetOutOfRange."""
        if base > max(reached, stream.clean_end):
            raise OffsetOutOfRange(stream.stream_id, reached, base, stream.high_watermark)

    def aborted(self, stream_id: int, begin: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records in [`begin`, `end`)."""
        return self._state.producers.of(stream_id).aborted_between(begin, end)


def open_offline(disk: Disk, directory: str, *, vnode_id: int, is_running: bool) -> OfflineLog:
    """Look at a log; a server has it open if `is_running`.

    Raises: LogDamaged; NotUsable when a running server has not written a checkpoint yet; DiskError.
    """
    quiet = ReadOnlyDisk(disk)
    options = LogOptions(vnode_id=vnode_id, min_free_bytes=0)
    if is_running:
        return OfflineLog(_checkpointed(quiet, directory, options))
    return _recovered(Recovery(quiet, directory, options, 0))


def open_copied(disk: CopyDisk, directory: str, *, vnode_id: int) -> OfflineLog:
    """Look at a log of a copy, of which it is known where the segments lie.

    Raises: LogDamaged, StoreError; DiskError; ObjectStoreError.
    """
    options = LogOptions(vnode_id=vnode_id, min_free_bytes=0)
    return _recovered(_CopyRecovery(disk, directory, options, 0))


def open_empty(disk: CopyDisk, directory: str, *, vnode_id: int) -> OfflineLog:
    """Return a log that has nothing: of which a copy was made before the log was."""
    state = LogState(disk, directory, LogOptions(vnode_id=vnode_id, min_free_bytes=0), 0)
    state.closed = True
    return OfflineLog(state)


class _CopyRecovery(Recovery):
    """A recovery that asks for no object of a segment whose index it has."""

    def _judge_places(self, segments: list[Segment]) -> None:
        """Do nothing: a manifest names the objects, and each was compared with its checksum."""


def _recovered(recovery: Recovery) -> OfflineLog:
    state = recovery.run()
    if state.damage is not None:
        raise state.damage
    state.closed = True  # no maintenance will make a missing index: the reader does
    return OfflineLog(state)


def _checkpointed(disk: Disk, directory: str, options: LogOptions) -> LogState:
    """Return the state that the newest checkpoint describes."""
    state = LogState(disk, directory, options, 0)
    state.closed = True
    checkpoints, _ = load_checkpoints(disk, directory)
    # Only now: a segment that the checkpoint lists was there when it was written.
    names = disk.list(directory)
    bases = sorted(base for name in names if (base := base_version_of(name)) is not None)
    if not checkpoints:
        if bases:
            raise NotUsable(
                f"{directory}: the server that has it open has not written a checkpoint yet, so it is not "
                "known from outside what is durable there: read these records from the server, or from a "
                "backup, or stop it first"
            )
        return state
    known, newest = restore(state, checkpoints[0]), -1
    present = set(bases) | adopt_records(disk, directory, names, known)
    for segment in known:
        newest = segment.base_version
        if segment.base_version in present:  # else retention has removed it since
            state.segments.add(segment)
    for base in bases:
        if base > newest:
            state.segments.add(_unsealed(disk, f"{directory}/{segment_name(base)}", base))
    return state


def _unsealed(disk: Disk, path: str, base: int) -> Segment:
    """Return a segment that the checkpoint does not list as sealed, with its index."""
    file = disk.open(path, read_only=True)
    try:
        header, _ = decode_segment_start(file.read_at(0, FIRST_FRAME_POSITION))
        if header is None:
            raise LogDamaged(path, 0, FIRST_FRAME_POSITION, "neither copy of the segment header is valid")
        segment = Segment(path, base_version=base, base_sequence=header.base_sequence, salt=header.salt)
        segment.sealed = True
        segment.index = rebuild_index(segment, file)
        return segment
    finally:
        file.close()
