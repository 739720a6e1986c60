"""The journals of earlier processes: compared with the data directory, ended, removed once a cut has them.

    look     before the copy is taken over: does the directory have all that was acknowledged?
    end      after that: a FENCE ends each journal, and what had come meanwhile is compared, too

A frame is on the disk before it is in the journal.  So a directory that lacks some of it is not the one that
the journal is of, or an older state of it, and what it lacks may have been acknowledged.
"""

from __future__ import annotations

from collections.abc import Mapping

from wal.disk import Disk, NoSuchFile
from wal.log_view import LogView
from wal.objects import NoSuchObject, ObjectStore
from wal.remote.formats import JournalMark, RemoteDamaged
from wal.remote.journal_format import (
    FENCE_BYTES_MAX,
    JournalObject,
    JournalSlice,
    decode_journal,
    journal_key,
    mark_of,
)
from wal.remote.journal_scan import chunks, fence
from wal.remote.same_history import RemoteAhead
from wal.segment import segment_name


class OlderJournals:
    """The journals before that of this process."""

    def __init__(self, store: ObjectStore, disk: Disk, *, prefix: str, path: str) -> None:
        """`prefix` is the cluster id, `path` the data directory."""
        self._store = store
        self._disk = disk
        self._prefix = prefix
        self._path = path
        self._chunks: list[JournalMark] = []

    def look(self, views: Mapping[str, LogView], since: JournalMark, *, epoch: int) -> None:
        """Compare what is there, up to an epoch.  Raises: RemoteAhead; RemoteDamaged; ObjectStoreError."""
        for _, chunk in chunks(self._store, self._prefix, since, epoch=epoch):
            self._compare(views, chunk)

    def end(self, views: Mapping[str, LogView], since: JournalMark, *, epoch: int, incarnation: str) -> None:
        """End all journals before an epoch.  Raises: as `look`; after StoreAway it may be called again."""
        self._chunks = []
        ended = fence(self._store, self._prefix, since, epoch=epoch, incarnation=incarnation)
        for mark, chunk in ended:
            self._compare(views, chunk)
            self._chunks.append(mark)

    def _compare(self, views: Mapping[str, LogView], chunk: JournalObject) -> None:
        for part, data in chunk.pieces():
            view = views.get(part.log)
            # A log that is not there was dropped: the catalogue, which says so, is compared like the others.
            if view is not None and not self._has(view, part, data):
                raise RemoteAhead(
                    f"{self._path}/{part.log} lacks records that were acknowledged: in the journal in "
                    f"{self._store.name} {segment_name(part.base_version)} has other bytes from "
                    f"{part.position} on. The directory is older than the journal, or another one; both were "
                    "left as they are: restore a directory from the store with 'kawal restore'"
                )

    def _has(self, view: LogView, part: JournalSlice, data: memoryview) -> bool:
        base = part.base_version
        if base not in view.bases:
            return bool(view.bases) and base < view.bases[-1]  # it was removed since
        if base in view.remote:
            return view.remote[base].salt == part.salt
        try:
            file = self._disk.open(f"{self._path}/{part.log}/{segment_name(base)}", read_only=True)
        except NoSuchFile:
            return False
        try:
            return file.read_at(part.position, part.size_bytes) == data
        finally:
            file.close()

    def useless_keys(self, before: JournalMark | None, after: JournalMark | None) -> list[str]:
        """Return the chunks that no cut needs, when its mark moves."""
        if before is None or after is None or before == after:
            return []
        first = before.number if before.epoch == after.epoch else 0
        useless = [JournalMark(after.epoch, number) for number in range(first, after.number)]
        if before.epoch != after.epoch:
            useless += self._chunks
            self._chunks = []
        return [journal_key(self._prefix, mark.epoch, mark.number) for mark in useless]

    def keeps(self, key: str, size_bytes: int, since: JournalMark | None, *, epoch: int) -> bool:
        """Whether an object belongs to a journal and stays: what follows a mark, and every FENCE.

        Raises: ObjectStoreError.
        """
        mark = mark_of(key, self._prefix)
        if mark is None:
            return False
        if mark >= (since or JournalMark(epoch, 0)):
            return True
        if size_bytes >= FENCE_BYTES_MAX:
            return False
        try:
            return decode_journal(self._store.read(key).data, key).is_fence
        except NoSuchObject:
            return True  # it was removed meanwhile
        except RemoteDamaged:
            return True  # it may have been a FENCE
