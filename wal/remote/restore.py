"""A data directory made from its copy in an object store, up to the last cut, and the journal after it.

    the cut is read, then the manifests it leads to
    every object is read in pieces, compared with its checksum, and written to the file it came from
    the chunks of each newest segment are laid end to end
    with durability `remote`, the journal that follows the cut is written over them
    every frame is read and checked; names are made durable; the marker `kawal.json` comes last

As long as the marker is missing no server starts there.  A server that is still alive goes on uploading: what
it then removes from the store is kept for a while after the cut that led to it, and a restore that comes too
late for an object says so.

All logs of a copy are at one moment, so no committed offset lies beyond its records.  What was acknowledged
after the moment is not there: streams begin another leader epoch at the first start (wal.log), as their next
offsets are given out again.

Of workers each has made a copy, at a moment of its own, and all of them make up the directory.  The catalogue
is that of worker 0, and says which logs there are:

    a log that it knows and no copy has       made since that copy: an empty one
    a log that it does not know               made after the catalogue's moment, or dropped before: left out
    a stream without a topic                  stays, as after any loss of the catalogue (`kawal wal orphans`)
    an offset beyond its records              as after any restore: consumers learn of it by the leader epoch

With durability `remote` the journals go up to what was acknowledged, and what a worker has seen of another
was in that one's journal before: the copies fit each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator

from wal.backup import Progress
from wal.backup_catalogue import catalogue_records
from wal.backup_manifest import BackupError
from wal.backup_pieces import no_room
from wal.disk import Disk
from wal.errors import StoreError
from wal.inspect import SegmentReport, verify_log
from wal.objects import ObjectStore
from wal.remote.formats import CUT, Cut, RemoteDamaged
from wal.remote.places import Share
from wal.remote.restored_copy import RestoredCopy
from wal.segment import ANOTHER_HISTORY
from wal.store import META, make_directories
from wal.store_marker import write_marker


def clusters_in(store: ObjectStore) -> list[str]:
    """Return the ids of the clusters that have a copy in the store, or what is left of one.

    Raises: ObjectStoreError.
    """
    levels = (key.split("/", 2) for key, _ in store.list(""))
    return sorted({found[0] for found in levels if len(found) > 1 and found[1] in (CUT, META)})


class RemoteRestore:
    """One run; `run` works step by step, and yields after each."""

    def __init__(
        self,
        store: ObjectStore,
        disk: Disk,
        *,
        cluster_id: str,
        data: str,
        at_ms: int | None = None,
        place_of: Callable[[int], ObjectStore] | None = None,
        vnodes_of: Callable[[list[bytes]], Iterable[str]] | None = None,
    ) -> None:
        """Read the cut, or the newest one that was kept up to `at_ms`: the journal ends there, too.

        If it is of one of several workers, those of the others are read as well: `place_of` returns the place
        of a worker by its number, and `vnodes_of` the folders of the logs, `DATABASE/vnode-N`, that a start
        with these records of the catalogue opens.
        Raises: BackupError, RemoteDamaged; ObjectStoreError.
        """
        self._disk = disk
        self._cluster_id = cluster_id
        self._data = data
        self._at_ms = at_ms
        self._vnodes_of = vnodes_of
        self._done_bytes = 0
        self._total_bytes = 0
        self.journal_bytes = 0
        """Bytes that were acknowledged after the cut, with durability `remote`."""
        self.left_out: list[str] = []
        """The logs in the copies of other workers that the catalogue does not know."""
        self._first = RestoredCopy(store, disk, cluster_id=cluster_id, data=data, at_ms=at_ms)
        self.cut: Cut = self._first.cut
        if self.cut.worker:
            raise BackupError(
                f"{store.name}: the copy of worker {self.cut.worker} of {self.cut.workers}, which is a part"
                " of a directory: give the place of all of them, kawal.remote.store as the server has it"
            )
        self._others: list[RestoredCopy] = []
        if self.cut.workers > 1:
            assert place_of is not None
            assert vnodes_of is not None
            self._others += [self._copy_of(place_of(number), number) for number in range(1, self.cut.workers)]

    def _copy_of(self, store: ObjectStore, number: int) -> RestoredCopy:
        """Return the copy of another worker.  Raises: as `__init__`."""
        count = self.cut.workers
        needed = f"the copies of all {count} workers are needed, and that of worker {number} cannot be used"
        try:
            copy = RestoredCopy(
                store, self._disk, cluster_id=self._cluster_id, data=self._data, at_ms=self._at_ms
            )
            self._check(store, copy.cut, number)
        except StoreError as error:
            raise BackupError(f"{needed}: {error}") from error
        return copy

    def _check(self, store: ObjectStore, cut: Cut, number: int) -> None:
        """Check that a cut is that of a worker of the same directory.  Raises: BackupError."""
        if cut.share != Share(number, self.cut.workers):
            raise BackupError(
                f"{store.name}/{self._cluster_id} is the copy of worker {cut.worker} of {cut.workers}"
            )
        if cut.secret != self.cut.secret:
            raise BackupError(f"{store.name}/{self._cluster_id} is the copy of another directory")

    @property
    def size_bytes(self) -> int:
        """The bytes that were found, once `run` has begun to copy."""
        return self._total_bytes

    @property
    def log_count(self) -> int:
        """The number of logs in the cuts of all copies."""
        return sum(len(copy.cut.logs) for copy in (self._first, *self._others))

    def run(self) -> Iterator[Progress]:
        """Restore.  Raises: BackupError when the target is not empty; RemoteDamaged; errors of both sides."""
        disk, data = self._disk, self._data
        if disk.exists(data) and (names := disk.list(data)):
            raise BackupError(
                f"{data}: not empty ({names[0]!r} is in it); restore to a new or empty directory"
            )
        self._total_bytes = sum(copy.measure() for copy in (self._first, *self._others))
        make_directories(disk, data)
        free = disk.free_bytes(data)
        if free < self._total_bytes:
            raise no_room("restore to", data, self._total_bytes, free)
        # Databases first: with a folder for the catalogue alone it would look like the start of a new one.
        for name in sorted(self.cut.logs.keys() - {META}):
            self._make(name)
        # A node that follows another one's catalogue has no log there, but marks.
        self._make(META)
        folders = dict.fromkeys((yield from self._copy(self._first, None)))
        if self._others:
            assert self._vnodes_of is not None
            known = set(self._vnodes_of(catalogue_records(disk, f"{data}/{META}")))
            for copy in self._others:
                folders |= dict.fromkeys((yield from self._copy(copy, known)))
            folders |= dict.fromkeys(self._make_empty(sorted(known - folders.keys())))
        yield from self._verify(folders)
        databases = sorted({name.rpartition("/")[0] for name in folders} - {""})
        for folder in (*dict.fromkeys((*folders, META)), *databases, ""):
            disk.sync_directory(f"{data}/{folder}".rstrip("/"))
        write_marker(disk, data, self.cut.identity)

    def _copy(
        self, copy: RestoredCopy, known: Collection[str] | None
    ) -> Generator[Progress, None, list[str]]:
        """Write the known logs of a copy, of which None means all; return their folders."""
        folders = [name for name in copy.cut.logs if known is None or name in known]
        for name in copy.cut.logs.keys() - set(folders):
            self.left_out.append(name)
            self._total_bytes -= copy.size_of(name)
        for name in folders:
            self._make(name)
            yield from self._progress(copy.write_log(name))
        before = self._done_bytes
        yield from self._progress(copy.replay(lambda name: known is None or name in known))
        self.journal_bytes += self._done_bytes - before
        return [*folders, *copy.new_logs]

    def _progress(self, written: Iterable[int]) -> Iterator[Progress]:
        for size_bytes in written:
            self._done_bytes += size_bytes
            self._total_bytes = max(self._total_bytes, self._done_bytes)
            yield Progress("copying", self._done_bytes, self._total_bytes)

    def _make(self, log: str) -> None:
        """Make the folder of a log, and that of its database."""
        database = log.rpartition("/")[0]
        for folder in (database, log):
            if folder:
                self._disk.make_directory(f"{self._data}/{folder}")

    def _make_empty(self, logs: list[str]) -> list[str]:
        """Make logs of which no copy has anything; return them.

        Offsets may have been given out in them since: streams begin another leader epoch here, too.
        """
        for name in logs:
            self._make(name)
            self._disk.open(f"{self._data}/{name}/{ANOTHER_HISTORY}", create=True).close()
        return logs

    def _verify(self, logs: Iterable[str]) -> Iterator[Progress]:
        done = 0
        for name in logs:
            for report in verify_log(self._disk, f"{self._data}/{name}"):
                if isinstance(report, SegmentReport):
                    done = min(done + report.size_bytes, self._total_bytes)
                elif report.damages:
                    raise RemoteDamaged(f"the copy cannot be used: {report.damages[0]}")
                yield Progress("checking", done, self._total_bytes)
