"""The copies of clusters in an object store."""

from __future__ import annotations

from wal.backup_manifest import BackupError


def only_cluster(clusters: list[str], name: str) -> str:
    """Return the one cluster that has a copy.  Raises: BackupError."""
    if not clusters:
        raise BackupError(f"{name}: no copy is there; give the prefix of kawal.remote.store")
    if len(clusters) > 1:
        raise BackupError(
            f"{name}: several clusters have copies there; name one with --cluster: {', '.join(clusters)}"
        )
    return clusters[0]
