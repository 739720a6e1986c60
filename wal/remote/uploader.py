"""The copy of a whole data directory in an object store, kept up to date round by round.

    take_over   reads the cut, and sets it to the next epoch: the process that kept it before is fenced
    round       brings every log up to the moment that the event loop chose, then sets the cut
    clean       removes what no cut leads to any more, once no reader can still be at it

What an interruption leaves behind is at worst an object that nothing leads to.  The cut is set by compare and
set: a process that lost its place, or a request of it that arrives late, can change nothing.

    an answer to setting the cut is lost     the next time the cut is read: it is ours by its incarnation
    the cut is another's                     Fenced: this process uploads nothing more
    the cut is missing, and a copy is there  RemoteDamaged: nothing is uploaded, nothing is removed

Past cuts are kept for a while, as objects of their own: what such a cut leads to stays as long, because an
object is removed that long after it left the cut, and the past cut that long after it was made, before them.

A copy that could be restored stays one: while closed segments are left over from a round, the cut stays at
the last moment that was whole.  Only the first copy of data that exists is made piece by piece.

The cut never goes back: a data directory that is older than the copy, as after an old disk was put back, or
that has another history, is refused with a sentence (`wal.remote.same_history`). The copy stays as it is, and
the process that keeps it goes on.  So is one that is served by another number of workers than the copy is of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from wal.disk import Disk
from wal.log_view import LogView
from wal.objects import Fenced, ObjectReads, ObjectStore, ObjectStoreError, put_once, swap
from wal.remote.formats import (
    CUT,
    CUTS,
    JOURNAL_FORMAT,
    REMOTE_FORMAT,
    WORKERS_FORMAT,
    Cut,
    JournalMark,
    LogCut,
    lost_cut,
    past_cut_name,
    seal,
)
from wal.remote.heartbeat import HEARTBEAT
from wal.remote.log_upload import Budget, LogUpload
from wal.remote.older_journals import OlderJournals
from wal.remote.places import ALL, Share
from wal.remote.proof import ProofReads, Proofs
from wal.remote.read_objects import read_cut, read_manifest
from wal.remote.same_history import refuse_another_history, refuse_other_workers
from wal.remote_record import RemoteRecord
from wal.segment import INDEX_SUFFIX, SUFFIX
from wal.store_marker import STORE_FORMAT, StoreIdentity, raise_format

HISTORY_EVERY_MS: Final = 60_000
"""The least time between two past cuts: each is a request, and some KB."""


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
        history_ms: int = 0,
        share: Share = ALL,
        first: ObjectReads | None = None,
    ) -> None:
        """`path` is the data directory; `incarnation` is unlike that of any other process.

        For `history_ms` past cuts are kept, one a minute; 0: none.  `share` says which logs of the directory
        are copied; `first` is the place of worker 0, where that is another one.
        """
        self._store = store
        self._disk = disk
        self._path = path
        self._identity = identity
        self._share = share
        self._first = first
        self._incarnation = incarnation
        self._restore_ms = delete_delay_ms
        self._delete_delay_ms = max(delete_delay_ms, history_ms)
        self._history_ms = history_ms
        self._kept_ms: int | None = None
        """The time of the newest past cut that this process has kept."""
        self._prefix = identity.cluster_id
        self._cut: Cut | None = None
        self._etag: str | None = None
        self._fenced: Fenced | None = None
        self._logs: dict[str, LogUpload] = {}
        self._older = OlderJournals(store, disk, prefix=identity.cluster_id, path=path)
        self._older_since: JournalMark | None = None
        """Where the journals of earlier processes begin, until they have been ended."""
        self._graveyard: list[tuple[int, str]] = []
        self._useless_chunks: list[tuple[int, str]] = []
        """Chunks of journals that the cut has; past cuts need none."""
        self.named: dict[str, frozenset[int]] = {}
        """The closed segments that the cut in the store leads to, by log, since the first round."""
        self.past_cuts = 0
        """The past cuts that are kept, as far as this process knows."""
        self.is_swept = False
        """Whether this process has looked for what earlier ones have left."""
        self._alive: frozenset[str] = frozenset()
        """The objects that are the only copy of a segment: whatever a cut leads to, they are not garbage."""

    @property
    def cut(self) -> Cut | None:
        """The cut that is in the store, as far as this process knows; None before `take_over`."""
        return self._cut

    # --- taking over -----------------------------------------------------------------------------------

    def take_over(self, views: Mapping[str, LogView], now_ms: int) -> None:
        """Read what is there, and fence the process that kept it, unless the copy must not be replaced.

        Raises: OtherWorkers, RemoteAhead and RemoteDamaged, and nothing is changed; ObjectStoreError;
        DiskError.
        """
        self._look_at(views)
        found, self._etag = self._read_cut()
        self._refuse_other_workers(found)
        epoch, number, logs, journal = 1, 0, dict[str, LogCut](), None
        if found is not None:
            epoch = found.epoch + (found.incarnation != self._incarnation)
            number, logs, journal = found.number, found.logs, found.journal
            if journal is not None:
                self._older.look(views, journal, epoch=found.epoch)
        elif self._alive or next(self._store.list(f"{self._prefix}/"), None) is not None:
            # The segments that it led to may be the only copies, and of a newer directory than this one.
            raise lost_cut(f"{self._store.name}/{self._prefix}")
        uploads = {name: self._open_log(name, epoch, log, views.get(name)) for name, log in logs.items()}
        self._set_cut(self._new_cut(epoch, number, now_ms, logs, journal))
        self._logs, self._older_since = uploads, journal

    def _look_at(self, views: Mapping[str, LogView]) -> None:
        """Learn which segments have no local file."""
        keys = (record.key for view in views.values() for record in view.remote.values())
        self._alive = frozenset(
            name for key in keys for name in (key, key.removesuffix(SUFFIX) + INDEX_SUFFIX)
        )

    def _read_cut(self) -> tuple[Cut | None, str | None]:
        """Return the cut in the store and its etag, None for each when there is none."""
        return read_cut(self._store, self._prefix)

    def _refuse_other_workers(self, found: Cut | None) -> None:
        """Check that the copy, or that of worker 0 where there is none yet, is of as many workers.

        Raises: OtherWorkers; RemoteDamaged; ObjectStoreError.
        """
        name, share = self._store.name, self._share
        if found is None and self._first is not None:
            name, share = self._first.name, Share(0, share.workers)
            found, _ = read_cut(self._first, self._prefix)
        if found is not None:
            refuse_other_workers(found, share, copy=f"{name}/{self._prefix}")

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

    def round(
        self, views: Mapping[str, LogView], *, budget_bytes: int, now_ms: int, chunk: int | None = None
    ) -> RoundReport:
        """Bring the copy up to the moment of `views`, the catalogue's log `meta` among them.

        `chunk` is the first of this process's journal that `views` do not have, None without a journal.
        Raises: Fenced, which is final; RemoteAhead; ObjectStoreError; LocalDamage; DiskError.
        """
        assert self._cut is not None, "take_over comes first"
        if self._older_since is not None:
            self._older.end(views, self._older_since, epoch=self._cut.epoch, incarnation=self._incarnation)
            self._older_since = None
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
            before = journal = self._cut.journal
            if not missing:
                journal = JournalMark(self._cut.epoch, chunk) if chunk is not None else None
            if (logs, journal) != (self._cut.logs, before) or self._cut.is_empty:
                self._set_cut(self._new_cut(self._cut.epoch, self._cut.number + 1, now_ms, logs, journal))
                self._useless_chunks += [(now_ms, key) for key in self._older.useless_keys(before, journal)]
            self.named = {name: log.bases for name, log in self._logs.items()}
            self._bury(views, now_ms)
            if not missing:
                self._keep_cut(now_ms)
        problems = [log.problem for log in self._logs.values() if log.problem]
        return RoundReport(budget.uploaded_bytes, missing, "; ".join(problems[:3]))

    def _keep_cut(self, now_ms: int) -> None:
        """Keep the cut that was just set, if that is due.  Raises: ObjectStoreError."""
        cut = self._cut
        assert cut is not None
        is_due = self._kept_ms is None or cut.time_ms >= self._kept_ms + HISTORY_EVERY_MS
        if not self._history_ms or not is_due or cut.time_ms == self._kept_ms:
            return
        key = f"{self._prefix}/{past_cut_name(cut.time_ms, cut.number, cut.epoch)}"
        if (now_ms, key) not in self._graveyard:
            # What this cut leads to leaves later cuts, and is removed after it.
            self._graveyard.append((now_ms, key))
            self.past_cuts += 1
        put_once(self._store, key, seal(cut))
        self._kept_ms = cut.time_ms

    def _is_past_cut(self, key: str) -> bool:
        return key.startswith(f"{self._prefix}/{CUTS}/")

    def _new_cut(
        self, epoch: int, number: int, now_ms: int, logs: Mapping[str, LogCut], journal: JournalMark | None
    ) -> Cut:
        plain = REMOTE_FORMAT if journal is None else JOURNAL_FORMAT
        return Cut(
            format=plain if self._share.workers == 1 else WORKERS_FORMAT,
            store_format=STORE_FORMAT,
            cluster_id=self._identity.cluster_id,
            node_id=self._identity.node_id,
            secret=self._identity.secret,
            epoch=epoch,
            incarnation=self._incarnation,
            number=number,
            time_ms=now_ms,
            logs=dict(logs),
            journal=journal,
            node=self._identity.node,
            nodes=self._identity.nodes,
            worker=self._share.number,
            workers=self._share.workers,
        )

    def _set_cut(self, cut: Cut) -> None:
        """Set the cut if it is still ours; once it is not, it never is again.

        Raises: Fenced; RemoteDamaged when it was removed; StoreAway.
        """
        if self._fenced is not None:
            raise self._fenced
        key = f"{self._prefix}/{CUT}"
        try:
            self._etag = swap(self._store, key, seal(cut), self._etag)
        except Fenced as fenced:
            found, etag = self._read_cut()
            if found is None:
                raise lost_cut(f"{self._store.name}/{self._prefix}") from fenced
            if found.incarnation != self._incarnation:
                self._fenced = fenced
                raise
            # An earlier request of ours, whose answer was lost, is what changed it.
            self._etag = swap(self._store, key, seal(cut), etag)
        self._cut = cut

    # --- what may leave the disk -----------------------------------------------------------------------

    def proved(self, wanted: Mapping[str, Collection[int]], *, budget_bytes: int) -> Proofs:
        """Return the objects of those segments, by log, that the cut in the store leads to.

        The cut and its manifests are read anew. Each object is read back and compared, oldest first, while
        there is budget. A segment whose object has other bytes is uploaded again; one that could not be read
        takes nothing from the proofs of the others. Before any proof counts, the directory has a format
        that older programs refuse.
        Raises: Fenced, which is final; ObjectStoreError; RemoteDamaged when cut or manifest is.
        """
        found, etag = self._read_cut()
        if found is None:
            raise lost_cut(f"{self._store.name}/{self._prefix}")
        if self._fenced is None and found.incarnation != self._incarnation:
            self._fenced = Fenced(f"{self._store.name}: the copy is kept by another process")
        if self._fenced is not None:
            raise self._fenced
        if etag != self._etag:
            return Proofs({})  # the answer to our last write was lost: the next round knows more
        proofs: dict[str, list[RemoteRecord]] = {}
        reads = ProofReads(self._store, budget_bytes)
        for name, bases in wanted.items():
            cut = found.logs.get(name)
            if cut is None or cut.manifest is None or name not in self._logs:
                continue
            try:
                manifest = read_manifest(self._store, f"{self._prefix}/{name}", cut)
            except ObjectStoreError as error:
                reads.failed(error)
            else:
                proofs[name] = self._logs[name].prove(manifest, bases, reads)
            if reads.are_over:
                break
        if any(proofs.values()):
            worker, workers = self._share
            raise_format(self._disk, self._path, self._identity, worker=worker, workers=workers)
        return Proofs(proofs, reads.error, reads.read_bytes)

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
        removed = self._remove_chunks(now_ms, count)
        if self._history_ms and not self.is_swept:
            return removed  # past cuts of earlier processes may lead to what would be removed
        while removed < count and self._graveyard:
            since_ms, key = self._graveyard[0]
            if now_ms < since_ms + self._delete_delay_ms:
                break
            if key not in self._alive:
                self._store.remove(key)
            del self._graveyard[0]
            self.past_cuts -= self._is_past_cut(key)
            removed += 1
        return removed

    def _remove_chunks(self, now_ms: int, count: int) -> int:
        removed = 0
        while removed < count and self._useless_chunks:
            since_ms, key = self._useless_chunks[0]
            if now_ms < since_ms + self._restore_ms:
                break
            self._store.remove(key)
            del self._useless_chunks[0]
            removed += 1
        return removed

    def sweep(self, now_ms: int) -> list[str]:
        """List the store, and take what nothing leads to for garbage; return those keys.

        An object that a local record names is none, even if the cut that led to it was lost. Interrupted
        rounds of earlier processes leave such objects.  Raises: ObjectStoreError.
        """
        assert self._cut is not None
        kept = {f"{self._prefix}/{CUT}", f"{self._prefix}/{HEARTBEAT}", *self._alive}
        kept |= {key for _, key in (*self._graveyard, *self._useless_chunks)}
        for log in self._logs.values():
            kept.update(log.all_keys(), log.garbage)
        journal, epoch = self._cut.journal, self._cut.epoch
        orphans = [
            key
            for key, size_bytes in self._store.list(f"{self._prefix}/")
            if key not in kept and not self._older.keeps(key, size_bytes, journal, epoch=epoch)
        ]
        # Past cuts of earlier processes go before what they lead to, whenever that left the cut.
        past = [(now_ms, key) for key in orphans if self._is_past_cut(key)]
        self.past_cuts += len(past)
        self._graveyard[:0] = past
        self._graveyard += [(now_ms, key) for key in orphans if (now_ms, key) not in past]
        self.is_swept = True
        return orphans
