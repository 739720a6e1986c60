"""A data directory as the tests of stores open it."""

from __future__ import annotations

from wal.disk import Disk
from wal.options import LogOptions
from wal.store import Store
from wal.store_marker import StoreIdentity

IDENTITY = StoreIdentity(cluster_id="cluster", node_id=1, secret="5e")
OPTIONS = LogOptions(min_free_bytes=0, segment_bytes=1 << 16)


def open_store(
    disk: Disk, path: str = "data", *, identity: StoreIdentity = IDENTITY, options: LogOptions = OPTIONS
) -> Store:
    """Open the store in a directory, which is made, with this identity, when it is missing."""
    return Store.open(disk, path, new_identity=identity, now_ms=0, options=options)
