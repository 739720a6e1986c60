"""The write-ahead logs: vnodes by Kawal's own request, segments and frames by the heads in their files.

The files are read by the console of a gateway alone, which runs on its machine: beside the server, without a
lock, and only below the directories that the broker names to this user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from console.admin import ask, check
from console.database_admin import NO_SUCH_DATABASE, do, found
from console.errors import CommandError
from console.partition_offsets import Place
from console.wal_places import segment_paths
from console.wal_views import frame_tree, summary_tree
from console.web.errors import PageError
from console.web.log_keepers import Lasts, keepers_of, noting, owners_in, starts_of
from console.wire import NotKawal
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.kawal_databases import DatabaseAction, VnodeState
from wal.checkpoint import load_checkpoints, load_witness
from wal.disk import Disk, OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.inspect import FrameView, frames
from wal.segment import base_version_of

LOG_DIRS_VERSION: Final = 4
FRAMES_MAX: Final = 200_000
"""Frames of a segment that are looked at: its heads are read one by one."""
SEGMENTS_MAX: Final = 200
"""Segments of a log that are summed up, the newest; the others have a name alone."""

DISK: Disk = OsDisk()


class VnodeRow(NamedTuple):
    """A vnode's log."""

    database: str
    vnode: str
    state: str
    first_version: int
    next_version: int
    size_bytes: int
    streams: int


class LogDir(NamedTuple):
    """A directory of a broker; sizes of its disk are None where it does not tell."""

    path: str
    total_bytes: int | None
    usable_bytes: int | None


class SegmentRow(NamedTuple):
    """A segment; numbers are None where it was not looked at."""

    segment: str
    size_bytes: int
    frames: int | None = None
    entries: int | None = None
    records: int | None = None
    streams: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    problem: str = ""
    kept_by: str = ""
    """One of the partitions that keep it, by topic and number."""
    keepers: int | None = None
    """Their number."""
    unknown_keepers: int = 0
    """Streams of which it is not known whether they keep it."""


class LogFacts(NamedTuple):
    """A vnode's log as its files tell."""

    directory: str
    segments: list[SegmentRow]
    """The newest first."""
    synced_sequence: int | None
    """Frames below this sequence were synced when the witness was written."""
    checkpoint_sequence: int | None
    """The first frame that the newest checkpoint does not cover."""
    frames_a_sync: float | None


def log_dirs_of(bootstrap: str) -> list[LogDir]:
    """Return the directories of a broker.  Raises: CommandError."""
    answer = ask(bootstrap, DescribeLogDirsRequest(topics=[]), LOG_DIRS_VERSION)
    check(answer.error_code, None, "the log directories")
    rows = []
    for result in answer.results:
        check(result.error_code, None, f"log directory {result.log_dir!r}")
        sizes = (size if size >= 0 else None for size in (result.total_bytes, result.usable_bytes))
        rows.append(LogDir(result.log_dir, *sizes))
    return rows


def vnodes_of(bootstrap: str, names: list[str] | None) -> list[VnodeRow] | None:
    """Return the vnodes of databases (None: of all); None where there are none.  Raises: CommandError."""
    try:
        results = found(do(bootstrap, DatabaseAction.DESCRIBE, names))
    except NotKawal:
        return None
    return [
        VnodeRow(
            result.name,
            _short(state),
            state.state,
            state.first_version,
            state.next_version,
            state.size_bytes,
            state.stream_count,
        )
        for result in results
        for state in result.vnode_states
    ]


def _short(state: VnodeState) -> str:
    return state.name.rpartition("/")[2]


def directory_of(bootstrap: str, database: str, vnode: str) -> str:
    """Return the directory of a vnode as the broker names it.  Raises: PageError, CommandError."""
    try:
        results = do(bootstrap, DatabaseAction.DESCRIBE, [database])
    except NotKawal as error:
        raise PageError(404, "this broker has no write-ahead log of Kawal's") from error
    if results[0].error_code == NO_SUCH_DATABASE:
        raise PageError(404, f"there is no database {database!r}")
    (result,) = found(results)
    if vnode not in map(_short, result.vnode_states):
        raise PageError(404, f"database {database!r} has no vnode {vnode!r}")
    (place,) = log_dirs_of(bootstrap)
    return f"{place.path}/{result.directory}/{vnode}"


def log_facts(bootstrap: str, database: str, vnode: str) -> LogFacts:
    """Return what the files of a vnode tell.  Raises: PageError, CommandError."""
    directory = directory_of(bootstrap, database, vnode)
    (place,) = log_dirs_of(bootstrap)
    try:
        paths = segment_paths(DISK, directory)[::-1]
        witness = load_witness(DISK, directory)
        checkpoints, _ = load_checkpoints(DISK, directory)
        summed = [_segment(path, read=number < SEGMENTS_MAX) for number, path in enumerate(paths)]
        owners = owners_in(DISK, place.path)
    except (DiskError, StoreError) as error:
        raise PageError(404, f"the files of {database}/{vnode} cannot be read here: {error}") from error
    segments = _with_keepers(bootstrap, summed, owners)
    known = [row for row in segments if row.frames]
    total = sum(row.frames or 0 for row in known)
    return LogFacts(
        directory,
        segments,
        None if witness is None else witness.durable_sequence,
        checkpoints[0].sequence if checkpoints else None,
        round(sum(row.entries or 0 for row in known) / total, 1) if total else None,
    )


def _with_keepers(
    bootstrap: str, summed: list[tuple[SegmentRow, Lasts]], owners: Mapping[int, Place]
) -> list[SegmentRow]:
    """Add what keeps each segment.  Raises: CommandError."""
    streams = {stream for _, lasts in summed for stream in lasts}
    starts = starts_of(bootstrap, (owners[stream] for stream in streams if stream in owners))
    rows = []
    for row, lasts in summed:
        if row.frames is not None:
            first, count, unknown = keepers_of(lasts, owners, starts)
            row = row._replace(kept_by=first, keepers=count, unknown_keepers=unknown)
        rows.append(row)
    return rows


def _segment(path: str, *, read: bool) -> tuple[SegmentRow, Lasts]:
    """Return a segment and the last offsets in it, both as far as it is read."""
    lasts: Lasts = {}
    name = path.rpartition("/")[2]
    file = DISK.open(path, read_only=True)
    try:
        size_bytes = file.size()
    finally:
        file.close()
    if not read:
        return SegmentRow(name, size_bytes, problem="not looked at"), lasts
    try:
        tree: dict[str, Any] = summary_tree(path, noting(islice(frames(DISK, path), FRAMES_MAX), lasts))
    except ValueError as error:  # not a segment
        return SegmentRow(name, size_bytes, problem=str(error)), lasts
    more = f"only the first {FRAMES_MAX} frames were looked at" if tree["frames"] == FRAMES_MAX else ""
    row = SegmentRow(
        name,
        size_bytes,
        frames=tree["frames"],
        entries=tree["entries"],
        records=tree["records"],
        streams=tree["streams"],
        first_ms=tree.get("first_ms"),
        last_ms=tree.get("last_ms"),
        problem=more,
    )
    return row, lasts


def frames_of(
    bootstrap: str, database: str, vnode: str, segment: str, *, skip: int, count: int
) -> tuple[list[dict[str, Any]], bool]:
    """Return some frames of a segment, and whether there are more.  Raises: PageError, CommandError."""
    directory = directory_of(bootstrap, database, vnode)
    try:
        if base_version_of(segment) is None or segment not in DISK.list(directory):
            raise PageError(404, f"{database}/{vnode} has no segment {segment!r}")
        views: Iterator[FrameView] = islice(frames(DISK, f"{directory}/{segment}"), skip, skip + count + 1)
        rows = [frame_tree(frame, entries=False) for frame in views]
    except (DiskError, StoreError) as error:
        raise PageError(404, f"segment {segment} cannot be read here: {error}") from error
    except ValueError as error:
        raise CommandError(str(error)) from error
    return rows[:count], len(rows) > count
