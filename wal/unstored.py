"""The part of a log that an object store lacks, when frames count once they are there (class `remote`).

A log's files are its frames one after the other, so what the store lacks are the bytes after a place: the
rest of one segment, and those that follow it, with their headers and footers.  They are read back from the
page cache by the thread that sends them.
"""

from __future__ import annotations

from typing import NamedTuple

from wal.jobs import CommitJob
from wal.segment import Segment, SharedFile
from wal.state import LogState


class LogPlace(NamedTuple):
    """A place in a log's files: everything before it is in the store."""

    base_version: int
    """The segment; -1: before all."""
    position: int


NOTHING = LogPlace(-1, 0)


class FileSlice(NamedTuple):
    """Bytes of a segment's file."""

    base_version: int
    salt: int
    position: int
    size_bytes: int
    shared: SharedFile


def place_of(state: LogState) -> LogPlace:
    """Return where the frames end that are durable, at the least: all that count, but for durability `os`."""
    active = state.active
    if active is None:
        return NOTHING
    is_durable = state.durable_sequence == state.next_sequence
    return LogPlace(active.base_version, active.end_position if is_durable else 0)


def end_of(job: CommitJob) -> LogPlace:
    """Return where a commit ends."""
    return LogPlace(job.segment.base_version, job.position + job.size_bytes)


def slices(state: LogState, since: LogPlace, job: CommitJob | None = None) -> list[FileSlice]:
    """Return the bytes from a place to the end of a commit that is written, or of all that counts.

    It may open files.  Raises: DiskError.
    """
    newest = state.active.base_version if state.active is not None else -1
    last = job.segment.base_version if job is not None else newest + 1
    footers = [] if job is None else [job.seal, *(earlier.seal for earlier in state.unstored)]
    ends = {
        seal.segment.base_version: seal.position + len(seal.footer) for seal in footers if seal is not None
    }
    found = []
    for segment in state.segments.all:
        base = segment.base_version
        if since.base_version <= base < last and segment.remote is None:
            end = ends.get(base, segment.end_position)
            found.append(_slice(segment, since, end, segment.open_shared(state.disk)))
    if job is not None:
        assert job.file is not None
        found.append(_slice(job.segment, since, end_of(job).position, job.file))
    return [part for part in found if part.size_bytes > 0]


def _slice(segment: Segment, since: LogPlace, end: int, shared: SharedFile) -> FileSlice:
    start = since.position if segment.base_version == since.base_version else 0
    return FileSlice(segment.base_version, segment.salt, start, end - start, shared)
