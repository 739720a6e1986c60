"""The number of vnodes of each database beside what it holds: it bounds all scaling, and is chosen once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from broker.catalogue.catalogue_records import decode_record
from broker.catalogue.catalogue_replay import replay_all
from broker.config.config import Config
from console.doctor.finding import Finding, ok, warning
from wal.backup_catalogue import catalogue_records
from wal.disk import Disk, NoSuchFile
from wal.segment import SUFFIX
from wal.store import META, VNODE_PREFIX
from wal.store_marker import MARKER, read_marker

BUSY_PARTITIONS: Final = 16
"""With fewer partitions, one writer is rarely what clients wait for."""

IDLE_VNODES: Final = 8
"""Fewer cost next to nothing without records: a directory, and two open files each."""

LARGE_BYTES: Final = 256 << 30
"""One vnode is checked, restored and recovered by one thread: half an hour at 150 MB/s."""


class Holding(NamedTuple):
    """A database, and what it holds."""

    name: str
    vnodes: int
    partitions: int
    """Those of its stored topics."""
    largest_bytes: int
    """The size of the files of its largest vnode."""


def check_databases(disk: Disk, config: Config, *, cores: int) -> Iterator[Finding]:
    """Look for databases whose number of vnodes does not fit what they hold.  Raises: DiskError."""
    path = config.log_dirs
    if not disk.exists(f"{path}/{MARKER}") or not disk.exists(f"{path}/{META}"):
        return
    if read_marker(disk, f"{path}/{MARKER}").node:
        return  # the catalogue, which knows the databases, is on node 0
    found = [finding for held in holdings(disk, path) for finding in judged(held, cores=cores)]
    yield from found
    if not found:
        yield ok("vnodes", "the numbers of vnodes fit what the databases hold")


def holdings(disk: Disk, path: str) -> Iterator[Holding]:
    """Yield what each database of a data directory holds; a server may have it open."""
    catalogue = replay_all(map(decode_record, catalogue_records(disk, f"{path}/{META}")))
    for name, database in catalogue.databases.items():
        partitions = sum(
            topic.partition_count
            for topic in catalogue.by_id.values()
            if topic.database == name and topic.view is None
        )
        sizes = [
            _size_bytes(disk, f"{path}/{database.directory}/{VNODE_PREFIX}{index}")
            for index in range(database.vnode_count)
        ]
        yield Holding(name, database.vnode_count, partitions, max(sizes, default=0))


def _size_bytes(disk: Disk, folder: str) -> int:
    """Return the size of a vnode's segments; 0 if it has no directory yet."""
    try:
        names = disk.list(folder)
    except NoSuchFile:
        return 0
    return sum(_file_bytes(disk, f"{folder}/{name}") for name in names if name.endswith(SUFFIX))


def _file_bytes(disk: Disk, path: str) -> int:
    try:
        file = disk.open(path, read_only=True)
    except NoSuchFile:
        return 0  # removed meanwhile by the server
    try:
        return file.size()
    finally:
        file.close()


def judged(held: Holding, *, cores: int) -> Iterator[Finding]:
    """Yield what looks wrong about one database's number of vnodes."""
    many = "" if held.vnodes == 1 else "s"
    if held.partitions >= BUSY_PARTITIONS and held.vnodes < min(cores, held.partitions):
        yield warning(
            "vnodes",
            f"database {held.name!r} has {held.vnodes} vnode{many} for {held.partitions} partitions: no more "
            f"logs than that are written, restored or moved at once, and there are {cores} cores",
            "'SPLIT VGROUP' adds vnodes for what is created later; partitions that exist stay where they are",
        )
    if held.vnodes >= IDLE_VNODES and held.vnodes > 2 * held.partitions:
        yield warning(
            "vnodes",
            f"database {held.name!r} has {held.vnodes} vnodes for {held.partitions} partitions: most of them "
            "hold nothing, and each costs its files, its checkpoints and its part of a start",
            "make a database with fewer vnodes, unless more topics are to come",
        )
    if held.largest_bytes >= LARGE_BYTES:
        yield warning(
            "vnodes",
            f"database {held.name!r} has a vnode of {held.largest_bytes >> 30} GiB: it is checked and "
            "restored by one thread, as one log",
            "retain records for a shorter time, or keep new topics in a database with more vnodes",
        )
