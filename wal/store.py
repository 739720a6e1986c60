"""The data directory: its owner, its format, and the logs in it.

    <data>/LOCK                       locked as long as the store is open; contains the process id
    <data>/kawal.json                 the marker: format, cluster id, node id, secret
    <data>/meta/                      the catalogue: a log of its own, with snapshots
    <data>/<database>/vnode-<n>/      one log per vnode; <database> is the database's id, never client text

A directory that is not empty and has no valid marker is never touched: it belongs to something else, or its
metadata was lost. A store is only created in an empty directory.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace

from wal.block_cache import BlockCache
from wal.catalogue import Catalogue
from wal.checkpoint import META as META
from wal.checkpoint import VNODE_PREFIX as VNODE_PREFIX
from wal.disk import Disk, Lock, LockHeld, NoSuchFile
from wal.disk_errors import DiskError
from wal.errors import ForeignDirectory, MetadataLost, NotUsable, StoreInUse, VnodeMissing
from wal.log import VnodeLog
from wal.options import MIB, LogOptions
from wal.segment import SUFFIX
from wal.store_marker import (
    MARKER,
    MARKER_TEMPORARY,
    STORE_FORMAT,
    TIERED_FORMAT,
    StoreIdentity,
    marker_format,
    raise_format,
    read_marker,
    write_marker,
)
from wal.used_vnodes import UsedVnodes

LOCK = "LOCK"
DATABASE_PREFIX = "db-"
"""The prefix of databases' directories, except the first one's: directories with it are ours to remove."""
SOCKET = ".sock"
"""The end of the names of sockets, by which the processes that share the directory reach each other."""
META_SEGMENT_BYTES = MIB
"""Catalogue changes are few and small."""


class Store:
    """An open data directory; made with `open`."""

    def __init__(
        self, disk: Disk, path: str, identity: StoreIdentity, lock: Lock | None, options: LogOptions
    ) -> None:
        self.disk = disk
        self.path = path
        self.identity = identity
        self.options = options
        self._lock = lock
        self.blocks = BlockCache()
        """The memory through which all logs read segments that have left the disk."""
        self._catalogue: Catalogue | None = None
        self._used = UsedVnodes(disk, f"{path}/{META}")
        self.keeps_catalogue = True
        """Whether the catalogue is in this directory; False: another node's, in memory."""
        self.upgraded_from: int | None = None
        """The older format that the directory had until it was opened."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        *,
        new_identity: StoreIdentity,
        now_ms: int,
        options: LogOptions | None = None,
        locks: bool = True,
        records: list[bytes] | None = None,
    ) -> Store:
        """Open the data directory, or make it when it is empty or does not exist.

        `new_identity` is used only when it is made. `options` are the defaults of every log in it. `locks`:
        the directory is locked here; else the caller has its lock. `records` are those of a catalogue that
        another node keeps; None: it is kept in this directory.
        Raises: StoreInUse, UnknownFormat, ForeignDirectory, MetadataLost, NotUsable; DiskError.
        """
        make_directories(disk, path)
        lock = take_lock(disk, path) if locks else None
        try:
            identity = _identity(disk, path, new_identity)
            store = cls(disk, path, identity, lock, options or LogOptions())
            store._upgrade()
            if records is None:
                store._open_catalogue(now_ms)
            else:
                store._follow_catalogue(records, now_ms)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return store

    @classmethod
    def follow(
        cls, disk: Disk, path: str, *, records: list[bytes], now_ms: int, options: LogOptions | None = None
    ) -> Store:
        """Open the vnodes of a data directory beside the process that owns it and has the catalogue.

        `records` are the catalogue's; those that come later are kept in memory. The owner sees to it that no
        two processes open the same vnode.
        Raises: UnknownFormat, ForeignDirectory, MetadataLost; DiskError.
        """
        identity = read_marker(disk, f"{path}/{MARKER}")
        store = cls(disk, path, identity, None, options or LogOptions())
        store._follow_catalogue(records, now_ms)
        return store

    def _upgrade(self) -> None:
        """Set the marker to the newest format before anything of that format is written."""
        version = marker_format(self.disk, f"{self.path}/{MARKER}")
        if version < STORE_FORMAT:
            write_marker(self.disk, self.path, self.identity)
            self.upgraded_from = version

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue's log."""
        assert self._catalogue is not None
        return self._catalogue

    def _open_catalogue(self, now_ms: int, disk: Disk | None = None) -> None:
        directory = f"{self.path}/{META}"
        if disk is not None:
            make_directories(disk, directory)
        elif not self.disk.exists(directory):
            raise MetadataLost(f"{directory}: the catalogue is missing; restore it from a backup")
        options = replace(
            self.options,
            segment_bytes=min(self.options.segment_bytes, META_SEGMENT_BYTES),
            durability="disk",
            identity=self._salt,
            vnode_id=0,
        )
        self._catalogue = Catalogue.open(disk or self.disk, directory, options=options, now_ms=now_ms)

    def _follow_catalogue(self, records: list[bytes], now_ms: int) -> None:
        """Have the catalogue in memory, and begin with these records."""
        from wal.memory_disk import MemoryDisk  # most starts follow none

        self.keeps_catalogue = False
        self._open_catalogue(now_ms, disk=MemoryDisk())
        self.catalogue.records += records

    @property
    def _salt(self) -> bytes:
        return self.identity.secret.encode()

    def vnode_path(self, database: str, vnode_id: int) -> str:
        """Return the directory of a vnode."""
        return vnode_path(self.path, database, vnode_id)

    def create_vnode(self, database: str, vnode_id: int) -> None:
        """Make a vnode's directory durably; harmless when it exists."""
        assert _is_plain_name(database), database
        if not self.disk.exists(self.vnode_path(database, vnode_id)):
            self._used.forget(database, vnode_id)
        self.disk.make_directory(f"{self.path}/{database}")
        self.disk.make_directory(self.vnode_path(database, vnode_id))
        self.disk.sync_directory(f"{self.path}/{database}")
        self.disk.sync_directory(self.path)

    def have_vnode(self, database: str, vnode_id: int) -> None:
        """Make the directory of a vnode of which a catalogue elsewhere says that it is here, unless it is.

        Raises: VnodeMissing, if it was here and is lost; DiskError.
        """
        directory = self.vnode_path(database, vnode_id)
        if self.disk.exists(directory):
            return
        if (database, vnode_id) in self._used.marked():
            raise VnodeMissing(lost_directory(directory))
        self.create_vnode(database, vnode_id)

    def open_vnode(
        self, database: str, vnode_id: int, *, now_ms: int, options: LogOptions | None = None
    ) -> VnodeLog:
        """Open a vnode's log; identity and vnode id of `options` are filled in.

        Raises: VnodeMissing when its directory or all files in it are missing; DiskError.
        """
        directory = self.vnode_path(database, vnode_id)
        if not self.disk.exists(directory):
            if (database, vnode_id) in self._used.marked():
                raise VnodeMissing(lost_directory(directory))
            raise VnodeMissing(
                f"{directory}: the catalogue knows this vnode, but its directory is missing; "
                "restore it from a backup"
            )
        if self._used.has_lost_its_files(database, vnode_id, directory):
            raise VnodeMissing(lost_files(directory))
        filled = replace(
            options or self.options,
            identity=self._salt,
            vnode_id=vnode_id,
            wall_offset_ms=self.options.wall_offset_ms,
        )
        log = VnodeLog.open(self.disk, directory, options=filled, now_ms=now_ms)
        log.read_through(self.blocks)
        if log.remote_usage()[0] and marker_format(self.disk, f"{self.path}/{MARKER}") < TIERED_FORMAT:
            # An older version let them leave the disk, and did not raise the format.
            raise_format(self.disk, self.path, self.identity)
        self._used.mark(database, vnode_id, directory)
        return log

    def vnodes(self) -> list[tuple[str, int]]:
        """Return database and vnode id of every vnode directory."""
        return list(vnodes_in(self.disk, self.path))

    def remove_vnode(self, database: str, vnode_id: int) -> None:
        """Remove a vnode with all its data; its log must be closed and the catalogue must not know it."""
        directory = self.vnode_path(database, vnode_id)
        for name in self.disk.list(directory):
            self.disk.remove(f"{directory}/{name}")
        self.disk.remove_directory(directory)
        self.disk.sync_directory(f"{self.path}/{database}")

    def remove_database(self, database: str) -> None:
        """Remove a database's directory with all its vnodes; harmless when it, or part of it, is missing.

        Their logs must be closed, and the catalogue must not know the database any more.
        """
        assert _is_plain_name(database), database
        directory = f"{self.path}/{database}"
        if self.disk.exists(directory):
            for name in self.disk.list(directory):
                vnode = f"{directory}/{name}"
                for file in self.disk.list(vnode):
                    self.disk.remove(f"{vnode}/{file}")
                self.disk.remove_directory(vnode)
            self.disk.remove_directory(directory)
        self.disk.sync_directory(self.path)
        self._used.forget(database)

    def databases(self) -> set[str]:
        """Return the names of the directories that have vnodes, or had some."""
        names = filter(_is_plain_name, self.disk.list(self.path))
        return {name for name in names if name.startswith(DATABASE_PREFIX)} | {
            name for name, _ in self.vnodes()
        }

    def holds_records(self, database: str) -> bool:
        """Return whether a vnode of the database has a segment."""
        return any(
            name.endswith(SUFFIX)
            for found, index in self.vnodes()
            if found == database
            for name in self.disk.list(self.vnode_path(database, index))
        )

    def close(self, now_ms: int) -> None:
        """Close the catalogue and release the directory; vnode logs must be closed by their users."""
        try:
            if self._catalogue is not None:
                self._catalogue.log.close(now_ms)
        finally:
            self.release()

    def release(self) -> None:
        """Release the directory and leave its logs as they are: the next start recovers them."""
        if self._lock is not None:
            self._lock.release()


def lost_files(directory: str) -> str:
    """Return the sentence about a vnode that has lost all its files."""
    return (
        f"{directory}: this vnode was in use, but all its files are missing; restore it from a backup, or "
        "run 'kawal wal repair --accept-loss' to begin it anew without its records"
    )


def lost_directory(directory: str) -> str:
    """Return the sentence about a vnode that has lost its directory."""
    return (
        f"{directory}: this vnode was in use, but its directory is missing; restore it from a backup, or "
        "run 'kawal wal repair --accept-loss' to begin it anew without its records"
    )


def vnode_path(path: str, database: str, vnode_id: int) -> str:
    """Return the directory of a vnode in the data directory `path`."""
    return f"{path}/{database}/{VNODE_PREFIX}{vnode_id}"


def vnodes_in(disk: Disk, path: str) -> Iterator[tuple[str, int]]:
    """Yield database and vnode id of every vnode directory in the data directory `path`.

    Names that cannot be a database's, such as lost+found, and stray files are skipped.
    """
    for database in filter(_is_plain_name, disk.list(path)):
        try:
            names = disk.list(f"{path}/{database}")
        except DiskError as error:
            if error.errno == errno.ENOTDIR:
                continue
            raise
        for name in names:
            number = name.removeprefix(VNODE_PREFIX)
            if name.startswith(VNODE_PREFIX) and number.isdigit():
                yield database, int(number)


def _is_plain_name(name: str) -> bool:
    return bool(name) and name not in (META, LOCK, MARKER) and all(c.isalnum() or c in "-_" for c in name)


def make_directories(disk: Disk, path: str) -> None:
    """Make the data directory and its parents.  Raises: NotUsable."""
    if disk.exists(path):
        return
    parent = path.rpartition("/")[0]
    if parent:
        make_directories(disk, parent)
    try:
        disk.make_directory(path)
        disk.sync_directory(parent or ".")
    except DiskError as error:
        raise NotUsable(f"{path}: the directory cannot be made: {error}") from error


def take_lock(disk: Disk, path: str) -> Lock:
    """Lock a data directory, or an empty one that may become one.

    Raises: StoreInUse, ForeignDirectory, NotUsable.
    """
    try:
        names = disk.list(path)
        if names and MARKER not in names and not _only_ours(names):
            raise ForeignDirectory(
                f"{path}: not empty ({names[0]!r} is in it), but without {MARKER}; "
                "give an empty directory, or restore the marker if this is a data directory"
            )
        return lock_directory(disk, path)
    except NoSuchFile as error:
        raise NotUsable(f"{path}: the data directory does not exist: {error}") from error
    except DiskError as error:
        raise NotUsable(
            f"{path}: not a directory that can be read and written: {error}; check path and permissions"
        ) from error


def lock_directory(disk: Disk, path: str) -> Lock:
    """Lock a directory, whatever is in it.  Raises: StoreInUse; DiskError."""
    try:
        return disk.lock(f"{path}/{LOCK}")
    except LockHeld as error:
        holder = f"process {error.holder_pid}" if error.holder_pid else "another process"
        raise StoreInUse(
            f"{path}: in use by {holder}; stop it, or use another data directory", error.holder_pid
        ) from error


def _only_ours(names: list[str]) -> bool:
    """Return whether a start interrupted before the marker was written can have left just these names."""
    ours = {LOCK, MARKER_TEMPORARY, META}
    return all(name in ours or name.endswith(SOCKET) for name in names)


def _identity(disk: Disk, path: str, new_identity: StoreIdentity) -> StoreIdentity:
    """Return the marker's content; write the marker first when the directory is new."""
    marker = f"{path}/{MARKER}"
    if disk.exists(marker):
        return read_marker(disk, marker)
    meta = f"{path}/{META}"
    if disk.exists(meta) and disk.list(meta):
        raise MetadataLost(
            f"{path}: {MARKER} is missing and {META} is not empty; restore the marker from a backup"
        )
    # The marker comes last: with it the directory counts as complete, so the catalogue must exist.
    disk.make_directory(meta)
    disk.sync_directory(path)
    write_marker(disk, path, new_identity)
    return new_identity
