"""Whether a data directory may be served by another number of workers: not while segments are away.

A worker reads what has left the disk from its own folder of the object store (wal/remote/places.py), and
which worker has a log follows from their number.  So the marker says the number under which segments have
left, and a start with another one is refused as long as any of them has no local file.  Without such a
segment the number is free.
"""

from __future__ import annotations

from wal.disk import Disk
from wal.errors import OtherWorkers
from wal.remote.places import workers_text
from wal.remote_record import read_records
from wal.segment import base_version_of
from wal.store import vnode_path, vnodes_in
from wal.store_marker import MARKER, marker_workers


def refuse_other_workers(disk: Disk, path: str, count: int) -> None:
    """Check that so many workers can read all of a data directory; nothing is changed.

    Raises: OtherWorkers; as `wal.store_marker.read_marker`; DiskError.
    """
    marker = f"{path}/{MARKER}"
    if not disk.exists(marker):
        return
    found = marker_workers(disk, marker)
    if found == count:
        return
    for database, index in vnodes_in(disk, path):
        directory = vnode_path(path, database, index)
        names = disk.list(directory)
        local = {base_version_of(name) for name in names}
        away = read_records(disk, directory, names).keys() - local
        if away:
            raise OtherWorkers(
                f"{directory}: {len(away)} segments are in the object store alone, where"
                f" {workers_text(found)} put them, and {workers_text(count)} would look elsewhere; start with"
                f" --workers {found} (kawal.workers), or restore the directory from the store to serve it"
                " with another number; nothing was changed"
            )
