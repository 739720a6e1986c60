"""The copy of a whole data directory in an object store, kept up to date round by round.

    take_over   reads the cut, and sets it to the next epoch: the process that kept it before is fenced
    round       brings every log up to the moment that the event loop chose, then sets the cut
    clean       removes what no cut leads to any more, once no reader can still be at it

What an interruption leaves behind is at worst an object that nothing leads to.  The cut is set by compare and
set: a process that lost its place, or a request of it that arrives late, can change nothing.

    an answer to setting the cut is lost     the next time the cut is read: it is ours by its incarnation
    the cut is another's                     Fenced: this process uploads nothing more

A copy that could be restored stays one: while closed segments are left over from a round, the cut stays at
the last moment that was whole.  Only the first copy of data that exists is made piece by piece.

The cut never goes back: a data directory that is older than the copy, as after an old disk was put back, or
that has another history, is refused with a sentence (`wal.remote.same_history`). The copy stays as it is, and
the process that keeps it goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from wal.disk import Disk
from wal.log_view import LogView
from wal.objects import Fenced, NoSuchObject, ObjectStore, swap
from wal.remote.formats import (
    CUT,
    Cut,
    LogCut,
    Manifest,
    RemoteDamaged,
    check_bytes,
    open_cut,
    open_manifest,
    seal,
)
from wal.remote.log_upload import Budget, LogUpload
from wal.remote.same_history import refuse_another_history
from wal.remote_record import RemoteRecord
from wal.segment import INDEX_SUFFIX, SUFFIX
from wal.store import STORE_FORMAT, StoreIdentity


class RoundReport(NamedTuple):
    """The outcome of a round."""

    uploaded_bytes: int
    segments_missing: int
    problem: str
    """Why something is left out, "" when nothing is."""


class Uploader:
    """One process's hand on the copy; a thread at a time uses it."""

    def __init__(
        self,
        store: ObjectStore,
        disk: Disk,
        *,
        path: str,
        identity: StoreIdentity,
        incarnation: str,
        delete_delay_ms: int,
    ) -> None:
        """`path` is the data directory; `incarnation` is unlike that of any other process."""
        self._store = store
        self._disk = disk
        self._path = path
        self._identity = identity
        self._incarnation = incarnation
        self._delete_delay_ms = delete_delay_ms
        self._prefix = identity.cluster_id
        self._cut: Cut | None = None
        self._etag: str | None = None
        self._fenced: Fenced | None = None
        self._logs: dict[str, LogUpload] = {}
        self._graveyard: list[tuple[int, str]] = []
        self.named: dict[str, frozenset[int]] = {}
        """The closed segments that the cut in the store leads to, by log, since the first round."""
        self._alive: frozenset[str] = frozenset()
        """The objects that are the only copy of a segment: whatever a cut leads to, they are not garbage."""

    @property
    def cut(self) -> Cut | None:
        """The cut that is in the store, as far as this process knows; None before `take_over`."""
        return self._cut

    # --- taking over -----------------------------------------------------------------------------------

    def take_over(self, views: Mapping[str, LogView], now_ms: int) -> None:
        """Read what is there, and fence the process that kept it, unless the copy must not be replaced.

        Raises: RemoteAhead, and nothing is changed; ObjectStoreError; RemoteDamaged; DiskError.
        """
        self._look_at(views)
        found, self._etag = self._read_cut()
        epoch, number, logs = 1, 0, dict[str, LogCut]()
        if found is not None:
            epoch = found.epoch + (found.incarnation != self._incarnation)
            number, logs = found.number, found.logs
        uploads = {name: self._open_log(name, epoch, log, views.get(name)) for name, log in logs.items()}
        self._set_cut(self._new_cut(epoch, number, now_ms, logs))
        self._logs = uploads

    def _look_at(self, views: Mapping[str, LogView]) -> None:
        """Learn which segments have no local file."""
        keys = (record.key for view in views.values() for record in view.remote.values())
        self._alive = frozenset(
            name for key in keys for name in (key, key.removesuffix(SUFFIX) + INDEX_SUFFIX)
        )

    def _read_cut(self) -> tuple[Cut | None, str | None]:
        """Return the cut in the store and its etag, None for each when there is none."""
        key = f"{self._prefix}/{CUT}"
        try:
            found = self._store.read(key)
        except NoSuchObject:
            return None, None
        return open_cut(found.data, f"{self._store.name}/{key}"), found.etag

    def _open_log(
        self, name: str, epoch: int, log: LogCut | None = None, view: LogView | None = None
    ) -> LogUpload:
        manifest, key, folder = None, f"{self._prefix}/{name}", f"{self._path}/{name}"
        if log is not None and log.manifest is not None:
            manifest = read_manifest(self._store, key, log)
        if log is not None and view is not None:
            refuse_another_history(
                self._disk, folder, view, log, manifest, copy=f"{self._store.name}/{self._prefix}"
            )
        return LogUpload(
            self._store, self._disk, folder=folder, key=key, epoch=epoch, cut=log, manifest=manifest
        )

    # --- a round ---------------------------------------------------------------------------------------

    def round(self, views: Mapping[str, LogView], *, budget_bytes: int, now_ms: int) -> RoundReport:
        """Bring the copy up to the moment of `views`, the catalogue's log `meta` among them.

        Raises: Fenced, which is final; ObjectStoreError; LocalDamage; DiskError.
        """
        assert self._cut is not None, "take_over comes first"
        self._look_at(views)
        budget = Budget(budget_bytes)
        logs: dict[str, LogCut] = {}
        for name, view in views.items():
            if name not in self._logs:
                self._logs[name] = self._open_log(name, self._cut.epoch)
            logs[name] = self._logs[name].bring_up(view, budget)
        missing = sum(log.segments_missing for log in logs.values())
        was_complete = bool(self._cut.logs) and not self._cut.segments_missing
        if not (missing and was_complete):
            if logs != self._cut.logs:
                self._set_cut(self._new_cut(self._cut.epoch, self._cut.number + 1, now_ms, logs))
            self.named = {name: log.bases for name, log in self._logs.items()}
            self._bury(views, now_ms)
        problems = [log.problem for log in self._logs.values() if log.problem]
        return RoundReport(budget.uploaded_bytes, missing, "; ".join(problems[:3]))

    def _new_cut(self, epoch: int, number: int, now_ms: int, logs: Mapping[str, LogCut]) -> Cut:
        return Cut(
            store_format=STORE_FORMAT,
            cluster_id=self._identity.cluster_id,
            node_id=self._identity.node_id,
            secret=self._identity.secret,
            epoch=epoch,
            incarnation=self._incarnation,
            number=number,
            time_ms=now_ms,
            logs=dict(logs),
        )

    def _set_cut(self, cut: Cut) -> None:
        """Set the cut if it is still ours; once it is not, it never is again.  Raises: Fenced, StoreAway."""
        if self._fenced is not None:
            raise self._fenced
        key = f"{self._prefix}/{CUT}"
        try:
            self._etag = swap(self._store, key, seal(cut), self._etag)
        except Fenced as fenced:
            found, etag = self._read_cut()
            if found is None or found.incarnation != self._incarnation:
                self._fenced = fenced
                raise
            # An earlier request of ours, whose answer was lost, is what changed it.
            self._etag = swap(self._store, key, seal(cut), etag)
        self._cut = cut

    # --- what may leave the disk -----------------------------------------------------------------------

    def proved(
        self, wanted: Mapping[str, Collection[int]], *, budget_bytes: int
    ) -> dict[str, list[RemoteRecord]]:
        """Return the objects of those segments, by log, that the cut in the store leads to.

        The cut and its manifests are read anew. Each object is read back and compared, oldest first, while
        there is budget. A segment whose object has other bytes is uploaded again.
        Raises: Fenced, which is final; ObjectStoreError; RemoteDamaged when a manifest is.
        """
        found, etag = self._read_cut()
        if self._fenced is None and (found is None or found.incarnation != self._incarnation):
            self._fenced = Fenced(f"{self._store.name}: the copy is kept by another process")
        if self._fenced is not None:
            raise self._fenced
        if found is None or etag != self._etag:
            return {}  # the answer to our last write was lost: the next round knows more
        proofs: dict[str, list[RemoteRecord]] = {}
        for name, bases in wanted.items():
            cut = found.logs.get(name)
            if cut is None or cut.manifest is None or name not in self._logs:
                continue
            manifest = read_manifest(self._store, f"{self._prefix}/{name}", cut)
            proof = self._logs[name].prove(manifest, bases, budget_bytes)
            budget_bytes -= sum(record.size_bytes for record in proof)
            proofs[name] = proof
            if budget_bytes <= 0:
                break
        return proofs

    # --- what is not needed any more -------------------------------------------------------------------

    def _bury(self, views: Mapping[str, LogView], now_ms: int) -> None:
        """Note what the cut that was just set does not lead to."""
        for name in [name for name in self._logs if name not in views]:
            log = self._logs.pop(name)
            log.garbage += log.all_keys()
            self._graveyard += [(now_ms, key) for key in log.garbage]
        for log in self._logs.values():
            self._graveyard += [(now_ms, key) for key in log.garbage]
            log.garbage.clear()

    def clean(self, now_ms: int, *, count: int) -> int:
        """Remove at most `count` objects that no cut has led to for long enough; return their number.

        Raises: ObjectStoreError.
        """
        removed = 0
        while removed < count and self._graveyard:
            since_ms, key = self._graveyard[0]
            if now_ms < since_ms + self._delete_delay_ms:
                break
            if key not in self._alive:
                self._store.remove(key)
            del self._graveyard[0]
            removed += 1
        return removed

    def sweep(self, now_ms: int) -> list[str]:
        """List the store, and take what nothing leads to for garbage; return those keys.

        An object that a local record names is none, even if the cut that led to it was lost. Interrupted
        rounds of earlier processes leave such objects.  Raises: ObjectStoreError.
        """
        assert self._cut is not None
        kept = {f"{self._prefix}/{CUT}", *self._alive, *(key for _, key in self._graveyard)}
        for log in self._logs.values():
            kept.update(log.all_keys(), log.garbage)
        orphans = [key for key, _ in self._store.list(f"{self._prefix}/") if key not in kept]
        self._graveyard += [(now_ms, key) for key in orphans]
        return orphans


def read_manifest(store: ObjectStore, log_key: str, log: LogCut) -> Manifest:
    """Return a log's manifest.  Raises: RemoteDamaged; ObjectStoreError."""
    assert log.manifest is not None
    key = f"{log_key}/{log.manifest.name}"
    try:
        data = store.read(key).data
    except NoSuchObject as error:
        raise RemoteDamaged(f"{store.name}/{key}: the object is missing") from error
    check_bytes(data, f"{store.name}/{key}", size_bytes=log.manifest.size_bytes, crc=log.manifest.crc)
    return open_manifest(data, f"{store.name}/{key}")
