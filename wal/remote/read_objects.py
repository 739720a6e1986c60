"""The objects of a copy as they are read: the cut, and the manifests that it leads to."""

from __future__ import annotations

from wal.objects import NoSuchObject, ObjectReads
from wal.remote.formats import CUT, Cut, LogCut, Manifest, RemoteDamaged, check_bytes, open_cut, open_manifest


def read_cut(store: ObjectReads, cluster_id: str) -> tuple[Cut | None, str | None]:
    """Return the cut of a cluster and its etag, None for each when there is none.

    Raises: RemoteDamaged; ObjectStoreError.
    """
    key = f"{cluster_id}/{CUT}"
    try:
        found = store.read(key)
    except NoSuchObject:
        return None, None
    return open_cut(found.data, f"{store.name}/{key}"), found.etag


def read_manifest(store: ObjectReads, log_key: str, log: LogCut) -> Manifest:
    """Return a log's manifest.  Raises: RemoteDamaged; ObjectStoreError."""
    assert log.manifest is not None
    key = f"{log_key}/{log.manifest.name}"
    try:
        data = store.read(key).data
    except NoSuchObject as error:
        raise RemoteDamaged(f"{store.name}/{key}: the object is missing") from error
    check_bytes(data, f"{store.name}/{key}", size_bytes=log.manifest.size_bytes, crc=log.manifest.crc)
    return open_manifest(data, f"{store.name}/{key}")
