"""The marker of a data directory, `kawal.json`: its format, and its identity.

The marker is written last: with it the directory counts as complete.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from wal.disk import Disk
from wal.disk_errors import DiskError
from wal.errors import MetadataLost, NotUsable, UnknownFormat
from wal.whole_files import read_file, replace_file

STORE_FORMAT = 4
"""The format of a data directory; any change that an older program would misunderstand raises it.

1   segments of format 1
2   also segments of format 2, which may hold compaction's copies
3   also meta entries and checkpoints with named producers
4   also with ledgers and marks
"""

TIERED_FORMAT = 5
"""The format of a directory of which segments may be in the object store alone (wal.remote_record).

It is set before the first of them leaves the disk: an older program would take such segments for lost.
"""

WORKERS_FORMAT = 6
"""The format of such a directory whose workers have a folder each there; the marker says how many."""

NEWEST_FORMAT = WORKERS_FORMAT
"""The newest format that this program reads."""

OLDER_FORMATS = (1, 2, 3)
"""Formats that the first start raises to `STORE_FORMAT`, by the marker alone: the files are read as they
are. From then on older programs refuse the directory."""

MARKER = "kawal.json"
MARKER_TEMPORARY = "kawal.json.tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreIdentity:
    """The identity of a data directory: given when it is made, read from then on."""

    cluster_id: str
    node_id: int
    secret: str
    """Hex digits from a random source: it salts the checksums, so that no client can forge a frame."""
    node: int = 0
    """The number of the node that the directory is of, among those of its cluster."""
    nodes: int = 1
    """Their number; 1: this directory has all logs, as it also has if several workers share it."""


def raise_format(
    disk: Disk, path: str, identity: StoreIdentity, *, worker: int = 0, workers: int = 1
) -> None:
    """Have older programs refuse the directory from now on, durably: segments leave its disk.

    They are in the folders of so many `workers`, of which this is `worker`.
    Threads, and workers beside each other, may call it.  Raises: as `read_marker`; DiskError.
    """
    marker = f"{path}/{MARKER}"
    if marker_format(disk, marker) >= TIERED_FORMAT and marker_workers(disk, marker) == workers:
        return
    version = TIERED_FORMAT if workers == 1 else WORKERS_FORMAT
    write_marker(disk, path, identity, version=version, worker=worker, workers=workers)


def write_marker(
    disk: Disk,
    path: str,
    identity: StoreIdentity,
    *,
    version: int = STORE_FORMAT,
    worker: int = 0,
    workers: int = 1,
) -> None:
    """Write the marker durably: from then on the directory counts as complete.  Raises: DiskError."""
    content = {"format": version, **asdict(identity)}
    if identity.nodes == 1:
        del content["node"], content["nodes"]
    if workers > 1:
        content["workers"] = workers
    data = json.dumps(content, indent=2).encode() + b"\n"
    # All workers write the same, and none writes another one's temporary file.
    temporary = f"{MARKER}.{worker}.tmp" if worker else MARKER_TEMPORARY
    replace_file(disk, path, MARKER, data, temporary=temporary)


def read_marker(disk: Disk, marker: str) -> StoreIdentity:
    """Return the directory's identity from its marker.  Raises: NotUsable, MetadataLost, UnknownFormat."""
    return _read_marker(disk, marker)[1]


def marker_format(disk: Disk, marker: str) -> int:
    """Return the format in a marker.  Raises: as `read_marker`."""
    return _read_marker(disk, marker)[0]


def marker_workers(disk: Disk, marker: str) -> int:
    """Return of how many workers the folders are in which segments may be.  Raises: as `read_marker`."""
    return _read_marker(disk, marker)[2]


def _read_marker(disk: Disk, marker: str) -> tuple[int, StoreIdentity, int]:
    try:
        data = read_file(disk, marker)
    except DiskError as error:
        raise NotUsable(f"{marker}: cannot be read: {error}; check permissions") from error
    formats = (*OLDER_FORMATS, STORE_FORMAT, TIERED_FORMAT, WORKERS_FORMAT)
    known = [version for version in formats if version <= NEWEST_FORMAT]
    try:
        content = json.loads(data)
        version = content["format"]
        if type(version) is int and version in known:
            identity = StoreIdentity(
                cluster_id=str(content["cluster_id"]),
                node_id=int(content["node_id"]),
                secret=str(content["secret"]),
                node=int(content.get("node", 0)),
                nodes=int(content.get("nodes", 1)),
            )
            return version, identity, int(content.get("workers", 1))
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataLost(f"{marker}: not a valid marker ({error}); restore it from a backup") from error
    is_newer = type(version) is int and version > NEWEST_FORMAT
    raise UnknownFormat(
        f"{marker}: the data directory has format {version!r}, but this version of kawal reads "
        f"{', '.join(map(str, known))}; use the version that wrote it{' or a newer one' if is_newer else ''}"
    )
