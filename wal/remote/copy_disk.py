"""The files of a copy in an object store, as a disk that is only read: what a restore would make, unmade.

    a sealed segment, its index     an object each
    the newest segment              its chunks, laid end to end
    checkpoint, snapshot            an object each

What a path leads to is in the cut and the manifests, so no bytes move before they are read. Objects that
leave the copy meanwhile stay for a while; a reader that comes later than that is told so. Frames, batches,
indexes and checkpoints have checksums of their own, by which their readers know wrong bytes.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from wal.catalogue import SNAPSHOT_NAMES
from wal.checkpoint import CHECKPOINT_NAMES
from wal.disk_errors import NoSuchFile
from wal.errors import StoreError
from wal.objects import NoSuchObject, ObjectReads
from wal.read_only import ReadOnlyDisk, ReadOnlyFile
from wal.remote.formats import CUT, Cut, LogCut, RemoteDamaged, open_cut
from wal.remote.read_objects import read_manifest
from wal.segment import INDEX_SUFFIX, SUFFIX, segment_name
from wal.store import META
from wal.store_marker import STORE_FORMAT

AHEAD_BYTES = 1 << 20
"""What is read of an object at least, as long as it has so much: heads of frames lie close together."""


class Part(NamedTuple):
    """An object, and the bytes of a file that it holds."""

    key: str
    position: int
    """In the file."""
    size_bytes: int


class CopyFile(ReadOnlyFile):
    """A file that objects make up, in the order of their positions and without gaps."""

    def __init__(
        self, path: str, store: ObjectReads, parts: Sequence[Part], *, ahead_bytes: int = AHEAD_BYTES
    ) -> None:
        super().__init__(path, None)
        self._store = store
        self._parts = parts
        self._size = sum(part.size_bytes for part in parts)
        self._ahead_bytes = ahead_bytes
        self._first = 0
        self._window = b""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read what the file has there.  Raises: RemoteDamaged; ObjectStoreError."""
        end = min(position + size_bytes, self._size)
        if position >= end:
            return b""
        if not self._first <= position <= end <= self._first + len(self._window):
            self._first = position
            self._window = self._fetched(position, min(self._size, max(end, position + self._ahead_bytes)))
        start = position - self._first
        return self._window[start : start + end - position]

    def read_at_if_cached(self, position: int, size_bytes: int) -> bytes | None:
        """Read: there is no cache to look at."""
        return self.read_at(position, size_bytes)

    def _fetched(self, start: int, end: int) -> bytes:
        pieces = []
        for part in self._parts:
            first, last = max(start, part.position), min(end, part.position + part.size_bytes)
            if first < last:
                pieces.append(self._piece(part, first - part.position, last - first))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, part: Part, start: int, size_bytes: int) -> bytes:
        name = f"{self._store.name}/{part.key}"
        try:
            piece = self._store.read_range(part.key, start, size_bytes)
        except NoSuchObject as error:
            raise RemoteDamaged(
                f"{name}: the object is missing; if a server still uploads there, it was replaced meanwhile: "
                "read again"
            ) from error
        if len(piece) != size_bytes:
            raise RemoteDamaged(
                f"{name}: the object ends at byte {start + len(piece)}, and what names it says that it has "
                f"{part.size_bytes}"
            )
        return piece

    def next_data(self, position: int) -> int:
        """Return the position: objects have no holes."""
        return position

    def size(self) -> int:
        """Return the size of the file."""
        return self._size


class CopyDisk(ReadOnlyDisk):
    """The logs of a copy, below `root`, its address; a log is looked up when it is asked for."""

    def __init__(self, store: ObjectReads, cluster_id: str, folder: str = "") -> None:
        """Read the cut of a cluster, or of that of its nodes which has this folder (wal/remote/places.py).

        Raises: StoreError, RemoteDamaged; ObjectStoreError.
        """
        self._prefix = f"{folder}/{cluster_id}" if folder else cluster_id
        self.root = f"{store.name}/{self._prefix}"
        self._store = store
        self._files: dict[str, dict[str, tuple[Part, ...]]] = {}
        key = f"{self._prefix}/{CUT}"
        try:
            self.cut: Cut = open_cut(store.read(key).data, f"{store.name}/{key}")
        except NoSuchObject as error:
            place = f"{store.name}/{folder}" if folder else store.name
            raise StoreError(f"{place}: no copy of a cluster {cluster_id!r} is there") from error
        if self.cut.store_format > STORE_FORMAT:
            raise StoreError(
                f"{store.name}/{key}: made by a later version of kawal (data format {self.cut.store_format})"
                "; use that version"
            )
        # Node 0 has the catalogue; the others have none.
        if self.cut.is_empty or (self.cut.has_catalogue and META not in self.cut.logs):
            raise StoreError(
                f"{store.name}/{key}: nothing was copied yet; the server that makes the copy must go on first"
            )

    def has_log(self, folder: str) -> bool:
        """Return whether the copy has a log, by its folder."""
        return folder.removeprefix(f"{self.root}/") in self.cut.logs

    def parts_of(self, path: str) -> tuple[Part, ...]:
        """Return the objects of a file.  Raises: NoSuchFile; StoreError, RemoteDamaged; ObjectStoreError."""
        folder, _, name = path.rpartition("/")
        parts = self._log(folder).get(name)
        if parts is None:
            raise NoSuchFile("open", path, errno.ENOENT)
        return parts

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> ReadOnlyFile:
        """Open a file; one that is to be made is empty.  Raises: as `parts_of`."""
        if create and not self.exists(path):
            return ReadOnlyFile(path, None)
        return CopyFile(path, self._store, self.parts_of(path))

    def exists(self, path: str) -> bool:
        """Return whether a log has a file of this name."""
        folder, _, name = path.rpartition("/")
        return name in self._log(folder)

    def list(self, directory: str) -> list[str]:
        """Return the names of a log's files."""
        return sorted(self._log(directory))

    def free_bytes(self, path: str) -> int:
        """Return 0: nothing can be written."""
        return 0

    def total_bytes(self, path: str) -> int:
        """Return 0, likewise."""
        return 0

    def _log(self, folder: str) -> dict[str, tuple[Part, ...]]:
        """Return the files of a log by name."""
        if folder not in self._files:
            name = folder.removeprefix(f"{self.root}/")
            log = self.cut.logs.get(name)
            if log is None:
                raise NoSuchFile("list", folder, errno.ENOENT)
            self._files[folder] = self._files_of(name, log)
        return self._files[folder]

    def _files_of(self, name: str, log: LogCut) -> dict[str, tuple[Part, ...]]:
        key, files = f"{self._prefix}/{name}", dict[str, tuple[Part, ...]]()
        if log.segments_missing:
            raise StoreError(
                f"{self.root}: the copy is not complete yet: {log.segments_missing} segments of {name} were "
                "still to be uploaded; the server that makes it must go on first"
            )
        manifest = read_manifest(self._store, key, log) if log.manifest is not None else None
        for segment in manifest.segments if manifest is not None else ():
            stem = segment_name(segment.base_version).removesuffix(SUFFIX)
            files[stem + SUFFIX] = (Part(f"{key}/{segment.stem}{SUFFIX}", 0, segment.size_bytes),)
            if segment.index_bytes:
                index = Part(f"{key}/{segment.stem}{INDEX_SUFFIX}", 0, segment.index_bytes)
                files[stem + INDEX_SUFFIX] = (index,)
        if log.chunks:
            chunks = [Part(f"{key}/{chunk.name}", chunk.position, chunk.size_bytes) for chunk in log.chunks]
            files[segment_name(log.base_version)] = tuple(chunks)
        for file, found in ((CHECKPOINT_NAMES[0], log.checkpoint), (SNAPSHOT_NAMES[0], log.snapshot)):
            if found is not None:
                files[file] = (Part(f"{key}/{found.name}", 0, found.size_bytes),)
        return files
