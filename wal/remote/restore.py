"""A data directory made from its copy in an object store, up to the last cut, and the journal after it.

    the cut is read, then the manifests it leads to
    every object is read in pieces, compared with its checksum, and written to the file it came from
    the chunks of each newest segment are laid end to end
    with durability `remote`, the journal that follows the cut is written over them
    every frame is read and checked; names are made durable; the marker `kawal.json` comes last

As long as the marker is missing no server starts there.  A server that is still alive goes on uploading: what
it then removes from the store is kept for a while after the cut that led to it, and a restore that comes too
late for an object says so.

All logs are at one moment, so no committed offset lies beyond its records.  What was acknowledged after the
moment is not there: streams begin another leader epoch at the first start (wal.log), as their next offsets
are given out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from crc32c import crc32c

from wal.backup import Progress
from wal.backup_manifest import BackupError
from wal.backup_pieces import no_room
from wal.catalogue import SNAPSHOT_NAMES
from wal.checkpoint import CHECKPOINT_NAMES
from wal.disk import Disk
from wal.inspect import SegmentReport, verify_log
from wal.objects import NoSuchObject, ObjectStore
from wal.remote.formats import (
    CUT,
    CUTS,
    Cut,
    JournalMark,
    LogCut,
    RemoteDamaged,
    RemoteSegment,
    lost_cut,
    open_cut,
    time_of,
)
from wal.remote.journal_replay import JournalReplay
from wal.remote.uploader import read_manifest
from wal.segment import ANOTHER_HISTORY, INDEX_SUFFIX, SUFFIX, segment_name
from wal.store import META, make_directories
from wal.store_marker import STORE_FORMAT, write_marker

PIECE_BYTES = 8 << 20
"""The bytes read at once: what a restore holds in memory."""


def clusters_in(store: ObjectStore) -> list[str]:
    """Return the ids of the clusters that have a copy in the store, or what is left of one.

    Raises: ObjectStoreError.
    """
    levels = (key.split("/", 2) for key, _ in store.list(""))
    return sorted({found[0] for found in levels if len(found) > 1 and found[1] in (CUT, META)})


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


class RemoteRestore:
    """One run; `run` works step by step, and yields after each."""

    def __init__(
        self, store: ObjectStore, disk: Disk, *, cluster_id: str, data: str, at_ms: int | None = None
    ) -> None:
        """Read the cut, or the newest one that was kept up to `at_ms`: the journal ends there, too.

        Raises: BackupError, RemoteDamaged; ObjectStoreError.
        """
        self._store = store
        self._disk = disk
        self._cluster_id = cluster_id
        self._data = data
        self._at_ms = at_ms
        self._done_bytes = 0
        self._total_bytes = 0
        self.journal_bytes = 0
        """Bytes that were acknowledged after the cut, with durability `remote`."""
        key = f"{cluster_id}/{CUT}"
        self.cut: Cut = self._newest_cut()
        self._is_newest = at_ms is None or at_ms >= self.cut.time_ms
        if not self._is_newest:
            assert at_ms is not None
            key = _past_cut(store, cluster_id, at_ms)
            self.cut = open_cut(store.read(key).data, f"{store.name}/{key}")
        if self.cut.store_format > STORE_FORMAT:
            raise BackupError(
                f"{store.name}/{key}: made by a later version of kawal (data format "
                f"{self.cut.store_format}); use that version"
            )
        missing = {name: log.segments_missing for name, log in self.cut.logs.items() if log.segments_missing}
        if missing or not self.cut.logs:
            left = ", ".join(f"{count} of {name}" for name, count in list(missing.items())[:5])
            raise BackupError(
                f"{store.name}/{key}: the copy is not complete yet: {left or 'all'} segments were still to be"
                " uploaded; the server that makes it must go on first"
            )

    @property
    def size_bytes(self) -> int:
        """The bytes that were found, once `run` has begun to copy."""
        return self._total_bytes

    def run(self) -> Iterator[Progress]:
        """Restore.  Raises: BackupError when the target is not empty; RemoteDamaged; errors of both sides."""
        disk, data, logs = self._disk, self._data, self.cut.logs
        if disk.exists(data) and (names := disk.list(data)):
            raise BackupError(
                f"{data}: not empty ({names[0]!r} is in it); restore to a new or empty directory"
            )
        segments = {name: self._segments_of(name, log) for name, log in logs.items()}
        self._total_bytes = sum(
            sum(segment.size_bytes + segment.index_bytes for segment in segments[name])
            + sum(chunk.size_bytes for chunk in log.chunks)
            for name, log in logs.items()
        )
        make_directories(disk, data)
        free = disk.free_bytes(data)
        if free < self._total_bytes:
            raise no_room("restore to", data, self._total_bytes, free)
        databases = sorted({name.rpartition("/")[0] for name in logs} - {""})
        # A node that follows another one's catalogue has no log there, but marks.
        for folder in (*databases, *dict.fromkeys((*logs, META))):
            disk.make_directory(f"{data}/{folder}")
        for name, log in logs.items():
            yield from self._restore_log(name, log, segments[name])
        replayed = JournalReplay(self._store, disk, cluster_id=self._cluster_id, data=data, logs=logs)
        if self.cut.journal is not None and self._is_newest:
            yield from self._replay(replayed, self.cut.journal)
        folders = [*logs, *replayed.new_logs]
        databases = sorted({name.rpartition("/")[0] for name in folders} - {""})
        yield from self._verify(folders)
        for folder in (*dict.fromkeys((*folders, META)), *databases, ""):
            disk.sync_directory(f"{data}/{folder}".rstrip("/"))
        write_marker(disk, data, self.cut.identity)

    def _segments_of(self, name: str, log: LogCut) -> tuple[RemoteSegment, ...]:
        if log.manifest is None:
            return ()
        return read_manifest(self._store, f"{self._cluster_id}/{name}", log).segments

    def _restore_log(self, name: str, log: LogCut, segments: tuple[RemoteSegment, ...]) -> Iterator[Progress]:
        key = f"{self._cluster_id}/{name}"
        for segment in segments:
            stem = segment_name(segment.base_version).removesuffix(SUFFIX)
            parts = [(f"{key}/{segment.stem}{SUFFIX}", 0, segment.size_bytes, segment.crc)]
            yield from self._write(name, stem + SUFFIX, parts)
            if segment.index_bytes:
                parts = [(f"{key}/{segment.stem}{INDEX_SUFFIX}", 0, segment.index_bytes, segment.index_crc)]
                yield from self._write(name, stem + INDEX_SUFFIX, parts)
        chunks = [
            (f"{key}/{chunk.name}", chunk.position, chunk.size_bytes, chunk.crc) for chunk in log.chunks
        ]
        if chunks:
            yield from self._write(name, segment_name(log.base_version), chunks)
        for file, found in ((CHECKPOINT_NAMES[0], log.checkpoint), (SNAPSHOT_NAMES[0], log.snapshot)):
            if found is not None:
                yield from self._write(name, file, [(f"{key}/{found.name}", 0, found.size_bytes, found.crc)])
        if name != META:
            yield from self._write(name, ANOTHER_HISTORY, [])

    def _write(self, log: str, name: str, parts: list[tuple[str, int, int, int]]) -> Iterator[Progress]:
        """Make a file of objects, each with its position in the file, its size and its CRC."""
        file = self._disk.open(f"{self._data}/{log}/{name}", create=True, exclusive=True)
        try:
            for key, position, size_bytes, crc in parts:
                found = 0
                for start in range(0, size_bytes, PIECE_BYTES):
                    piece = self._read(key, start, min(PIECE_BYTES, size_bytes - start))
                    file.write_at(position + start, [piece])
                    found = crc32c(piece, found)
                    self._done_bytes += len(piece)
                    yield Progress("copying", self._done_bytes, max(self._total_bytes, self._done_bytes))
                if found != crc:
                    raise RemoteDamaged(
                        f"{self._store.name}/{key}: the object is damaged: its checksum is {found:#010x},"
                        f" and what names it says {crc:#010x}"
                    )
            file.sync()
        finally:
            file.close()

    def _read(self, key: str, start: int, size_bytes: int) -> bytes:
        try:
            piece = self._store.read_range(key, start, size_bytes)
        except NoSuchObject as error:
            raise RemoteDamaged(
                f"{self._store.name}/{key}: the object is missing; if a server still uploads there, it was "
                "replaced meanwhile: begin the restore again"
            ) from error
        if len(piece) != size_bytes:
            raise RemoteDamaged(
                f"{self._store.name}/{key}: the object ends at byte {start + len(piece)}, and what names it "
                f"says that it has at least {start + size_bytes}"
            )
        return piece

    def _replay(self, replayed: JournalReplay, since: JournalMark) -> Iterator[Progress]:
        for size_bytes in replayed.run(since, epoch=self.cut.epoch, until_ms=self._at_ms):
            self._done_bytes += size_bytes
            self.journal_bytes += size_bytes
            self._total_bytes = max(self._total_bytes, self._done_bytes)
            yield Progress("copying", self._done_bytes, self._total_bytes)
        if replayed.is_past:
            return  # all that lies before the moment was there
        newest = self._newest_cut().journal
        if newest is not None and replayed.end is not None and newest > replayed.end:
            raise RemoteDamaged(
                f"{self._store.name}/{self._cluster_id}: a server went on writing, and chunks of the journal"
                " that a newer cut has are gone: begin the restore again"
            )

    def _newest_cut(self) -> Cut:
        """Return the cut that is there now.  Raises: BackupError, RemoteDamaged; ObjectStoreError."""
        key = f"{self._cluster_id}/{CUT}"
        try:
            return open_cut(self._store.read(key).data, f"{self._store.name}/{key}")
        except NoSuchObject as error:
            if next(self._store.list(f"{self._cluster_id}/"), None) is not None:
                raise lost_cut(f"{self._store.name}/{self._cluster_id}") from error
            text = f"{self._store.name}: no copy of a cluster {self._cluster_id!r} is there"
            raise BackupError(text) from error

    def _verify(self, logs: Iterable[str]) -> Iterator[Progress]:
        done = 0
        for name in logs:
            for report in verify_log(self._disk, f"{self._data}/{name}"):
                if isinstance(report, SegmentReport):
                    done = min(done + report.size_bytes, self._total_bytes)
                elif report.damages:
                    raise RemoteDamaged(f"the copy cannot be used: {report.damages[0]}")
                yield Progress("checking", done, self._total_bytes)
