"""The files of a gateway's logs: in a data directory, or in the copy of one in an object store.

LocalFiles    a data directory; what has left its disk is in the store beside it, if that was given
CopiedFiles   a copy: all that its cut leads to; of several nodes or workers the copies of all of them

Each of them makes its copy at its own time: a partition is read up to what its node or worker had copied.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pipeline.errors import SourceError
from pipeline.log_source.catalogue import Home, check_directory, folder_of, homes_of
from pipeline.log_source.objects import StoreAddress
from wal.disk import Disk, OsDisk
from wal.objects import ObjectReads
from wal.offline_log import OfflineLog, Place, open_copied, open_empty, open_offline
from wal.remote.copy_disk import CopyDisk, Part
from wal.remote.places import node_folder
from wal.segment import segment_name
from wal.store import LOCK
from wal.store_marker import MARKER, marker_workers, read_marker


class Source(NamedTuple):
    """The file of a segment, or the objects that make it up."""

    path: str
    parts: tuple[Part, ...] = ()
    """Empty: it is a file."""


class Copies(ObjectReads, Protocol):
    """The objects of a store, and which clusters have a copy there."""

    def clusters(self) -> list[str]:
        """Return their ids."""


class LogFiles(Protocol):
    """The files of a gateway's logs."""

    @property
    def name(self) -> str:
        """The place for people."""

    def homes_of(self, topics: Iterable[str]) -> dict[str, list[Home]]:
        """Return the partitions of topics.  Raises: SourceError; errors of disk and store."""

    def open_log(self, home: Home) -> OfflineLog:
        """Look at a log.  Raises: WalError; errors of disk and store."""

    def source_of(self, home: Home, place: Place) -> Source:
        """Return where the bytes of a place are.  Raises: SourceError; errors of disk and store."""


class LocalFiles:
    """A data directory; with a store, also what has left its disk."""

    def __init__(self, disk: Disk, data: str, store: StoreAddress | None = None) -> None:
        self.name = data
        self._disk = disk
        self._store = store
        self._workers = 1
        """The workers in whose folders of the store the segments are that have left the disk."""
        self._is_running = _is_running(data)

    def homes_of(self, topics: Iterable[str]) -> dict[str, list[Home]]:
        """Ask the catalogue in the directory; a node's has its own logs alone."""
        check_directory(self._disk, self.name)
        marker = f"{self.name}/{MARKER}"
        identity, self._workers = read_marker(self._disk, marker), marker_workers(self._disk, marker)
        found = homes_of(self._disk, self.name, topics, nodes=identity.nodes)
        for topic, homes in found.items():
            elsewhere = [home for home in homes if home.node != identity.node]
            if elsewhere:
                raise SourceError(
                    f"{self.name}: the directory of node {identity.node} of {identity.nodes}, and partition "
                    f"{elsewhere[0].partition} of topic {topic!r} is on node {elsewhere[0].node}: read the "
                    "copies of all nodes in their object store, or from the gateway (format 'kafka')"
                )
        return found

    def open_log(self, home: Home) -> OfflineLog:
        """Look at all of a stopped gateway's log, and at what a checkpoint covers of a running one's."""
        return open_offline(self._disk, home.directory, vnode_id=home.vnode_id, is_running=self._is_running)

    def source_of(self, home: Home, place: Place) -> Source:
        """Return the segment's file, or its object once it has left the disk."""
        path = f"{home.directory}/{segment_name(place.base_version)}"
        if place.record is None:
            return Source(path)
        folder = folder_of(home, self._workers)
        key = f"{folder}/{place.record.key}" if folder else place.record.key
        if self._store is None:
            raise SourceError(
                f"{path}: the segment has left the disk for the object store, as {key}: give the address of "
                "that (kawal.remote.store) with the option 'store'"
            )
        return Source(f"{self._store.place.url}/{key}", (Part(key, 0, place.record.size_bytes),))


class CopiedFiles:
    """The copy of a cluster in an object store."""

    def __init__(self, store: Copies, cluster_id: str = "") -> None:
        """Read what the copy consists of.  Raises: SourceError; StoreError, ObjectStoreError."""
        self._store = store
        self._cluster_id = cluster_id or _only_cluster(store)
        # By node; node 0 has the catalogue.
        self._disks = {0: CopyDisk(store, self._cluster_id)}
        self.name = self._disks[0].root

    def homes_of(self, topics: Iterable[str]) -> dict[str, list[Home]]:
        """Ask the catalogue's copy."""
        first = self._disks[0]
        found = homes_of(first, self.name, topics, nodes=first.cut.part[1])
        return {topic: [self._placed(home) for home in homes] for topic, homes in found.items()}

    def open_log(self, home: Home) -> OfflineLog:
        """Look at all that was copied; the catalogue may know logs that are younger than another copy."""
        disk = self._disk_of(home)
        if home.node and not disk.has_log(home.directory):
            return open_empty(disk, home.directory, vnode_id=home.vnode_id)
        return open_copied(disk, home.directory, vnode_id=home.vnode_id)

    def source_of(self, home: Home, place: Place) -> Source:
        """Return the objects of the segment."""
        path = f"{home.directory}/{segment_name(place.base_version)}"
        return Source(path, self._disk_of(home).parts_of(path))

    def _placed(self, home: Home) -> Home:
        """Return where its node's copy has the log."""
        return home._replace(directory=self._disk_of(home).root + home.directory.removeprefix(self.name))

    def _disk_of(self, home: Home) -> CopyDisk:
        if home.node not in self._disks:
            disk, first = CopyDisk(self._store, self._cluster_id, node_folder(home.node)), self._disks[0]
            if (disk.cut.part, disk.cut.workers) != ((home.node, first.cut.part[1]), first.cut.workers):
                number, count = disk.cut.part
                raise SourceError(
                    f"{disk.root}: the copy of {number} of {count} nodes or workers, and {self.name} is that"
                    f" of 0 of {first.cut.part[1]}: they do not belong together"
                )
            self._disks[home.node] = disk
        return self._disks[home.node]


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The place of a gateway's logs, as a query or a job names it."""

    data: str
    """A data directory; "": the copy in the store is read."""
    store: StoreAddress | None
    cluster_id: str = ""

    def opened(self) -> LogFiles:
        """Return the files.  Raises: SourceError; StoreError, ObjectStoreError."""
        if self.data:
            return LocalFiles(OsDisk(), self.data, self.store)
        assert self.store is not None, "a query names one of the two"
        return CopiedFiles(self.store.opened(), self.cluster_id)


def _only_cluster(store: Copies) -> str:
    found = store.clusters()
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceError(
            f"{store.name}: no copy is there; give the prefix of kawal.remote.store, and the bucket's own "
            "endpoint and region"
        )
    raise SourceError(
        f"{store.name}: there are copies of {', '.join(found)}: choose one with the option 'cluster'"
    )


def _is_running(data: str) -> bool:
    """Return whether a server has the directory open, or may have: its lock cannot be looked at."""
    try:
        descriptor = os.open(f"{data}/{LOCK}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False  # a backup, or a copy
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
