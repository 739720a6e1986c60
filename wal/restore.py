"""Restoring a backup to an empty directory, from which a server then starts.

    every file is copied, its checksum compared with the manifest's, and synced
    every frame is read and checked
    all names are made durable, then the marker `kawal.json`

The first start begins a leader epoch in every stream: offsets of records that were acknowledged after the
backup are given out again, and consumers that have read those learn of it.

Without the marker no server starts, so an interrupted restore is never taken for a data directory.  Files are
copied, never linked: the backup stays as it is, whatever happens to the data directory.
"""

from __future__ import annotations

from collections.abc import Iterator

from crc32c import crc32c

from wal.backup import Progress
from wal.backup_manifest import BackupError, Manifest, read_manifest
from wal.backup_pieces import CHUNK_BYTES, KnownFile, copy_bytes, no_room
from wal.disk import Disk, File, NoSuchFile
from wal.inspect import SegmentReport, verify_log
from wal.segment import ANOTHER_HISTORY
from wal.store import META, make_directories
from wal.store_marker import write_marker


class Restore:
    """One run; `run` and `check` work step by step, and yield after each."""

    def __init__(self, disk: Disk, backup: str, data: str) -> None:
        self._disk = disk
        self._backup = backup
        self._data = data
        self._total_bytes = 0
        self.manifest: Manifest = read_manifest(disk, backup)
        """The backup's manifest; reading it may raise BackupError or DiskError."""

    def run(self) -> Iterator[Progress]:
        """Restore.  Raises: BackupError when the target is not empty or the backup is damaged; DiskError."""
        disk, data, logs = self._disk, self._data, self.manifest.logs
        if disk.exists(data) and disk.list(data):
            name = disk.list(data)[0]
            raise BackupError(f"{data}: not empty ({name!r} is in it); restore to a new or empty directory")
        make_directories(disk, data)
        self._total_bytes = self.manifest.size_bytes
        free = disk.free_bytes(data)
        if free < self._total_bytes:
            raise no_room("restore to", data, self._total_bytes, free)
        databases = sorted({log.rpartition("/")[0] for log in logs} - {""})
        for folder in (*databases, *logs):
            disk.make_directory(f"{data}/{folder}")
        done = 0
        for log, files in logs.items():
            for name, known in files.items():
                for size_bytes in self._copy(f"{log}/{name}", known):
                    done += size_bytes
                    yield Progress("copying", done, self._total_bytes)
        for log in logs:
            if log != META:
                disk.open(f"{data}/{log}/{ANOTHER_HISTORY}", create=True).close()
        yield from self._verify(data)
        for folder in (*logs, *databases, ""):
            disk.sync_directory(f"{data}/{folder}".rstrip("/"))
        write_marker(disk, data, self.manifest.identity)

    def check(self) -> Iterator[Progress]:
        """Read the backup, check every byte, and restore nothing.  Raises: BackupError; DiskError."""
        self._total_bytes = self.manifest.size_bytes
        done = 0
        for log, files in self.manifest.logs.items():
            for name, known in files.items():
                for size_bytes in self._read(f"{log}/{name}", known):
                    done += size_bytes
                    yield Progress("copying", done, self._total_bytes)
        yield from self._verify(self._backup)

    def _copy(self, path: str, known: KnownFile) -> Iterator[int]:
        source = self._open(path)
        try:
            copied = yield from copy_bytes(self._disk, source, f"{self._data}/{path}", source.size())
        finally:
            source.close()
        self._compare(path, copied, known)

    def _read(self, path: str, known: KnownFile) -> Iterator[int]:
        source = self._open(path)
        position = crc = 0
        try:
            while data := source.read_at(position, CHUNK_BYTES):
                position, crc = position + len(data), crc32c(data, crc)
                yield len(data)
        finally:
            source.close()
        self._compare(path, KnownFile(position, crc), known)

    def _open(self, path: str) -> File:
        try:
            return self._disk.open(f"{self._backup}/{path}", read_only=True)
        except NoSuchFile as error:
            raise BackupError(f"{self._backup}/{path}: the file is missing; use another backup") from error

    def _compare(self, path: str, found: KnownFile, known: KnownFile) -> None:
        if found != known:
            raise BackupError(
                f"{self._backup}/{path}: the file is damaged: it has {found.size_bytes} bytes and checksum"
                f" {found.crc:#010x}, and the manifest says {known.size_bytes} and {known.crc:#010x}; use"
                " another backup"
            )

    def _verify(self, root: str) -> Iterator[Progress]:
        done = 0
        for log in self.manifest.logs:
            for report in verify_log(self._disk, f"{root}/{log}"):
                if isinstance(report, SegmentReport):
                    done = min(done + report.size_bytes, self._total_bytes)
                elif report.damages:
                    raise BackupError(f"the backup cannot be used: {report.damages[0]}")
                yield Progress("checking", done, self._total_bytes)
