"""A backup: a copy of a data directory, made beside a running server, from which a start recovers.

    1  closed segments of all logs are copied, until few are left       most of the bytes; takes its time
    2  checkpoints are read, and how far each log reaches
    3  the point in time is chosen: that of the newest frame found in 2, and it has to be over
    4  the rest of each vnode's log is copied, up to the first frame written after the point
    5  the catalogue's log is copied as it is now
    6  every frame of the copy is read and checked; if the copy is not one state, from 1 again
    7  the manifest is written, and the folder gets its final name

Everything acknowledged before the backup began is in it: it lies before what 2 found.  The vnodes agree: a
record, and what was done because it could be read (a committed offset, say), are in it in this order, because
their frames were written in this order, and all frames of a time up to the point that anything could have
been done about were in their files before 4.  The catalogue is never older than the vnodes, as a start could
not serve streams that it does not know; a database younger than the point is in the copy without records.

The point is a time of the server's clock, which is set when it starts: the time of day may jump ahead later,
or go on while the machine sleeps.

The server need not know of it: nothing is locked, and nothing is written in the data directory.  The clock
must be that of the server's machine; should it be set back meanwhile, the vnodes may end at different times,
but nothing acknowledged before the backup is missing.

    <folder>/LOCK                       one backup at a time
    <folder>/<time>/manifest.json       of a complete backup
    <folder>/<time>/meta/  …/<database>/vnode-<n>/
    <folder>/<time>.partial/            being made, or left by an interruption; the next backup removes it
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from wal.backup_catalogue import catalogue_records
from wal.backup_log import LogCopy
from wal.backup_manifest import (
    PARTIAL,
    BackupError,
    Manifest,
    backups_in,
    read_manifest,
    remove_tree,
    write_manifest,
)
from wal.backup_pieces import no_room
from wal.catalogue import SNAPSHOT_NAMES, decode_snapshot
from wal.disk import Disk, DiskError, Lock, LockHeld, NoSuchFile
from wal.errors import StoreError
from wal.inspect import SegmentReport, verify_log
from wal.segment import base_version_of
from wal.store import LOCK, META, make_directories, vnodes_in
from wal.store_marker import MARKER, marker_format, read_marker
from wal.whole_files import read_file

ATTEMPTS_MAX = 10
"""How often the end of the copy is made again because files vanished meanwhile."""

PASSES_MAX = 5
"""How often closed segments are looked for before the point is chosen: each pass takes less time."""

SMALL_BYTES = 256 << 20
"""Closed segments of this size may be left for the end."""


class Progress(NamedTuple):
    """One step of a backup or a restore."""

    phase: str
    """`copying`, `waiting` for the clock, `checking`."""
    done_bytes: int
    total_bytes: int
    """An estimate: the server goes on writing."""


class Backup:
    """One run; `run` does the work step by step, and yields after each so that the caller may show it.

    `clock` returns the milliseconds since 1970; while a step says `waiting`, the caller lets time pass.
    `vnodes_of` returns the folders of the logs, `DATABASE/vnode-N`, that a start with these records of the
    catalogue opens.
    """

    def __init__(
        self,
        disk: Disk,
        data: str,
        folder: str,
        *,
        clock: Callable[[], int],
        vnodes_of: Callable[[list[bytes]], Iterable[str]],
    ) -> None:
        self._vnodes_of = vnodes_of
        self._disk = disk
        self._data = data
        self._folder = folder
        self._clock = clock
        self._logs: dict[str, LogCopy] = {}
        self._previous: Manifest | None = None
        self._previous_path = ""
        self._partial = ""
        self._done_bytes = 0
        self._total_bytes = 0
        self._snapshot_version = 0
        self.manifest: Manifest | None = None
        """The result."""
        self.path = ""
        """The folder of the result."""
        self.copied_bytes = 0
        self.linked_bytes = 0
        self.removed: list[str] = []
        """Folders that interrupted backups had left."""

    def run(self) -> Iterator[Progress]:
        """Make the backup.

        Raises: BackupError, or another StoreError; DiskError.  Nothing that looks like a backup is left then.
        """
        disk, data = self._disk, self._data
        if not disk.exists(f"{data}/{MARKER}"):
            raise BackupError(f"{data}: not a data directory: it has no {MARKER}; name the one to back up")
        identity = read_marker(disk, f"{data}/{MARKER}")
        if identity.nodes > 1:
            raise BackupError(
                f"{data}: this is the directory of node {identity.node} of {identity.nodes} nodes; backups of"
                " several nodes do not fit each other: stop all nodes, and copy all directories"
            )
        store_format = marker_format(disk, f"{data}/{MARKER}")
        make_directories(disk, self._folder)
        lock = self._take_lock()
        try:
            self._begin(identity.cluster_id)
            yield from self._copy_bulk()
            point_ms = yield from self._copy_end()
            self.manifest = Manifest(
                identity=identity,
                point_ms=point_ms,
                made_ms=self._clock(),
                store_format=store_format,
                logs={name: dict(log.files) for name, log in self._logs.items()},
            )
            self._complete(self.manifest)
        except (DiskError, StoreError):
            if self._partial:
                with suppress(DiskError):  # a full disk shall not stay full; else the next backup removes it
                    remove_tree(disk, self._partial)
            raise
        finally:
            lock.release()

    def _take_lock(self) -> Lock:
        try:
            return self._disk.lock(f"{self._folder}/{LOCK}")
        except LockHeld as error:
            raise BackupError(
                f"{self._folder}: process {error.holder_pid} makes a backup there; wait for it"
            ) from error

    # --- the folder ------------------------------------------------------------------------------------

    def _begin(self, cluster_id: str) -> None:
        """Remove what interruptions left, find the newest complete backup, and make the new folder."""
        disk, folder = self._disk, self._folder
        self.removed = [name for name in disk.list(folder) if name.endswith(PARTIAL)]
        for name in self.removed:
            remove_tree(disk, f"{folder}/{name}")
        names = backups_in(disk, folder)
        for name in names[-1:]:
            self._previous_path = f"{folder}/{name}"
            self._previous = read_manifest(disk, self._previous_path)
            if self._previous.identity.cluster_id != cluster_id:
                raise BackupError(
                    f"{self._previous_path}: the backup of another cluster"
                    f" ({self._previous.identity.cluster_id}); give each its own folder"
                )
        stamp = f"{datetime.fromtimestamp(self._clock() / 1000, UTC):%Y%m%dT%H%M%SZ}"
        free_names = (stamp if not n else f"{stamp}-{n:03}" for n in range(1000))
        self.path = f"{folder}/{next(name for name in free_names if not disk.exists(f'{folder}/{name}'))}"
        self._partial = self.path + PARTIAL
        disk.make_directory(self._partial)
        self._add_new(self._present())
        self._total_bytes = self._missing_bytes()
        free = disk.free_bytes(folder)
        if free < self._total_bytes:
            raise no_room("back up to", folder, self._total_bytes, free)

    def _complete(self, manifest: Manifest) -> None:
        """Make all names durable, then the manifest, then the folder's final name."""
        disk = self._disk
        for name in manifest.logs:
            disk.sync_directory(f"{self._partial}/{name}")
        for database in {name.rpartition("/")[0] for name in manifest.logs} - {""}:
            disk.sync_directory(f"{self._partial}/{database}")
        write_manifest(disk, self._partial, manifest)
        disk.rename(self._partial, self.path)
        disk.sync_directory(self._folder)
        self.linked_bytes = sum(
            log.files[name].size_bytes for log in self._logs.values() for name in log.linked
        )
        self.copied_bytes = manifest.size_bytes - self.linked_bytes

    # --- the logs --------------------------------------------------------------------------------------

    def _present(self) -> list[str]:
        return [META, *(f"{database}/vnode-{n}" for database, n in vnodes_in(self._disk, self._data))]

    def _add_new(self, present: list[str]) -> bool:
        """Begin the copies of logs that are new; return whether there are any."""
        new = [name for name in present if name not in self._logs]
        for name in new:
            database = name.rpartition("/")[0]
            if database:
                self._disk.make_directory(f"{self._partial}/{database}")
            self._disk.make_directory(f"{self._partial}/{name}")
            self._logs[name] = LogCopy(
                self._disk,
                f"{self._data}/{name}",
                f"{self._partial}/{name}",
                previous=self._previous.logs.get(name) if self._previous is not None else None,
                previous_folder=f"{self._previous_path}/{name}",
            )
        return bool(new)

    def _drop_vanished(self, present: list[str]) -> None:
        """Drop the copies of logs whose database was dropped."""
        for name in [name for name in self._logs if name not in present]:
            del self._logs[name]
            remove_tree(self._disk, f"{self._partial}/{name}")
            database = f"{self._partial}/{name.rpartition('/')[0]}"
            if not self._disk.list(database):
                self._disk.remove_directory(database)

    def _missing_bytes(self) -> int:
        return sum(log.missing_bytes() for log in self._logs.values())

    # --- the copy --------------------------------------------------------------------------------------

    def _copying(self, steps: Iterator[int]) -> Iterator[Progress]:
        for size_bytes in steps:
            self._done_bytes += size_bytes
            self._total_bytes = max(self._total_bytes, self._done_bytes)
            yield Progress("copying", self._done_bytes, self._total_bytes)

    def _copy_bulk(self) -> Iterator[Progress]:
        for _ in range(PASSES_MAX):
            for log in self._logs.values():
                yield from self._copying(log.copy_closed())
            self._add_new(self._present())
            if self._missing_bytes() <= SMALL_BYTES:
                return

    def _copy_end(self) -> Generator[Progress, None, int]:
        """Copy the ends of all logs until they fit together; return the point in time."""
        problem = ""
        for _ in range(ATTEMPTS_MAX):
            for log in self._logs.values():
                log.forget_end()
                yield from self._copying(log.copy_closed())
            present = self._present()
            self._drop_vanished(present)
            self._add_new(present)
            for log in self._logs.values():
                log.mark()
                yield Progress("copying", self._done_bytes, self._total_bytes)
            now_ms = self._clock()
            # The server's clock may be at another part of the millisecond, so it is two of ours.
            while self._clock() <= now_ms + 1:
                yield Progress("waiting", self._done_bytes, self._total_bytes)
            if self._add_new(self._present()):
                problem = "databases were created meanwhile"
                continue
            yield from self._finish(self._point_before(now_ms))
            problem = yield from self._checked()
            if not problem:
                return now_ms
        raise BackupError(
            f"{self._data}: no consistent copy in {ATTEMPTS_MAX} attempts: {problem}; if it names damage, run"
            " 'kawal wal verify' on the data directory, else try again at a quieter time"
        )

    def _point_before(self, now_ms: int) -> int:
        """Return the newest time found; times that are still to come are of a clock that was set back."""
        found = [log.last_ms for log in self._logs.values()]
        return max((time_ms for time_ms in found if time_ms <= now_ms), default=max(found))

    def _finish(self, point_ms: int) -> Iterator[Progress]:
        meta = self._logs[META]
        for log in self._logs.values():
            if log is not meta:
                yield from self._copying(log.finish(point_ms))
        # What is missing now was dropped, and the catalogue says so.
        self._drop_vanished(self._present())
        yield Progress("copying", self._done_bytes, self._total_bytes)
        # The snapshot comes first: it must not know of changes that the copy of the log does not have.
        self._copy_snapshot(meta)
        yield Progress("copying", self._done_bytes, self._total_bytes)
        yield from self._copying(meta.finish(None))
        # A log that the catalogue knows and that was not there before is younger than the point.
        known = list(self._vnodes_of(catalogue_records(self._disk, meta.target)))
        self._add_new(known)
        self._drop_vanished([META, *known])

    def _copy_snapshot(self, meta: LogCopy) -> None:
        self._snapshot_version = 0
        newest = -1
        for name in SNAPSHOT_NAMES:
            try:
                data = read_file(self._disk, f"{meta.source}/{name}")
            except NoSuchFile:
                continue
            snapshot = decode_snapshot(data)
            if snapshot is not None and snapshot.generation > newest:
                newest, self._snapshot_version = snapshot.generation, snapshot.version
                for other in SNAPSHOT_NAMES:
                    meta.forget(other)
                meta.write(name, data)

    # --- the check -------------------------------------------------------------------------------------

    def _checked(self) -> Generator[Progress, None, str]:
        """Read the whole copy; return what is wrong with it, or "" if it is a state of the data directory."""
        for log in self._logs.values():
            problem = log.check()
            if problem:
                return problem
        total = sum(file.size_bytes for log in self._logs.values() for file in log.files.values())
        done = 0
        for log in self._logs.values():
            for report in verify_log(self._disk, log.target):
                if isinstance(report, SegmentReport):
                    done += report.size_bytes
                elif report.damages:
                    for damage in report.damages:
                        log.distrust(damage.file.rpartition("/")[2])
                    return str(report.damages[0]).replace(self._partial, self._data)
                yield Progress("checking", min(done, total), total)
        first = min(
            (base for name in self._logs[META].files if (base := base_version_of(name)) is not None),
            default=0,
        )
        if first > self._snapshot_version:
            return f"{self._data}/{META}: records below version {first} are in no snapshot"
        return ""
