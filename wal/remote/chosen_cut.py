"""The cut that a restore begins with: the newest one of a copy, or one that was kept of a past moment."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from wal.backup_manifest import BackupError
from wal.objects import ObjectStore
from wal.remote.formats import CUT, CUTS, Cut, lost_cut, open_cut, time_of
from wal.remote.read_objects import read_cut
from wal.store_marker import STORE_FORMAT


class ChosenCut(NamedTuple):
    """A cut from which a directory can be made."""

    cut: Cut
    is_newest: bool
    """Whether a journal that follows it may be there."""


def choose_cut(store: ObjectStore, cluster_id: str, at_ms: int | None) -> ChosenCut:
    """Return the newest cut, or the newest one that was kept up to a moment.

    Raises: BackupError, RemoteDamaged; ObjectStoreError.
    """
    key, cut = f"{cluster_id}/{CUT}", newest_cut(store, cluster_id)
    is_newest = at_ms is None or at_ms >= cut.time_ms
    if not is_newest:
        assert at_ms is not None
        key = _past_cut(store, cluster_id, at_ms)
        cut = open_cut(store.read(key).data, f"{store.name}/{key}")
    _check(cut, f"{store.name}/{key}")
    return ChosenCut(cut, is_newest)


def newest_cut(store: ObjectStore, cluster_id: str) -> Cut:
    """Return the cut that is there now.  Raises: BackupError, RemoteDamaged; ObjectStoreError."""
    cut, _ = read_cut(store, cluster_id)
    if cut is not None:
        return cut
    if next(store.list(f"{cluster_id}/"), None) is not None:
        raise lost_cut(f"{store.name}/{cluster_id}")
    raise BackupError(f"{store.name}: no copy of a cluster {cluster_id!r} is there")


def _check(cut: Cut, name: str) -> None:
    """Check that all that a cut leads to can be restored.  Raises: BackupError."""
    if cut.store_format > STORE_FORMAT:
        raise BackupError(
            f"{name}: made by a later version of kawal (data format {cut.store_format}); use that version"
        )
    missing = {log: found.segments_missing for log, found in cut.logs.items() if found.segments_missing}
    if missing or cut.is_empty:
        left = ", ".join(f"{count} of {log}" for log, count in list(missing.items())[:5])
        raise BackupError(
            f"{name}: the copy is not complete yet: {left or 'all'} segments were still to be"
            " uploaded; the server that makes it must go on first"
        )


def _past_cut(store: ObjectStore, cluster_id: str, at_ms: int) -> str:
    """Return the key of the newest past cut up to a moment.  Raises: BackupError; ObjectStoreError."""
    folder = f"{cluster_id}/{CUTS}/"
    kept = sorted(key for key, _ in store.list(folder))
    times = [(time_of(key.removeprefix(f"{cluster_id}/")), key) for key in kept]
    found = [key for time_ms, key in times if time_ms is not None and time_ms <= at_ms]
    if not found:
        oldest = next((time_ms for time_ms, _ in times if time_ms is not None), None)
        since = "none is" if oldest is None else f"the oldest one is of {_utc(oldest)}"
        raise BackupError(
            f"{store.name}/{folder}: no cut of {_utc(at_ms)} or before is kept, {since}; a server keeps them "
            "for kawal.remote.history.ms"
        )
    return found[-1]


def _utc(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")
