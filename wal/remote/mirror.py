"""A directory that follows the copy in an object store, so that it can take its server's place soon.

    follow      brings the files up to the newest cut: what is there already is not fetched again
    take_over   ends the server that kept the copy, takes what it had acknowledged last, and makes the
                directory one that a server starts with

As long as the marker `kawal.json` is missing no server starts there; `standby` says that the files are a
mirror's.  It may go on after it was ended at any moment: it compares what is on the disk with its checksums.

Taking over:  the cut is set to the next epoch, by compare and set
              a FENCE ends every journal: from then on nothing more is acknowledged by the other server
              the newest cut and its journals are written to the files
              the marker is written

A process that ends in between has changed nothing for the other server but that it is ended: either of the
two may take over again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
from crc32c import crc32c

from wal.backup import Progress
from wal.backup_manifest import BackupError
from wal.catalogue import SNAPSHOT_NAMES
from wal.checkpoint import CHECKPOINT_NAMES
from wal.disk import Disk, NoSuchFile
from wal.errors import StoreError
from wal.objects import Fenced, NoSuchObject, ObjectStore, StoreAway, swap
from wal.remote.formats import (
    CUT,
    Cut,
    LogCut,
    RemoteDamaged,
    RemoteObject,
    check_bytes,
    open_cut,
    seal,
)
from wal.remote.journal_replay import JournalReplay
from wal.remote.journal_scan import fence
from wal.remote.read_objects import read_manifest
from wal.segment import ANOTHER_HISTORY, INDEX_SUFFIX, SUFFIX, segment_name
from wal.store import LOCK, META, VNODE_PREFIX, lock_directory, make_directories, vnodes_in
from wal.store_marker import MARKER, write_marker
from wal.whole_files import replace_file

STANDBY: Final = "standby"
"""The file that says that a directory is a mirror's."""
KEPT: Final = (CHECKPOINT_NAMES[0], SNAPSHOT_NAMES[0], ANOTHER_HISTORY)
"""The files of a log besides its segments and their indexes."""
STANDBY_TEMPORARY: Final = "standby.tmp"
PIECE_BYTES: Final = 8 << 20
SWAPS_MAX: Final = 20
"""Tries to set the cut, while the other server goes on setting it."""


def refuse_workers(cut: Cut, name: str) -> None:
    """Check that a cut is that of one process, whose place can be taken.  Raises: BackupError."""
    if cut.workers > 1:
        raise BackupError(
            f"{name}: the copy is that of worker {cut.worker} of {cut.workers}, and a standby follows one"
            " process: make a directory of all copies with 'kawal restore'; to have standbys, serve with one"
            " worker, or with several nodes that have directories of their own (kawal.cluster.nodes)"
        )


class Part(NamedTuple):
    """Bytes of a file, and the object that has them."""

    key: str
    position: int
    size_bytes: int
    crc: int

    @property
    def end(self) -> int:
        """The position after it."""
        return self.position + self.size_bytes


class Mirror:
    """One directory; one thread uses it."""

    def __init__(self, store: ObjectStore, disk: Disk, *, cluster_id: str, data: str) -> None:
        """Begin, or go on in a mirror's directory, and lock it.  Raises: StoreError when it is another's."""
        self._store = store
        self._disk = disk
        self._cluster_id = cluster_id
        self._data = data
        self._have: dict[str, tuple[Part, ...]] = {}
        """The parts that files are known to have, by path."""
        self._small: dict[str, RemoteObject] = {}
        self.cut: Cut | None = None
        ours = LOCK, STANDBY_TEMPORARY
        names = [name for name in disk.list(data) if name not in ours] if disk.exists(data) else []
        if MARKER in names or (names and STANDBY not in names):
            raise StoreError(
                f"{data}: not empty, and not a standby's ({names[0]!r} is in it); give a new directory"
            )
        make_directories(disk, data)
        self._lock = lock_directory(disk, data)
        if not names:
            replace_file(disk, data, STANDBY, cluster_id.encode(), temporary=STANDBY_TEMPORARY)

    def close(self) -> None:
        """Let go of the directory."""
        self._lock.release()

    @property
    def size_bytes(self) -> int:
        """The bytes of all files but checkpoints."""
        return sum(part.size_bytes for parts in self._have.values() for part in parts)

    # --- following -------------------------------------------------------------------------------------

    def follow(self) -> Iterator[Progress]:
        """Bring the files up to the newest cut.

        Raises: StoreAway when an object has left the store meanwhile, to be tried again; RemoteDamaged;
        ObjectStoreError; DiskError.
        """
        cut, _ = self._read_cut()
        if self.cut is not None and cut.number == self.cut.number:
            return
        if cut.segments_missing or not cut.logs:
            raise StoreAway(f"{self._store.name}: the first copy of the data is not complete yet")
        wanted = {name: self._files_of(name, log) for name, log in cut.logs.items()}
        files = {path: parts for found in wanted.values() for path, parts in found.items()}
        missing = {path: self._missing(path, parts) for path, parts in files.items()}
        total, done = sum(part.size_bytes for parts in missing.values() for part in parts), 0
        self._make_folders(cut.logs)
        for path, parts in missing.items():
            for part in parts:
                self._fetch(path, part)
                done += part.size_bytes
                yield Progress("copying", done, total)
            self._trim(path, files[path][-1].end)
            self._have[path] = files[path]
        for name, log in cut.logs.items():
            self._store_small(name, log)
        self._remove_others(cut.logs, files.keys())
        self.cut = cut

    def _read_cut(self) -> tuple[Cut, str]:
        key = f"{self._cluster_id}/{CUT}"
        try:
            found = self._store.read(key)
        except NoSuchObject as error:
            raise RemoteDamaged(f"{self._store.name}/{key}: there is no copy of this cluster") from error
        cut = open_cut(found.data, f"{self._store.name}/{key}")
        refuse_workers(cut, self._store.name)
        return cut, found.etag

    def _files_of(self, name: str, log: LogCut) -> dict[str, tuple[Part, ...]]:
        """Return the files of a log, and the objects with their bytes."""
        key, folder = f"{self._cluster_id}/{name}", f"{self._data}/{name}"
        files: dict[str, tuple[Part, ...]] = {}
        if log.manifest is not None:
            for segment in read_manifest(self._store, key, log).segments:
                path = f"{folder}/{segment_name(segment.base_version)}"
                files[path] = (Part(f"{key}/{segment.stem}{SUFFIX}", 0, segment.size_bytes, segment.crc),)
                if segment.index_bytes:
                    index = Part(
                        f"{key}/{segment.stem}{INDEX_SUFFIX}", 0, segment.index_bytes, segment.index_crc
                    )
                    files[path.removesuffix(SUFFIX) + INDEX_SUFFIX] = (index,)
        if log.chunks:
            files[f"{folder}/{segment_name(log.base_version)}"] = tuple(
                Part(f"{key}/{chunk.name}", chunk.position, chunk.size_bytes, chunk.crc)
                for chunk in log.chunks
            )
        return files

    def _missing(self, path: str, parts: tuple[Part, ...]) -> list[Part]:
        """Return the parts that the file does not have; what is there is compared with their checksums."""
        if self._have.get(path) == parts:
            return []
        try:
            file = self._disk.open(path, read_only=True)
        except NoSuchFile:
            return list(parts)
        try:
            size, missing = file.size(), list[Part]()
            for part in parts:
                if part.end > size or self._crc(file.read_at, part) != part.crc:
                    missing.append(part)
            return missing
        finally:
            file.close()

    def _crc(self, read: object, part: Part) -> int:
        assert callable(read)
        found = 0
        for start in range(part.position, part.end, PIECE_BYTES):
            found = crc32c(read(start, min(PIECE_BYTES, part.end - start)), found)
        return found

    def _fetch(self, path: str, part: Part) -> None:
        """Write a part to its place, durably, and compare it."""
        file = self._disk.open(path, create=not self._disk.exists(path))
        try:
            found = 0
            for start in range(0, part.size_bytes, PIECE_BYTES):
                piece = self._read(part.key, start, min(PIECE_BYTES, part.size_bytes - start))
                file.write_at(part.position + start, [piece])
                found = crc32c(piece, found)
            if found != part.crc:
                raise RemoteDamaged(
                    f"{self._store.name}/{part.key}: the object is damaged: its checksum is wrong"
                )
            file.sync()
        finally:
            file.close()

    def _trim(self, path: str, end: int) -> None:
        """Cut off what an earlier attempt to take over has written after a file's end."""
        if path in self._have:
            return
        file = self._disk.open(path)
        try:
            if file.size() > end:
                file.truncate(end)
                file.sync()
        finally:
            file.close()

    def _read(self, key: str, start: int, size_bytes: int) -> bytes:
        try:
            piece = self._store.read_range(key, start, size_bytes)
        except NoSuchObject as error:
            raise StoreAway(f"{self._store.name}/{key}: the object was replaced meanwhile") from error
        if len(piece) != size_bytes:
            raise RemoteDamaged(f"{self._store.name}/{key}: the object ends at byte {start + len(piece)}")
        return piece

    def _store_small(self, name: str, log: LogCut) -> None:
        """Write checkpoint and snapshot, and have the first start begin leader epochs."""
        folder = f"{self._data}/{name}"
        for file, found in ((CHECKPOINT_NAMES[0], log.checkpoint), (SNAPSHOT_NAMES[0], log.snapshot)):
            path = f"{folder}/{file}"
            if found is None or self._small.get(path) == found:
                continue
            key = f"{self._cluster_id}/{name}/{found.name}"
            data = self._read(key, 0, found.size_bytes)
            check_bytes(data, f"{self._store.name}/{key}", size_bytes=found.size_bytes, crc=found.crc)
            replace_file(self._disk, folder, file, data, temporary=f"{file}.tmp")
            self._small[path] = found
        if name != META:
            self._disk.open(f"{folder}/{ANOTHER_HISTORY}", create=True).close()

    def _make_folders(self, logs: Iterable[str]) -> None:
        for name in logs:
            database = name.rpartition("/")[0]
            for folder in (database, name):
                if folder and not self._disk.exists(f"{self._data}/{folder}"):
                    self._disk.make_directory(f"{self._data}/{folder}")

    def _remove_others(self, logs: Collection[str], files: Collection[str]) -> None:
        """Remove what the cut does not have: of segments that retention has removed, of dropped databases.

        It may be from before this process, which did not see it go.
        """
        disk, data = self._disk, self._data
        for name in [
            META,
            *(f"{database}/{VNODE_PREFIX}{index}" for database, index in vnodes_in(disk, data)),
        ]:
            folder = f"{data}/{name}"
            if not disk.exists(folder):
                continue
            kept = {f"{folder}/{file}" for file in KEPT} if name in logs else set[str]()
            for path in {f"{folder}/{file}" for file in disk.list(folder)} - kept - set(files):
                disk.remove(path)
                self._have.pop(path, None)
                self._small.pop(path, None)
            if name not in logs:
                disk.remove_directory(folder)
                database = f"{data}/{name.rpartition('/')[0]}"
                if not disk.list(database):
                    disk.remove_directory(database)

    # --- taking over -----------------------------------------------------------------------------------

    def take_over(self, incarnation: str) -> Iterator[Progress]:
        """End the other server, and make the directory one that a server starts with.

        `incarnation` is unlike that of any other process.
        Raises: as `follow`; Fenced when others are quicker each time.
        """
        cut = self._end_the_other(incarnation)
        self.cut = None
        yield from self.follow()
        replay = JournalReplay(
            self._store, self._disk, cluster_id=self._cluster_id, data=self._data, logs=cut.logs
        )
        if cut.journal is not None:
            for size_bytes in replay.run(cut.journal, epoch=cut.epoch):
                yield Progress("copying", size_bytes, size_bytes)
        self._make_folders([META])  # of a node that follows another one's catalogue: for its marks
        folders = list(dict.fromkeys((*cut.logs, *replay.new_logs, META)))
        databases = {name.rpartition("/")[0] for name in folders} - {""}
        for folder in (*folders, *sorted(databases), ""):
            self._disk.sync_directory(f"{self._data}/{folder}".rstrip("/"))
        write_marker(self._disk, self._data, cut.identity)
        self._disk.remove(f"{self._data}/{STANDBY}")

    def _end_the_other(self, incarnation: str) -> Cut:
        """Set the cut to the next epoch, and end the journals of all before; return the cut."""
        key = f"{self._cluster_id}/{CUT}"
        for _ in range(SWAPS_MAX):
            found, etag = self._read_cut()
            cut = msgspec.structs.replace(
                found, epoch=found.epoch + 1, number=found.number + 1, incarnation=incarnation
            )
            try:
                swap(self._store, key, seal(cut), etag)
            except Fenced:
                continue  # the other server has set it once more
            if cut.journal is not None:
                ended = fence(
                    self._store, self._cluster_id, cut.journal, epoch=cut.epoch, incarnation=incarnation
                )
                for _ in ended:
                    pass  # they are read again when they are written
            return cut
        raise Fenced(f"{self._store.name}/{key}: another process set it each time, {SWAPS_MAX} times")
